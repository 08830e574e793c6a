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
strong = Compose([flip, crop, crop])
PY
cat >own.py <<'PY'
import functools
import time
import types
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


class Turn:
    """A transform; it may use one that it holds."""

    def __init__(self, inner=flip):
        self.transform = inner if inner is not flip else None

    def __call__(self, sample):
        return self.transform(sample) if self.transform else sample


class Standard:
    """As torchvision's StandardTransform."""

    def __init__(self, transform):
        self.transform, self.target_transform = transform, None


class Named:
    def __call__(self, sample):
        return steps.augment(sample)


class Mix:
    """Mixes samples of a data set into others."""

    def __init__(self, dataset, draws=False):
        self.dataset, self.draws = dataset, draws

    def __call__(self, sample):
        return self.dataset[0] if self.draws else sample


def bound(dataset):
    return types.MethodType(lambda self, sample: sample, dataset)


def closes(dataset):
    return lambda sample: sample if dataset else None


def partly(dataset):
    return functools.partial(bound(dataset))


class OfClass(Mine):
    transform = Compose([crop])


class Base(Mine):
    def __getitem__(self, i):
        return TF(torch.zeros(8))


class Derived(Base):
    def __getitem__(self, i):
        return steps.augment(super().__getitem__(i))


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


class Rebuilt(Mine):
    """Makes what it holds anew where it is unpickled."""

    def __init__(self):
        self.__setstate__(None)

    def __getstate__(self):
        return {"n": 5}

    def __setstate__(self, state):
        self.transform, self.target_transform, self.loader = Compose([crop]), Turn(), words

    def __getitem__(self, i):
        return self.target_transform(self.transform(self.loader(torch.zeros(8))))


def put_other(worker):
    torch.utils.data.get_worker_info().dataset.transform = Compose([crop])


class Strong(Holds):
    """With a list of the module's of the same transforms."""

    def __getitem__(self, i):
        return steps.strong(super().__getitem__(i))


def put_other_second(worker):
    torch.utils.data.get_worker_info().dataset.datasets[1].transform = Compose([crop, crop, flip])


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return (crunch(torch.zeros(8)) for _ in range(640))  # some are watched
PY

# --- whatever holds transforms is found, and each of them is timed once by its name
holds <<'PY'
import functools
import types
import dlbench_stamps
import dlbench_wrap
import own
import steps
from dlbench_account import stages
from steps import Compose, crop, flip


def timed(dataset, indices=range(5)):
    board = dlbench_stamps.Board("stamps", 0)
    dlbench_stamps._open.clear()
    wrapped = dlbench_wrap.stamped(board, dataset, [], [])
    assert len(wrapped.__getitems__(indices)) == len(indices)
    return [(one["name"], one["count"]) for one in stages(board.names, board.read(), True)][1:]


def folder_of(transform):
    out = own.Holds(transform)
    out.samples, out.classes = [("a.jpg", 0)] * 100, {"a": 0}
    return out


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
assert timed(texts) == [("flip", 5)] and texts.transforms == ["crop", "flip"]
texts.transform, texts.rows = flip, [texts.rows] * 100000
texts.more = texts.rows
assert timed(texts) == [("flip", 5)]
# of many data sets all; those of the same transforms share their stages, and train's and val's in one do not
assert timed(own.Part(*(folder_of(Compose([crop, flip])) for _ in range(300))), range(300)) == [("crop", 300), ("flip", 300)]
assert timed(own.Part(*(folder_of(own.Turn()) for _ in range(300))), range(300)) == [("Turn", 300)]
assert timed(own.Part(*(own.Folder(lambda i: torch.zeros(8)) for _ in range(300))), range(300)) == [("<lambda>", 300)]
# however deep they lie, and by whatever way they are met first
part = folder_of(Compose([crop]))
for _ in range(9):
    part = own.Part(part)
assert timed(part) == [("crop", 5)]
inner = own.Holds(Compose([crop]))
part = own.Part(inner)
part.parts = [[[[inner]]]]
assert timed(part) == [("crop", 5)]
# one that is in no Compose, as torchvision's data sets have it; not where one within it has its own
assert timed(own.Holds(own.Turn())) == [("Turn", 5)]
turn = own.Turn()
both = own.Holds(turn)
both.transforms = own.Standard(turn)
assert timed(both) == [("Turn", 5)] and type(both.transforms.transform) is dlbench_stamps.Call
assert timed(own.Holds(own.Turn(Compose([crop])))) == [("crop", 5)]
assert timed(own.Holds(own.Turn(own.Turn()))) == [("Turn", 5)]
steps.augment = Compose([flip])
assert timed(own.Holds(lambda x: steps.augment(x))) == [("flip", 5)]
steps.augment = Compose([flip])
assert timed(own.Holds(own.Named())) == [("flip", 5)]
assert timed(own.Holds(functools.partial(lambda change, x: change(x), Compose([crop])))) == [("crop", 5)]
method = own.Mine()
method.transform, method.inner = types.MethodType(lambda self, x: self.inner(x), method), Compose([crop])
assert timed(method) == [("crop", 5)]
partial = functools.partial(lambda self, x: x)
assert timed(own.Holds(types.MethodType(partial, 5))) == timed(own.Holds(Compose([types.MethodType(partial, 5)]))) == [("method", 5)]
# one that comes to its own data set: a method, a closure, what holds it; one that uses another data set has that one's transforms
for make in own.bound, own.closes, own.partly, own.Mix:
    reaches = own.Holds(None)
    reaches.transform, reaches.target_transform = make(reaches), own.Turn()
    assert [n for _, n in timed(reaches)] == [5], make  # Mine does not call the other one
