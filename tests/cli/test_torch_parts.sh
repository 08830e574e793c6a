#!/usr/bin/env bash
# Parts of loaders/torch/*.py by themselves, with a stand-in for torch: batches, rows of stamps, what a function is given.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_parts.sh"

command -v python3 >/dev/null || skip "no python3"

# --- plain values hide no tensor; lists of them are passed over
holds <<'PY'
from dlbench_batches import Batches
batches, one = Batches(torch, None), torch.zeros(8, 4)
for batch in [(one, 8, one), (8, one, one), ["a", one, None, one], [[1.0] * 5000, one, {"n": 8, "x": (True, one)}]]:
    blocks, n_samples, n_bytes = batches.measure(batch)
    assert (len(blocks), n_samples, n_bytes) == (2, 8, 64), batch
PY

# --- shapes that change are copied into the memory that is there
holds <<'PY'
from dlbench_batches import Batches
batches = Batches(torch, None)
batches.copy([torch.Tensor((8, 100))])
memory = batches.kept[0].memory
for n in 40, 100, 7:
    batches.copy([torch.Tensor((8, n), value=n)])
    assert batches.kept[0].memory is memory and memory.data.raw[: 8 * n] == bytes([n]) * 8 * n
PY

# --- of a kept batch the pages of its storages are unmapped, once each, and no other ones: elements may overlap
holds <<'PY'
import os
from dlbench_batches import Pages
page = os.sysconf("SC_PAGESIZE")
one, small, private = torch.Tensor((4 * page,), shared=True), torch.Tensor((10,), shared=True), torch.Tensor((4 * page,))
pages = Pages([one.expand(64, 4 * page), one, small, private])
assert pages.ranges == [(one.data_ptr(), 4 * page)], pages.ranges
PY

# --- the loader is given no pin thread, whatever the cell is of
holds <<'PY'
from dlbench_serve import loader_settings
assert loader_settings({"settings": {"loader.num_workers": 2, "loader.pin_memory": True}}, torch)["pin_memory"] is False
PY

# --- a worker of another loader has no row
holds <<'PY'
import types
import dlbench_stamps
board = dlbench_stamps.Board("stamps", 0)
torch.utils.data._info[0] = types.SimpleNamespace(id=5, num_workers=6, dataset=None)
board.add(dlbench_stamps.GETITEM, 0)
dlbench_stamps.Samples(board, range(4))[2]
torch.utils.data._info[0] = None
dlbench_stamps._open.clear()
assert set(board.read()) == {(0, 0)}
PY

# --- a worker's own row; its user's data set
holds <<'PY'
import types
import dlbench_stamps
import dlbench_wrap
board, mine = dlbench_stamps.Board("stamps", 2), torch.utils.data.Dataset()
info = torch.utils.data._info[0] = types.SimpleNamespace(dataset=dlbench_stamps.Samples(board, dlbench_stamps.Samples(board, mine)))
seen = []
dlbench_wrap.Init(board, lambda worker: seen.append((worker, info.dataset)))(1)
assert seen == [(1, mine)]
board.add(dlbench_stamps.GETITEM, 0)
with open("stamps", "rb") as file:
    words = memoryview(file.read()[: board.n_words * 8]).cast("Q")
assert words[2 * dlbench_stamps.ROW] == 1 and words[0] == 0
PY

# --- what a spawned worker stamps before its row is named, while it unpickles, counts nowhere; then its own row counts
cat >early.py <<'PY'
import multiprocessing
import dlbench_stamps
import dlbench_wrap

def same(value):
    return value

class Eager:
    """Applies its transform when it is unpickled."""
    def __init__(self, transform):
        self.transform = transform
    def __setstate__(self, state):
        self.__dict__.update(state)
        self.transform(1)

def work(eager, board):
    dlbench_wrap.Init(board, None)(0)
    eager.transform(1)

