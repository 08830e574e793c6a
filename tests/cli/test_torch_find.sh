#!/usr/bin/env bash
# Which transforms PyTorch's cells time, and what __getitem__ does beside them: parts of loaders/torch/*.py by themselves, and a cell, with
# a stand-in for torch.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_parts.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX

cp "$DLB_SOURCE_DIR/tests/support/compose.py" .
cat >steps.py <<'PY'
from compose import Compose


def flip(sample):
    return sample


def crop(sample):
    return sample


augment = Compose([flip])
PY
cat >own.py <<'PY'
import time
import steps
import torch
from steps import Compose, crop, flip
from torch.utils.data import Dataset

TF = Compose([crop])


class Mine(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return self.change(torch.zeros(8))

    def change(self, sample):
        return self.transform(sample)


class Holds(Mine):
    def __init__(self, transform):
        self.transform = transform


class Split(Mine):
    def __init__(self):
        self.transforms = {"val": Compose([flip]), "train": [Compose([crop, crop])]}

    def change(self, sample):
        return self.transforms["train"][0](sample)


class Global(Mine):
    def change(self, sample):
        return steps.augment(helped(sample))


def helped(sample):
    return [TF(one) for one in [sample]][0]


def closed():
    inner = Compose([flip])

    class Closed(Mine):
        def __getitem__(self, i):
            return inner(torch.zeros(8))

    return Closed()


class Sequential:
    """As torch.nn's."""

    def __init__(self, *modules):
        self._modules = {str(i): one for i, one in enumerate(modules)}

    def __call__(self, sample):
        for one in self._modules.values():
            sample = one(sample)
        return sample


Sequential.__module__ = "torch.nn.modules.container"


def crunch(sample):
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        sum(range(500))
    return sample


class Crunches(Mine):
    def __getitem__(self, i):
        return crunch(torch.zeros(8))


class Sleeps(Mine):
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.zeros(8)


class Both(Crunches):
    def __init__(self):
        self.transform = Compose([crunch])

    def __getitem__(self, i):
        return self.transform(super().__getitem__(i))


def image(path):
    return PIL.open(path)


def words(path):
    return path


class PIL:
    open = staticmethod(lambda path: torch.zeros(8))


class Folder(Mine):
    """As torchvision's."""

    def __init__(self, loader):
        self.loader = loader

    def __getitem__(self, i):
        return self.loader(i)


class Part(Mine):
    """As torch's Subset; it may hold several, as ConcatDataset does."""

    def __init__(self, *datasets):
        self.datasets, self.options = list(datasets), {"n": 5}

    def __getitem__(self, i):
        return self.datasets[i % len(self.datasets)][i]


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return (crunch(torch.zeros(8)) for _ in range(640))  # some are watched
PY

# --- whatever holds transforms is found, and each of them is timed once by its name
holds <<'PY'
import dlbench_stamps
import dlbench_wrap
import own
from dlbench_account import stages
from steps import Compose, crop, flip


def timed(dataset, indices=range(5)):
    board = dlbench_stamps.Board("stamps", 0)
    dlbench_stamps._open.clear()
    wrapped = dlbench_wrap.stamped(board, dataset, [], [])
    assert len(wrapped.__getitems__(indices)) == len(indices)
    return [(one["name"], one["count"]) for one in stages(board.names, board.read(), True)][1:]


assert timed(own.Holds(Compose([crop, flip]))) == [("crop", 5), ("flip", 5)]
assert timed(own.Holds(Compose((crop, crop, flip, crop)))) == [("crop", 5), ("crop 2", 5), ("flip", 5), ("crop 3", 5)]
assert timed(own.Holds(Compose([Compose([crop, flip]), Compose((flip,))]))) == [("crop", 5), ("flip", 5), ("flip 2", 5)]
assert timed(own.Holds(own.Sequential(crop, own.Sequential(flip)))) == [("crop", 5), ("flip", 5)]
assert timed(own.Split()) == [("crop", 5), ("crop 2", 5)]
assert sorted(timed(own.Global())) == [("crop", 5), ("flip", 5)]
assert timed(own.closed()) == [("flip", 5)]
assert timed(own.Folder(own.image)) == [("load", 5)]
assert timed(own.Part(own.Folder(own.image))) == [("load", 5)]
assert timed(own.Part(own.Part(own.Folder(own.image)), own.Folder(own.words))) == [("load", 3), ("words", 2)]
assert timed(own.Part(*(own.Folder(own.image) for _ in range(40)), own.Folder(own.words)), range(35, 41)) == [("load", 5), ("words", 1)]
folder = own.Folder(own.image)
assert timed(own.Part(folder, own.Part(folder))) == [("load", 5)]
texts = own.Holds(flip)
texts.transforms, texts.rows = ["crop", "flip"], [{"a": i} for i in range(100000)]
assert timed(texts) == [] and texts.transforms == ["crop", "flip"]
texts.rows = texts.more = [texts.rows] * 100000
assert timed(texts) == []
PY

# --- wherever the attribute lies; and looking leaves the object as it is: a __dict__ that is made makes each attribute slower in Python 3.11
holds <<'PY'
import gc
import dlbench_find
import own
from steps import Compose, crop, flip


class Default(own.Mine):
    transform, transforms, loader = None, None, own.words


class Computed(own.Mine):
    transforms = property(lambda self: 1 / 0)
    transform = property(lambda self: 1 / 0)


class Slots:
    __slots__ = ("transform", "never", "__weakref__")


class Asked(own.Mine):
    def __getattr__(self, name):
        raise KeyError(name)


def found(dataset):
    return [(type(owner), is_held) for owner, is_held in dlbench_find.holders_in(dataset)]


one = (Compose, True)
plain, default, computed, slots, asked = own.Holds(Compose([crop])), Default(), Computed(), Slots(), Asked()
assert found(plain) == [one]
assert not any(isinstance(held, dict) for held in gc.get_referents(plain)) and found(plain) == [one]
plain.classes = {"a": 1, "b": Compose([flip])}
assert found(plain) == [one, one] and vars(plain) and found(plain) == [one, one]
assert found(default) == [] and dlbench_find.attribute_of(default, "loader") is None
default.transform, default.transforms, default.loader = Compose([crop]), [crop, flip], crop
assert found(default) == [(Default, True)] and dlbench_find.attribute_of(default, "loader") is crop
assert found(computed) == [] and dlbench_find.attribute_of(computed, "transforms", 5) == 5
slots.transform = Compose([crop])
assert found(slots) == [one] and dlbench_find.attribute_of(slots, "transform") is slots.transform
assert dlbench_find.attribute_of(slots, "never", 5) == 5
assert found(asked) == [] and dlbench_find.attribute_of(asked, "loader") is None
PY

# --- what __getitem__ names is not sent to a worker that is spawned: it has stamps of its own there
cat >spawned.py <<'PY'
import multiprocessing
import types
import dlbench_stamps
import dlbench_wrap
import own
import torch


def work(init, samples):
    torch.utils.data._info[0] = types.SimpleNamespace(dataset=samples)
    init(0)
    samples.__getitems__(range(5))


if __name__ == "__main__":
    board = dlbench_stamps.Board("stamps", 1)
    samples = dlbench_wrap.stamped(board, own.Global(), [], [])
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(dlbench_wrap.Init(board, None), samples))
    worker.start()
    worker.join()
    found = {name: sums[0] for name, sums in zip(board.names, board.read())}
    assert (found["getitem"], found["flip"], found["crop"]) == (5, 5, 5), found
