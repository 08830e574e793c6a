"""Puts stamps (dlbench_stamps.py) around the parts of the user's data: its transforms, what opens its images, the data set itself. Part of
loaders/torch/serve.py."""

import itertools

import dlbench_find
import dlbench_places
import dlbench_stamps
import dlbench_streams
import torch.utils.data
from dlbench_turns import Kind
from torch.utils.data import Dataset, IterableDataset, get_worker_info


class Init:
    """What DataLoader calls in each worker before all else. It names the worker's row, and shows the user's code its own data set, as
    it is without stamps: what worker_init_fn changes there, the wrapper sees, because it holds the same object."""

    def __init__(self, board, function):
        self.board, self.function, self.is_sent = board, function, False

    def __getstate__(self):
        return dict(self.__dict__, is_sent=True)

    def __call__(self, worker):
        self.board.turns.n_samples = self.board.map(worker + 1).row[dlbench_stamps.GOT]  # of the workers that had this row before
        dlbench_stamps.stamp_collections(self.board)
        info = get_worker_info()
        dataset = info.dataset
        while isinstance(dataset, (dlbench_stamps.Samples, dlbench_streams.Stream)):
            dataset = dataset.dataset
        object.__setattr__(info, "dataset", dataset)  # its class forbids it
        if self.is_sent:
            stamp_again(self.board, dataset)
        if self.function is not None:
            self.function(worker)


def name_of(step):
    return getattr(step, "__name__", type(step).__name__)


def stamp_steps(owner, stage_of):
    """Puts a stamp into each transform that an object calls. One that calls transforms itself has theirs. stage_of(name): (board, stage)."""
    steps = dlbench_find.steps_of(owner)
    for i, step in enumerate(steps):
        if not isinstance(step, dlbench_stamps.Call) and dlbench_find.steps_of(step) is None:
            board, stage = stage_of(name_of(step))
            steps[i] = step if stage is None else dlbench_stamps.Call(board, stage, step)
    dlbench_find.set_steps(owner, steps)
    note_place(owner)


def note_place(owner):
    steps = getattr(owner, "transforms", None)
    if type(steps) is list:
        dlbench_places.note(steps, dlbench_stamps.Call)


def stamp_transforms(board, dataset):
    """Those that are found in the data set, by their names. The board notes those that the data set does not hold: they are not sent to
    workers."""

    def held(name):
        return board, board.stage(name)

    def named(name):
        stage = board.stage(name)
        board.named.append((name, stage))
        return board, stage

    for owner, is_held in dlbench_find.holders_in(dataset):
        stamp_steps(owner, held if is_held else named)


def stamp_again(board, dataset):
    """In a worker that was not forked: its modules are its own, so that what __getitem__ names has no stamps there, and what the data set
    holds are copies."""
    left = list(board.named)

    def known(name):
        for at, (one, stage) in enumerate(left):
            if one == name:
                del left[at]
                return board, stage
        return board, None

    for owner, is_held in dlbench_find.holders_in(dataset):
        if is_held:
            note_place(owner)
        else:
            stamp_steps(owner, known)


def members(owner):
    """What an object holds; of data sets in a list all, since what is left out would have no stamps."""
    held = dlbench_find.held_by(owner)
    for kind in list, tuple:
        if isinstance(owner, kind) and held and isinstance(held[0], Dataset):
            return list(itertools.islice(kind.__iter__(owner), dlbench_find.MOST_LOOKED_AT))
    return held


def held_in(dataset, depth=dlbench_find.DEPTH):
    """The data sets that it consists of: of a Subset, a ConcatDataset, or a class of the user's own."""
    out = []
    for one in members(dataset) if depth else ():
        if isinstance(one, Dataset):
            out.append(one)
        if isinstance(one, (Dataset, list, tuple, dict)):
            out += held_in(one, depth - 1)
    return out


def stamp_loader(board, dataset):
    """What opens the samples of torchvision's folders and of data sets like them, unless it is computed: images, or something else, which
    is then a transform by its name. Whether there is such a thing."""
    loader = dlbench_find.attribute_of(dataset, "loader", getattr(type(dataset), "loader", None))
    if isinstance(loader, dlbench_stamps.Call):  # of a data set that is held twice
        return True
    if not callable(loader):
        return False
    stage = dlbench_stamps.LOAD if dlbench_find.opens_images(loader) else board.stage(name_of(loader))
    try:
        dataset.loader = dlbench_stamps.Call(board, stage, dataset.loader)
    except Exception:  # its class forbids it
        return False
    return True


def stamped(board, dataset, composed, openers, is_watched=False):
    """The data set with stamps; `composed`: transforms that cannot be found in it; `openers`: what opens its images, likewise; `is_watched`: as in
    dlbench_turns.Kind."""
    for compose in composed:
        stamp_steps(compose, lambda name: (board, board.stage(name)))
    stamp_transforms(board, dataset)
    for opener in openers:
        opener.function = dlbench_stamps.Call(board, dlbench_stamps.LOAD, opener.function)
    loads = [stamp_loader(board, one) for one in (dataset, *held_in(dataset))]
    if isinstance(dataset, getattr(torch.utils.data, "IterDataPipe", ())):
        return dataset  # DataLoader itself divides these among workers, if it knows them
    n_parts = len(board.names) - len(dlbench_stamps.STAGES) + (any(loads) or bool(openers))
    is_stream = isinstance(dataset, IterableDataset)
    board.kind = Kind(n_parts, is_watched, not is_stream and dlbench_stamps.gives_batches(dataset))
    return dlbench_streams.Stream(board, dataset) if is_stream else dlbench_stamps.Samples(board, dataset)