if __name__ == "__main__":
    import torch
    board = dlbench_stamps.Board("stamps", 1)
    stage = board.stage("same")
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(Eager(dlbench_stamps.Call(board, stage, same)), board))
    worker.start()
    worker.join()
    with open("stamps", "rb") as file:
        words = memoryview(file.read()[: board.n_words * 8]).cast("Q")
    rows = [words[row * dlbench_stamps.ROW + 2 * stage] for row in range(2)]
    assert rows == [0, 1], rows
PY
sed -i 's/^    dlbench_wrap.Init/    import torch, types\n    torch.utils.data._info[0] = types.SimpleNamespace(dataset=None)\n&/' early.py
run python3 early.py
expect_exit 0

# --- a batch is pickled once, and both ends of its way are timed
holds <<'PY'
import pickle
import dlbench_stamps
class Counted:
    n = 0
    def __reduce__(self):
        Counted.n += 1
        return bytes, (b"x" * 1000000,)
board = dlbench_stamps.Board("stamps", 0)
board.map()
for weight in 1, 5:
    board.clear()
    packed = pickle.dumps(dlbench_stamps.Made([Counted()], 3, 7, 2, [8, 9], board.path, weight))
    assert Counted.n == 1 and packed.count(b"x" * 1000000) == 1
    Counted.n = 0
    assert board.read()[dlbench_stamps.TRANSPORT][0] == weight
    before_ns = board.read()[dlbench_stamps.TRANSPORT][1]
    out = pickle.loads(packed)
    assert out[:5] == ([b"x" * 1000000], 3, 7, 2, [8, 9])
    assert board.read()[dlbench_stamps.TRANSPORT][0] == weight and board.read()[dlbench_stamps.TRANSPORT][1] > before_ns > 0
PY

# --- an iterable data set is as long, and has what else it has, within its wrapper
holds <<'PY'
import pickle
import dlbench_stamps
import dlbench_streams
class Mine(torch.utils.data.IterableDataset):
    epoch = 3
    def __iter__(self):
        return iter([1, 2])
    def __len__(self):
        return 2
import __main__
__main__.Mine = Mine
stream = pickle.loads(pickle.dumps(dlbench_streams.Stream(dlbench_stamps.Board("stamps", 0), Mine())))
assert len(stream) == 2 and stream.epoch == 3 and list(stream) == [1, 2]
PY

# --- what computes a loader is not asked; one that is held is stamped, in a slot too
holds <<'PY'
import dlbench_stamps
import dlbench_wrap
from torch.utils.data import Dataset
class Computed(Dataset):
    loader = property(lambda self: seen.append(self))
class Slots:
    __slots__ = ("loader", "transforms")
class Function(Dataset):
    def loader(self, path):
        return path
class Frozen(Function):
    def __setattr__(self, name, value):
        raise TypeError(name)
class Rows(dict):
    def __call__(self, i):
        return self[i]
class Stored:
    pass
board, seen = dlbench_stamps.Board("stamps", 0), []
dlbench_wrap.stamped(board, Computed(), [], [])
assert seen == []
held, own, stored = Slots(), Function(), Stored()
held.loader = stored.transform = str
stored.loader = Rows(a=3)
for one in held, own, Frozen(), stored:
    dlbench_wrap.stamped(board, one, [], [])
assert [type(one.loader) for one in (held, own, stored)] == [dlbench_stamps.Call, dlbench_stamps.Call, Rows] and own.loader("a") == "a"
assert type(stored.transform) is dlbench_stamps.Call and stored.loader["a"] == 3
assert board.names[len(dlbench_stamps.STAGES) :] == ["str", "loader", "str"]
PY

# --- a transform with a stamp is still what it is: its class, what is set on it, what it becomes in another process
holds <<'PY'
import pickle
import dlbench_stamps
import __main__
class Random:
    def __call__(self, x):
        return x + 1
class Turn(Random):
    pass
