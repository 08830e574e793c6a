"""Puts stamps (dlbench_stamps.py) around the parts of the user's data: its transforms, what opens its images, the data set itself. Part of
loaders/torch/dlbench_serve.py."""

import collections
import itertools

import dlbench_find
import dlbench_places
import dlbench_stamps
import dlbench_streams
import torch.utils.data
from dlbench_turns import Kind
from torch.utils.data import IterableDataset, get_worker_info


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
        if self.function is not None:
            self.function(worker)
        if self.is_sent or self.function is not None:
            stamp_again(self.board, dataset)


def name_of(step):
    return getattr(step, "__name__", "method") if dlbench_find.is_a(step, dlbench_stamps.FUNCTIONS) else type(step).__name__


def is_stamped(one):
    return type(one) is dlbench_stamps.Call


class Stamper:
    """Puts stamps around transforms. stage_of(name): the number of a stage; None: there is none. Data sets of the same transforms share theirs:
    a hundred folders have not a hundred times as many."""

    def __init__(self, board, stage_of):
        self.board, self.stage_of = board, stage_of
        self.shared, self.n_of, self.calls = {}, collections.Counter(), {}

    def stages(self, home, names):
        """Of what one object calls, which is of the data set `home`."""
        n_before = self.n_of[id(home), names]
        self.n_of[id(home), names] += 1
        if (names, n_before) not in self.shared:
            self.shared[names, n_before] = [self.stage_of(name) for name in names]
        return self.shared[names, n_before]

    def steps(self, owner, home):
        """Each transform that an object calls. One that calls transforms itself has theirs."""
        steps = dlbench_find.steps_of(owner)
        bare = [i for i, step in enumerate(steps) if not is_stamped(step) and dlbench_find.steps_of(step) is None]
        for i, stage in zip(bare, self.stages(home, tuple(name_of(steps[i]) for i in bare))):
            if stage is not None:
                steps[i] = dlbench_stamps.Call(self.board, stage, steps[i])
        dlbench_find.set_steps(owner, steps)
        steps = dlbench_find.attribute_of(owner, "transforms")
        if type(steps) is list:
            dlbench_places.note(steps, dlbench_stamps.Call)

    def attribute(self, owner, name, function, home):
        """What an object has as an attribute, unless its class forbids it."""
        call = function if is_stamped(function) else self.calls.get(id(function)) or dlbench_stamps.Call(self.board, None, function)
        try:
            setattr(owner, name, call)
        except Exception:
            return
        if call.dlbench_stage is None and name == "loader" and dlbench_find.opens_images(function):
            call.dlbench_stage = dlbench_stamps.LOAD
        elif call.dlbench_stage is None:
            (call.dlbench_stage,) = self.stages(home, (name_of(function),))
        if call.dlbench_stage is None:
            setattr(owner, name, function)
            return
        self.calls[id(function)] = call
        dlbench_places.note_attribute(owner, name, call)

    def loader(self, dataset):
        """What opens the samples of torchvision's folders and of data sets like them, unless it is computed: images, or something else, which
        is then a transform by its name."""
        held = dlbench_find.attribute_of(dataset, "loader", getattr(type(dataset), "loader", None))
        if dlbench_find.is_only_called(held):
            self.attribute(dataset, "loader", held if is_stamped(held) else dataset.loader, dataset)

    def found(self, search):
        for owner, home in search.holders:
            self.steps(owner, home)
        for owner, name, home in search.singles:
            transform = dlbench_find.attribute_of(owner, name)
            if is_stamped(transform) or dlbench_find.is_alone(transform):
                self.attribute(owner, name, transform, home)
        for dataset in search.datasets:
            self.loader(dataset)


def stages_in(search):
    """Those of the stamps that a data set has."""
    ones = [step for owner, _ in search.holders for step in dlbench_find.steps_of(owner)]
    ones += [dlbench_find.attribute_of(owner, name) for owner, name, _ in search.singles]
    ones += [dlbench_find.attribute_of(dataset, "loader") for dataset in search.datasets]
    return {one.dlbench_stage for one in ones if is_stamped(one)}


def stamp_again(board, dataset):
    """In a worker, what has no stamps there: what __getitem__ names, since the modules of one that was not forked are its own; what a data set
    makes when it is unpickled; what worker_init_fn put there. Each has the stage of its name that no other one has; else one that others
    have, as equal lists of transforms share theirs."""
    search = dlbench_find.Search(dataset)
    there, of_name = stages_in(search), collections.defaultdict(list)
    for stage in sorted(range(len(dlbench_stamps.STAGES), len(board.names)), key=lambda stage: stage in there):
        of_name[board.names[stage]].append(stage)
    in_turn = {name: itertools.cycle(stages) for name, stages in of_name.items()}

    def known(name):
        return next(in_turn.get(name) or in_turn.get(dlbench_stamps.FURTHER, iter(())), None)

    Stamper(board, known).found(search)


def stamped(board, dataset, composed, openers):
    """The data set with stamps; `composed`: transforms that cannot be found in it; `openers`: what opens its images, likewise."""
    stamper, search = Stamper(board, board.stage), dlbench_find.Search(dataset)
    for compose in composed:
        stamper.steps(compose, compose)
    for opener in openers:
        opener.function = dlbench_stamps.Call(board, dlbench_stamps.LOAD, opener.function)
    stamper.found(search)
    if isinstance(dataset, getattr(torch.utils.data, "IterDataPipe", ())):
        return dataset  # DataLoader itself divides these among workers, if it knows them
    has_load = bool(openers) or dlbench_stamps.LOAD in stages_in(search)
    n_parts = len(board.names) - len(dlbench_stamps.STAGES) + has_load
    is_stream = isinstance(dataset, IterableDataset)
    board.kind = Kind(n_parts, not is_stream and dlbench_stamps.gives_batches(dataset))
    return dlbench_streams.Stream(board, dataset) if is_stream else dlbench_stamps.Samples(board, dataset)