PY
run python3 spawned.py
expect_exit 0

# --- computing and waiting are told apart, and nothing is where samples are quick
holds <<'PY'
import dlbench_stamps
import dlbench_wrap
import own
from dlbench_account import OWN, computing_frac, stages


def told(dataset, n_batches=8):
    board = dlbench_stamps.Board("stamps", 0)
    dlbench_stamps._open.clear()
    board.batch_size = 8
    wrapped = dlbench_wrap.stamped(board, dataset, [], [], True)
    collate = dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, list)
    if isinstance(dataset, own.Stream):
        samples = iter(wrapped)
        assert sum(collate([next(samples) for _ in range(8)])[3] for _ in range(80)) == 640
    else:
        for i in range(n_batches):
            collate(wrapped.__getitems__(range(8 * i, 8 * i + 8)))
    out = {one["name"]: one["sum_ns"] for one in stages(board.names, board.read(), True)}
    return out.get(OWN, 0) / out["getitem"], out, board.read()[dlbench_stamps.COMPUTED], computing_frac(board.read())


def tells(is_right, dataset):
    """Up to five times: other programs take CPUs from this one, too."""
    found = []
    for _ in range(5):
        found.append(told(dataset))
        if is_right(*found[-1]):
            return
    assert False, found


for dataset in own.Crunches(), own.Stream():
    tells(lambda share, out, computed, computing: share > 0.7 and computing > 0.7, dataset)
tells(lambda share, out, computed, computing: share < 0.3 and computing < 0.3, own.Sleeps())
tells(lambda share, out, computed, computing: 0.1 < share < 0.6 and out["crunch"] > 0.3 * out["getitem"], own.Both())
quick = own.Holds(own.flip)
assert told(quick)[2:] == ((0, 0), None)
PY

# --- the verdict names it, and gives no advice on reads
torch=(--set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set loader.batch_size=8
    --set loader.num_workers=0 --set device.step_ms=1 --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1
    --set python.samples=64 --set python.sample_bytes=8 --set loader.shuffle=false --set run.epochs=3 --results results --overwrite)
export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
run_until "d['cells'][0]['verdict']['code'] == 'INPUT_BOUND_TRANSFORM'" "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Crunches --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["verdict"]["code"] == "INPUT_BOUND_TRANSFORM"'
expect_json '"__getitem__" in d["cells"][0]["verdict"]["text"] and "reads" not in d["cells"][0]["verdict"]["text"]'
expect_json 'd["cells"][0]["worker_stages"]["transform"]["sum_ns"] > d["cells"][0]["worker_stages"]["read"]["sum_ns"]'
run_until "d['cells'][0]['verdict']['code'] == 'INPUT_BOUND_READ'" "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Sleeps --json
expect_json 'd["cells"][0]["verdict"]["code"] == "INPUT_BOUND_READ"'

finish