__main__.Turn = Turn
board = dlbench_stamps.Board("stamps", 0)
call = dlbench_stamps.Call(board, board.stage("Turn"), Turn())
assert isinstance(call, Random) and call(1) == 2
call.p, call.stage = 0.5, 1
turn = call.dlbench_function
assert vars(turn) == {"p": 0.5, "stage": 1} and "p" not in vars(call) and call.dlbench_stage == len(dlbench_stamps.STAGES)
again = pickle.loads(pickle.dumps(call))
assert type(again) is dlbench_stamps.Call and again.p == 0.5 and again(1) == 2 and again.dlbench_stage == call.dlbench_stage
del call.p
assert vars(turn) == {"stage": 1}
assert isinstance(dlbench_stamps.Call(board, 0, len), dlbench_stamps.Call)
def grow(x, by=1):
    return x + by
import inspect
call = dlbench_stamps.Call(board, 0, grow)
assert inspect.signature(call) == inspect.signature(grow) and call.__name__ == "grow" and call.__code__ is grow.__code__
PY

# --- transforms beyond those for which there is room share the last stamp
holds <<'PY'
import dlbench_stamps
board = dlbench_stamps.Board("stamps", 0)
stages = [board.stage("t%d" % i) for i in range(dlbench_stamps.MAX_TRANSFORMS + 3)]
assert stages[-4:] == [dlbench_stamps.N - 1] * 4 and stages[-5] == dlbench_stamps.N - 2
assert len(board.names) == dlbench_stamps.N and board.names[-1] == dlbench_stamps.FURTHER and board.names[-2] == "t21"
PY

# --- each batch brings the indices that its worker was asked for, with stamps and without; numpy's integers are numbers of samples; where an
# index has none, nobody knows which were asked for
holds <<'PY'
import collections
import pickle
import dlbench_asked
import dlbench_stamps
from dlbench_asked import Asked
class Integer:
    def __init__(self, value):
        self.value = value
    def __index__(self):
        return self.value
board = dlbench_stamps.Board("stamps", 0)
collate = dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, list)
def asked(*indices):
    log, samples = Asked(3), dlbench_stamps.Samples(board, collections.defaultdict(int))
    log.note(pickle.loads(pickle.dumps(collate(samples.__getitems__(indices[:3]))))[4])
    for i in indices[3:]:
        log.note(collate([samples[i]])[4])
    return log.more_and_fewer(1)
for board.turns.between in 0, 100:
    assert asked(Integer(0), 1, Integer(2)) == (0, 0)
    assert asked(Integer(0), 1, Integer(2), Integer(2)) == (1, 0)
    assert asked(0, 0, 1) == (1, 1) and asked(0, 0, 0, 1, 1) == (2, 1) and asked(1) == (0, 2)
    for odd in "a key", -1, 3, (1 << 31) - 1, 1 << 40, 0.5, (1, 2):
        assert asked(0, 1, 2, odd) is None, odd
# of two epochs; of a batch without indices; of more than there is room for
log = Asked(1000)
for i in range(0, 2000, 10):
    log.note([j % 1000 for j in range(i, i + 10)])
assert log.more_and_fewer(2) == (0, 0) and log.more_and_fewer(1) == (1000, 0) and log.more_and_fewer(3) == (0, 1000)
assert Asked(5).more_and_fewer(0) == (0, 0) and Asked(5).more_and_fewer(1) == (0, 5) and Asked(dlbench_asked.MOST + 1).more_and_fewer(1) is None
dlbench_asked.MOST = 2005
log.note(range(5))
assert log.more_and_fewer(2) == (5, 0)
log.note([1])
assert log.more_and_fewer(2) is None
log = Asked(10)
log.note(None)
assert log.more_and_fewer(1) is None
PY

# --- what gives the indices of a batch is iterated once; a data set that takes batches gets what the sampler gave
holds <<'PY'
import dlbench_stamps
import dlbench_turns
class Drawn:
    n = 0
    def __len__(self):
        return 2
    def __iter__(self):
        Drawn.n += 1
        return iter([0, 1])
class Whole:
    def __getitems__(self, indices):
        return indices
class Consumes:
    def __getitems__(self, indices):
        return [indices.pop() for _ in range(len(indices))]