mixed = own.Holds(own.Mix(own.Holds(Compose([crop])), True))
assert timed(mixed) == [("crop", 5)]
mixed = own.Holds(own.Mix(own.Holds(own.Turn()), True))
assert timed(mixed) == [("Turn", 5)]
# an attribute of the class; what the method of a base names; beside a list of transforms that the data set has itself
assert timed(own.OfClass()) == [("crop", 5)]
steps.augment, own.TF = Compose([flip]), Compose([crop])
assert timed(own.Derived()) == [("flip", 5), ("crop", 5)]
listed = own.Holds(Compose([crop]))
listed.transforms = [flip]
assert timed(listed) == [("crop", 5)]
PY

# --- wherever the attribute lies; and looking leaves the object as it is: a __dict__ that is made makes each attribute slower in Python 3.11
holds <<'PY'
import collections
import gc
import sys
import weakref
import dlbench_find
import dlbench_stamps
import dlbench_wrap
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


class AskedSlots(Slots):
    __slots__ = ()
    __getattr__ = Asked.__getattr__
    __dict__ = property(lambda self: 1 / 0)


class AskedDict(dict):
    def __getattr__(self, name):
        return self[name]


class LazyDict(dict):
    __len__ = __iter__ = lambda self: 1 / 0
    __getitem__ = lambda self, name: 1 / 0


class Proxy:
    __slots__ = ("inner",)
    __class__ = property(lambda self: 1 / 0)


class Configured(own.Mine):
    options = AskedDict(size=224)

    def __getitem__(self, i):
        return self.transform(torch.zeros(self.options.size))


class Queue(collections.deque):
    pass


def found(dataset):
    return [type(owner) for owner, _ in dlbench_find.Search(dataset).holders]


one = Compose
plain, default, computed, slots, asked = own.Holds(Compose([crop])), Default(), Computed(), Slots(), Asked()
assert found(plain) == [one]
plain.classes, plain.none, plain.default = {"a": 1, "b": Compose([flip])}, {}, Default()
plain.default.loader, plain.default.by_number = own.image, {1: "a", 2: Compose([crop])}
assert found(plain) == [one] * 3
dlbench_wrap.stamped(dlbench_stamps.Board("stamps", 0), plain, [], [])
for owner, names in (plain, {"transform", "classes", "none", "default"}), (plain.default, {"loader", "by_number"}):
    assert sys.version_info < (3, 11) or not any(isinstance(held, dict) and set(held) == names for held in gc.get_referents(owner))
    assert set(vars(owner)) == names
assert found(plain) == [one] * 3
assert found(default) == [] and dlbench_find.attribute_of(default, "loader") is None
default.transform, default.transforms, default.loader = Compose([crop]), [crop, flip], crop
assert found(default) == [Default, one] and dlbench_find.attribute_of(default, "loader") is crop
assert found(computed) == [] and dlbench_find.attribute_of(computed, "transforms", 5) == 5
slots.transform = Compose([crop])
assert found(slots) == [one] and dlbench_find.attribute_of(slots, "transform") is slots.transform
assert dlbench_find.attribute_of(slots, "never", 5) == 5
assert found(asked) == [] and dlbench_find.attribute_of(asked, "loader") is None
slots = AskedSlots()
slots.transform = Compose([crop])
assert found(slots) == [one] and dlbench_find.attribute_of(slots, "loader") is None
# objects that compute what they are, and one of too many
plain = own.Holds(Compose([crop]))
plain.proxy, plain.dead, plain.queue, plain.options = Proxy(), weakref.proxy(Slots()), Queue((i, [i]) for i in range(100000)), AskedDict(a=1)
plain.proxy.inner, plain.lazy = Compose([flip]), LazyDict(a=1)
assert found(plain) == [one, one]
configured = Configured()
configured.transform = Compose([crop])
assert found(configured) == [one]
PY

# --- what __getitem__ names is not sent to a worker that is spawned: it has stamps of its own there
cat >spawned.py <<'PY'
import multiprocessing
import types
import dlbench_stamps
import dlbench_wrap
import own
import steps
import torch


def work(init, samples):
    torch.utils.data._info[0] = types.SimpleNamespace(dataset=samples)
    init(0)
    samples.__getitems__(range(5))


if __name__ == "__main__":
    strong, pair = [steps.flip, steps.crop, steps.crop], [steps.crop, steps.crop, steps.flip]
    for dataset, init, counts in (
        (own.Global(), None, [("crop", 5), ("flip", 5)]),
        (own.Rebuilt(), None, [("Turn", 5), ("crop", 5), ("words", 5)]),
        (own.Holds(steps.Compose([steps.crop])), own.put_other, [("crop", 5)]),
        # those that have equal lists share their stages
        (own.Strong(steps.Compose(strong)), None, [("crop", 10), ("crop", 10), ("flip", 10)]),
        (own.Part(*(own.Holds(steps.Compose(pair)) for _ in range(2))), own.put_other_second, [("crop", 5), ("crop", 5), ("flip", 5)]),
    ):
        board = dlbench_stamps.Board("stamps", 1)
        dlbench_stamps._open.clear()
        samples = dlbench_wrap.stamped(board, dataset, [], [])
        worker = multiprocessing.get_context("spawn").Process(target=work, args=(dlbench_wrap.Init(board, init), samples))
        worker.start()
        worker.join()
        found = [(name, n) for name, (n, _) in zip(board.names, board.read())]
        assert found[0] == ("getitem", 5) and sorted(found[len(dlbench_stamps.STAGES) :]) == counts, found
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
    wrapped = dlbench_wrap.stamped(board, dataset, [], [])
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