board = dlbench_stamps.Board("stamps", 0)
for dataset, n_parts in (range(2), 0), (range(2), 3), (Whole(), 0):
    board.kind = dlbench_turns.Kind(n_parts)
    assert dlbench_stamps.Samples(board, dataset).__getitems__(Drawn()) == [0, 1] == board.turns.indices
assert Drawn.n == 3
given = (0, 1)
assert dlbench_stamps.Samples(board, Whole()).__getitems__(given) is given and board.turns.indices == [0, 1]
before = board.read()[dlbench_stamps.GETITEM][0]
assert dlbench_stamps.Samples(board, Consumes()).__getitems__([0, 1]) == [1, 0] and board.turns.indices == [0, 1]
assert board.read()[dlbench_stamps.GETITEM][0] - before == 2
PY

# --- what only has the name of something that DataLoader calls is refused before it is called
holds <<'PY'
import types
from dlbench_errors import Refused
from dlbench_names import beside


def module(**names):
    return types.SimpleNamespace(__name__="mine", **names)


taken = module(collate_fn=lambda batch, pad=0: batch, worker_init_fn=print, sampler=lambda data: [1, 2], batch_sampler=[[1], [2]])
assert beside(taken, "data") == ({"collate_fn": taken.collate_fn, "worker_init_fn": print, "sampler": [1, 2], "batch_sampler": [[1], [2]]},
                                 ["sampler"])
for name in "sampler", "batch_sampler", "collate_fn", "worker_init_fn":
    for other in (lambda logits, temperature: 1 / 0, lambda: 1 / 0):
        try:
            raise AssertionError(beside(module(**{name: other}), "data"))
        except Refused as why:
            assert why.code == "PYTHON_ARGS" and name in str(why), why
PY

# --- collections of garbage count until the interpreter ends, which collects once more
holds <<'PY'
import atexit
import gc
import dlbench_stamps
board = dlbench_stamps.Board("stamps", 0)
dlbench_stamps.stamp_collections(board)
counts = []
for end in (lambda: None, gc.collect, atexit._run_exitfuncs, gc.collect):
    end()
    counts.append(board.read()[dlbench_stamps.GC][0])
assert counts[0] < counts[1] <= counts[2] == counts[3], counts
PY

# --- a batch has the samples that it was made of, whatever its first tensor's size; else that size
holds <<'PY'
import dlbench_stamps
from dlbench_batches import Batches, Count, n_of
from dlbench_errors import Refused
board = dlbench_stamps.Board("stamps", 0)
long = lambda samples: torch.Tensor((50, len(samples)))
assert dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, long)([1] * 8).n == Count(long)([1] * 8).n == 8
assert n_of({"a": [1, 2], "b": [3, 4]}) == 0
batches = Batches(torch, None)
assert batches.measure(torch.Tensor((50, 8)), 8)[1] == 8 and batches.measure(torch.Tensor((50, 8)))[1] == 50
assert Batches(torch, lambda batch: 7).measure(torch.Tensor((50, 8)), 8)[1] == 7
assert batches.measure(["a", "b"], 2) == ([], 2, 0)
assert batches.measure((torch.Tensor((0, 5)), torch.Tensor((8, 3))), 8)[1] == 8  # boxes, of which no image has one
empty = torch.Tensor((0, 8))
assert Batches(torch, lambda batch: 8).measure(empty, 8)[1] == 8
for nothing, n in [(None, 2), (object(), 2), (3.5, 2), ([], 2), (["a"], 0), (empty, 8), (empty, 0), ([empty, empty], 8)]:
    try:
        raise AssertionError(batches.measure(nothing, n))
    except Refused as why:
        assert why.code == "PYTHON_BATCH_UNKNOWN", why.code
PY

# --- a data set's `loader` decodes if its code names what opens images; otherwise it is a stage by its name
holds <<'PY'
import dlbench_find
import dlbench_stamps
import dlbench_wrap
def picture(path):
    from PIL import Image
    return Image.open(path)
def fetch(path):
    return path
assert dlbench_find.opens_images(picture) and not dlbench_find.opens_images(fetch) and not dlbench_find.opens_images(str)
class Folder:
    pass
board = dlbench_stamps.Board("stamps", 0)
for function, stage in (picture, dlbench_stamps.LOAD), (fetch, len(dlbench_stamps.STAGES)):
    folder = Folder()
    folder.loader = function
    dlbench_wrap.stamped(board, folder, [], [])
    assert folder.loader.dlbench_stage == stage and board.kind.n_parts == 1
assert board.names[-1] == "fetch"
PY

# --- settings that a function has no parameters for
holds <<'PY'
from dlbench_names import accepted
settings = {"batch_size": 8, "in_order": True, "seed": 1, "rank": 0, "world": 1}
assert accepted(lambda **more: 0, settings, {}) == {"batch_size": 8}
assert accepted(lambda **more: 0, dict(settings, in_order=False), {}) == {"batch_size": 8, "in_order": False}
assert accepted(lambda rank, in_order, **more: 0, settings, {}) == {"batch_size": 8, "rank": 0, "in_order": True}
assert accepted(lambda prefetch_factor, timeout=5: 0, settings, {}) == {"prefetch_factor": None}
assert accepted(lambda multiprocessing_context: 0, settings, {"multiprocessing_context": "spawn"}) == {}
assert accepted(lambda seed, /: 0, settings, {}) == {}
PY

# --- what a module has beside its data set: no modules, no texts; what makes a sampler is called with the data set
holds <<'PY'
import types
from dlbench_names import beside
module = types.SimpleNamespace(sampler=types, collate_fn="default", worker_init_fn=None, batch_sampler=lambda data: [data])
assert beside(module, 7) == ({"batch_sampler": [7]}, ["batch_sampler"])
assert beside(types.SimpleNamespace(sampler=range(3), collate_fn=len), 7) == ({"sampler": range(3), "collate_fn": len}, [])
PY

# --- garbage is counted apart: it is no progress; the loop's is none of the workers'
holds <<'PY'
import time
import dlbench_stamps
from dlbench_stamps import GC, GETITEM, LOOP_GC
board = dlbench_stamps.Board("stamps", 2)
board.collected(time.monotonic_ns() - 10**6)
with open("stamps", "rb") as file:
    assert file.read(board.n_words * 8) == bytes(board.n_words * 8)
board.map(2)
board.collected(time.monotonic_ns() - 10**6)
board.collected(time.monotonic_ns() - 10**6)
board.add(GETITEM, time.monotonic_ns())
sums = board.read()
assert [sums[i][0] for i in (GETITEM, GC, LOOP_GC)] == [1, 2, 1] and sums[GC][1] >= 2 * 10**6 <= 2 * sums[LOOP_GC][1]
alone = dlbench_stamps.Board("alone", 0)
dlbench_stamps._open.clear()
alone.collected(time.monotonic_ns())
assert [alone.read()[i][0] for i in (GC, LOOP_GC)] == [1, 0]
PY

# --- a batch is loaded when it is asked for, or when the question was said to come; one ahead, and none behind the last
holds <<'PY'
import select
import socket
import struct
import threading
import time
import types
from dlbench_serve import BEGUN, BATCH, END, EPOCH, FOREVER, NEXT, STOP, Batches, Server

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
loaded = []

def load():
    for i in range(5):
        loaded.append(time.monotonic_ns())
        yield torch.zeros(2, 4)

source = types.SimpleNamespace(loader=load(), sampler=None, board=None, most=None, opened=lambda batch, worker: (batch, 0, worker, 0, False), asked=None)
server = threading.Thread(target=Server(theirs, source, Batches(torch, None), False).serve)
server.start()

def ask(kind, number):
    ours.send(struct.pack("<2Q", kind, number))

def answer():
    return struct.unpack("<8Q", ours.recv(1000))[0]

def is_silent():
    return not select.select([ours], [], [], 0.1)[0]

ask(EPOCH, 0)
assert answer() == BEGUN and not loaded
ask(NEXT, FOREVER)
assert answer() == BATCH and is_silent() and len(loaded) == 1
when_ns = time.monotonic_ns() + 10**9
ask(NEXT, when_ns)
assert answer() == BATCH and is_silent() and len(loaded) == 2 or time.monotonic_ns() > when_ns
assert answer() == BATCH and is_silent() and len(loaded) == 3
assert loaded[2] >= when_ns
ask(NEXT, 0)  # it was answered; the one after it is, too
assert answer() == BATCH and is_silent() and len(loaded) == 4
ask(NEXT, time.monotonic_ns() + 10**12)
assert is_silent()
ask(NEXT, 0)  # before its time
assert [answer(), answer()] == [BATCH, END] and is_silent()
ask(NEXT, 0)
assert is_silent()
ask(STOP, 0)
server.join(10)
assert not server.is_alive()
PY

# --- what the user's module has beside its data set: an empty list that collates, no length beside a sampler, a pipe that is shuffled
cat >beside.py <<'PY'
import torch
from torch.utils.data import Dataset, IterDataPipe


class Unsized(Dataset):
    def __len__(self):
        raise NotImplementedError

    def __getitem__(self, i):
        return torch.zeros(4)


class Pipe(IterDataPipe):
    def __iter__(self):
        return iter([torch.zeros(4)] * 8)


class Empty(list):
    def __call__(self, samples):
        return ["mine", len(samples)]


sampler = range(8)
collate_fn = Empty()
PY
sed '/^sampler/d' beside.py >pipe.py
holds <<'PY'
import os
from dlbench_batches import Batches
from dlbench_serve import Source
settings = {"loader.num_workers": 0, "loader.batch_size": 4, "loader.shuffle": True}
def source(name):
    return Source(torch, {"settings": {**settings, "python.dataset": name}, "seed": 1, "rank": 0, "world": 1, "samples": 8, "mode": "measure", "folder": os.getcwd()})
unsized, pipe = source("beside.py:Unsized"), source("pipe.py:Pipe")
assert [batch[0] for batch in unsized.loader] == [["mine", 4]] * 2 and unsized.n_samples is None
assert pipe.loader.shuffle
PY

# --- tables whose values are no function hold no tensors; python.count may be an empty list that can be called; samplers within samplers
holds <<'PY'
import types
from dlbench_batches import Batches
from dlbench_serve import set_epoch
class Table:
    values = property(lambda self: [[1]])
    def keys(self):
        return ["a"]
class Empty(list):
    def __call__(self, batch):
        return 5
assert Batches(torch, None).measure({"x": torch.zeros(8, 4), "table": Table()})[1:] == (8, 32)
assert Batches(torch, Empty()).measure(torch.zeros(8, 4))[1] == 5
told = []
inner = types.SimpleNamespace(set_epoch=told.append)
for sampler in inner, types.SimpleNamespace(sampler=inner), types.SimpleNamespace(sampler=None), None:
    set_epoch(sampler, len(told) + 3)
assert told == [3, 4]
PY

# --- files whose names are no module's, or another one's, and the same under spawn
mkdir one.d two.d
echo 'def value(): return 1' >one.d/train.v2.py
echo 'def value(): return 2' >two.d/train.v2.py
echo 'class Mine: value = 3' >two.d/json.py
cp "$DLB_SOURCE_DIR"/loaders/torch/*.py "$tmp"
export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
cat >main.py <<'PY'
import json
import multiprocessing
import os
from dlbench_names import named

def child(made, queue):
    queue.put((type(made).__module__, made.value))

if __name__ == "__main__":
    found = [named(spec, "it", os.getcwd())[1] for spec in ("one.d/train.v2.py:value", "two.d/train.v2.py:value", "two.d/json.py:Mine")]
    assert [found[0](), found[1]()] == [1, 2] and found[2].value == 3 and hasattr(json, "dumps")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=child, args=(found[2](), queue))
    worker.start()
    assert queue.get(timeout=60) == (found[2].__module__, 3)
    worker.join()
PY
run python3 main.py
expect_exit 0

finish
