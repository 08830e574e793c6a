"""Where Python's time goes: counts and sums of nanoseconds for each stage, in a file that the training loop's process and all workers map.
Part of loaders/torch/dlbench_serve.py.

Wrappers are picklable and open the file by its name, so that they work in workers that are forked, spawned or come from a fork server.
A stamp adds to two numbers of its process's own row: nothing is locked.
"""

import atexit
import gc
import mmap
import operator
import os
import struct
import types
from time import monotonic_ns
from typing import Any, NamedTuple

import dlbench_cpu
import dlbench_places
from dlbench_asked import numbers_of
from dlbench_batches import n_of
from dlbench_errors import AtSample, at_samples
from dlbench_trace import NO_SAMPLE, WINDOW, Rings
from dlbench_turns import Kind, Turns
from torch.utils.data import get_worker_info

GETITEM, LOAD, COLLATE, NEXT, TRANSPORT, GC, LOOP_GC, COMPUTED, ON_CPU = range(9)
STAGES = ("getitem", "load", "collate", "next", "transport", "gc", "loop_gc", "computed", "on_cpu")
WATCHED = (COMPUTED, ON_CPU)  # no stages of a sample: what watched samples used
GOT, GOT_NS = 2 * GETITEM, 2 * GETITEM + 1  # their places in a row
COLLECTED, COLLECTED_NS, TIMED, WHOLE, DRAWN, READ, IN_COLLATE_NS = range(7)  # beside a row: garbage; and what was drawn (Drawn)
N_BESIDE = 7
MAX_TRANSFORMS = 23  # with stamps of their own; so many stages a timeline has (core/measure/trace_names.h)
FURTHER = "(after the first %d)" % (MAX_TRANSFORMS - 1)
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)  # what looks into one wants it itself
OF_FUNCTIONS = ("__name__", "__qualname__", "__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__", "__func__", "__self__")
N = len(STAGES) + MAX_TRANSFORMS
BEATS, ROW = 2 * N, 2 * N + 1  # of a row: what rises where samples come that have no stamps; its numbers
MOST_TOGETHER = 32  # samples, of which nothing is told until they are there

_weight = 1  # what the parts of the present samples count (dlbench_turns.py); 0: they are not timed. Between batches 1
_garbage_ns = 0  # in which this process collected it
_open = {}  # file name -> what Board.map gives
os.register_at_fork(after_in_child=_open.clear)


def sample_of(i):
    """As a ring has it; an index that is no number has none."""
    try:
        number = operator.index(i)
    except TypeError:
        return NO_SAMPLE
    return number if 0 <= number < NO_SAMPLE else NO_SAMPLE


def garbage_ns():
    return _garbage_ns


def stands_for(weight, took_ns, collected_ns):
    """What so many took, of which one took so long. Garbage comes when it comes, in no other one; in another thread it may have begun before."""
    collected_ns = min(collected_ns, took_ns)
    return weight * (took_ns - collected_ns) + collected_ns


def add(found, stage, since_ns, n, weight=1, collected_ns=0):
    """When the stage ended, which stands for so many. `found`: what Board.map gives."""
    row, rings, _, _ = found
    now_ns = monotonic_ns()
    row[2 * stage] += weight * n
    row[2 * stage + 1] += stands_for(weight, now_ns - since_ns, collected_ns)
    if rings:
        rings.add(stage, since_ns, now_ns)
    return now_ns


class Drawn(NamedTuple):
    """How many were drawn (dlbench_turns.py)."""

    samples: int  # whose parts were timed
    whole: int  # batches with stamps of their own
    batches: int  # of those samples
    read: int  # pairs of readings of CPU clocks
    in_collate_ns: int = 0  # of transforms that collate_fn called

    def since(self, before):
        return Drawn(*(b - a for a, b in zip(before, self)))


class Part(NamedTuple):
    """Of the file, for a process."""

    row: memoryview
    rings: Any  # of a timeline, or None
    beside: memoryview
    memory: Any  # the whole file


class Board:
    """The file: a row of (count, nanoseconds) for each process; then what is beside each row, and is no progress that the cell may wait
    for."""

    SENT = ("path", "n_rows", "n_words", "names", "loop", "trace", "batch_size", "kind")

    def __init__(self, path, n_workers, trace=None):
        self.path, self.n_rows, self.names = path, n_workers + 1, list(STAGES)
        self.n_words, self.loop, self.trace = self.n_rows * ROW, os.getpid(), trace
        self.batch_size = 1  # samples of iterable data that DataLoader asks for one behind the other
        self.kind = Kind()
        self.turns = Turns(trace is not None)  # a timeline has all stamps
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, (self.n_words + N_BESIDE * self.n_rows) * 8)  # a full disk kills who writes to a map

    def __getstate__(self):
        return {key: getattr(self, key) for key in self.SENT}

    def __setstate__(self, state):
        self.__dict__.update(state, turns=Turns(state["trace"] is not None))

    def map(self, row=0):
        """This process's part. Row 0 is the training loop's. A worker whose row was not named (Init) is of a loader within the user's data, or
        still unpickles what it was sent. What it stamps counts nowhere."""
        found = _open.get(self.path) if row == 0 else None
        if found is None and row == 0 and (get_worker_info() or os.getpid() != self.loop):
            found = Part(memoryview(bytearray(ROW * 8)).cast("Q"), None, memoryview(bytearray(N_BESIDE * 8)).cast("Q"), None)
        elif found is None:
            with open(self.path, "r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
            numbers = memoryview(memory)
            start, beside = row * ROW * 8, self.n_words * 8 + row * N_BESIDE * 8
            rings = Rings(self.trace, row) if self.trace else None
            own = numbers[start : start + ROW * 8].cast("Q"), rings, numbers[beside : beside + N_BESIDE * 8].cast("Q")
            found = Part(*own, memory)
        _open[self.path] = found
        return found

    def add(self, stage, since_ns, n=1, weight=1, collected_ns=0):
        """When the stage ended."""
        return add(_open.get(self.path) or self.map(), stage, since_ns, n, weight, collected_ns)

    def computed(self, before, took_ns, collected_ns):
        """Of samples of a batch that took so long, and of that garbage so long: how long they had a core or waited for something else, how long they
        computed, and how long the process had a CPU."""
        row, _, beside, _ = _open.get(self.path) or self.map()
        now, weight = dlbench_cpu.used(), self.turns.clocks.weight
        had_core_ns = max(took_ns - (now[1] - before[1]) - collected_ns, 0)
        row[2 * COMPUTED] += weight * had_core_ns
        row[2 * COMPUTED + 1] += weight * max(now[0] - before[0] - collected_ns, 0)
        if dlbench_cpu.knows_queue():
            row[2 * ON_CPU] += weight * had_core_ns
            row[2 * ON_CPU + 1] += weight * max(now[2] - before[2] - collected_ns, 0)
        beside[READ] += 1

    def parts(self, of):
        """Of all samples' parts so far, in this process. of: 0: how many; 1: their nanoseconds."""
        row = (_open.get(self.path) or self.map()).row
        return row[2 * LOAD + of] + sum(row[2 * len(STAGES) + of : 2 * len(self.names) : 2])

    def beat(self):
        """Samples came: the cell need not take the process for one that hangs."""
        (_open.get(self.path) or self.map()).row[BEATS] += 1

    def count_timed(self, n):
        """Samples whose parts were timed."""
        self.turns.n_timed += n
        (_open.get(self.path) or self.map()).beside[TIMED] += n

    def count_drawn(self, turns):
        beside = (_open.get(self.path) or self.map()).beside
        beside[WHOLE] += turns.whole.weight > 0
        beside[DRAWN] += turns.parts.weight > 0

    def collected(self, since_ns):
        """Garbage: any thread may do that."""
        global _garbage_ns
        _, rings, beside, _ = _open.get(self.path) or self.map()
        now_ns = monotonic_ns()
        beside[COLLECTED] += 1
        beside[COLLECTED_NS] += now_ns - since_ns
        _garbage_ns += now_ns - since_ns
        if rings:
            rings.add_if_known(LOOP_GC if self.n_rows > 1 and os.getpid() == self.loop else GC, since_ns, now_ns)

    def stage(self, name):
        """The number of a further stage. Those for which there is no room share the last one."""
        if len(self.names) == N:
            self.names[-1] = FURTHER
        else:
            self.names.append(name)
        return len(self.names) - 1

    def read(self):
        """All processes' sums: a (count, nanoseconds) for each stage."""
        words = struct.unpack_from("<%dQ" % (self.n_words + N_BESIDE * self.n_rows), self.map().memory)
        rows, garbage = words[: self.n_words], words[self.n_words :]
        sums = [(sum(rows[2 * i :: ROW]), sum(rows[2 * i + 1 :: ROW])) for i in range(len(self.names))]
        sums[LOOP_GC] = garbage[:2] if self.n_rows > 1 else (0, 0)
        n, ns = (sum(garbage[i::N_BESIDE]) for i in (COLLECTED, COLLECTED_NS))
        sums[GC] = n - sums[LOOP_GC][0], ns - sums[LOOP_GC][1]
        return sums

    def drawn(self):
        """All processes'."""
        words = struct.unpack_from("<%dQ" % (N_BESIDE * self.n_rows), self.map().memory, self.n_words * 8)
        return Drawn(*(sum(words[i::N_BESIDE]) for i in (TIMED, WHOLE, DRAWN, READ, IN_COLLATE_NS)))

    def end_window(self, opened_ns, now_ns):
        rings = self.map().rings
        if rings:
            rings.own.add(WINDOW, opened_ns, now_ns)

    def clear(self):
        """This process's part."""
        row, rings, beside, _ = self.map()
        for numbers in row, beside:
            numbers[:] = memoryview(bytes(numbers.nbytes)).cast("Q")
        if rings:
            rings.own.clear()


class Collections:
    """What Python calls when it begins and ends to collect garbage, which an object that is made begins: within other stages, or between."""

    def __init__(self, board):
        self.board, self.since_ns, self.is_over = board, 0, False

    def __call__(self, phase, info):
        if phase == "start":
            self.since_ns = monotonic_ns()
        elif self.since_ns and not self.is_over:
            self.board.collected(self.since_ns)

    def stop(self):
        self.is_over = True


def stamp_collections(board):
    """Once in each process: one that is forked has it from its parent. The collection with which an interpreter ends, as that of a
    spawned worker does, is no part of loading."""
    if not any(isinstance(one, Collections) for one in gc.callbacks):
        collections = Collections(board)
        gc.callbacks.append(collections)
        atexit.register(collections.stop)


class Call:
    """A function with a stamp. What else it has, it keeps: its class, too, for code that asks which transforms are random."""

    OWN = ("dlbench_board", "dlbench_stage", "dlbench_function")  # no names of the user's

    def __init__(self, board, stage, function):
        self.dlbench_board, self.dlbench_stage, self.dlbench_function = board, stage, function

    def __reduce__(self):
        return type(self), (self.dlbench_board, self.dlbench_stage, self.dlbench_function)

    @property
    def __class__(self):
        kind = type(self.dlbench_function)
        return type(self) if issubclass(kind, FUNCTIONS) else kind

    @property
    def __wrapped__(self):
        """Where inspect.signature() looks."""
        return self.dlbench_function

    def __call__(self, *args, **kwargs):
        weight = _weight
        if weight == 0:
            return self.dlbench_function(*args, **kwargs)
        before_ns, start_ns = _garbage_ns, monotonic_ns()
        out = self.dlbench_function(*args, **kwargs)
        # As add and stands_for do it: between others' work, calls more are half of what a stamp costs.
        now_ns = monotonic_ns()
        collected_ns = min(_garbage_ns - before_ns, now_ns - start_ns)
        row, rings, _, _ = _open.get(self.dlbench_board.path) or self.dlbench_board.map()
        at = 2 * self.dlbench_stage
        row[at] += weight
        row[at + 1] += weight * (now_ns - start_ns - collected_ns) + collected_ns
        if rings:
            rings.add(self.dlbench_stage, start_ns, now_ns)
        return out

    def __getattr__(self, name):
        if name in self.OWN or (name.startswith("__") and name not in OF_FUNCTIONS):
            raise AttributeError(name)
        return getattr(self.dlbench_function, name)

    def __setattr__(self, name, value):
        if name in self.OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.dlbench_function, name, value)

    def __delattr__(self, name):
        delattr(self.dlbench_function, name)

    def __repr__(self):
        return repr(self.dlbench_function)


class Made(NamedTuple):
    """A batch with the time of its end, whose way is timed: how long it takes to be pickled, where the worker puts its tensors into shared memory
    and names them, and to be unpickled, where the loop's process maps them. What it waits in between is nobody's work."""

    batch: Any
    worker: int
    ready_ns: int
    n: int  # samples that it was made of; 0: not known
    indices: Any  # that the worker was asked for; None: not known
    path: str  # the board's, which both processes have mapped
    weight: int

    def __reduce__(self):
        begun = Mark(self.path, self.weight, None)
        return unpacked, (*self[1:], begun, self.batch, Mark(self.path, self.weight, begun))


class Mark:
    """Pickled before and behind a batch, in the one stream that holds it: it takes the time there, and again when it is unpickled."""

    def __init__(self, path, weight, begun):
        self.path, self.weight, self.begun, self.ns = path, weight, begun, None

    def __reduce__(self):
        self.ns = monotonic_ns()
        if self.begun:
            transported(self.path, self.begun.ns, 1, self.weight)
        return monotonic_ns, ()


def transported(path, since_ns, n, weight):
    """One end of a batch's way. n: 1 at one of them, so that each batch counts once."""
    found = _open.get(path)
    if found:
        add(found, TRANSPORT, since_ns, n, weight)


def unpacked(worker, ready_ns, n, indices, path, weight, begun_ns, batch, _):
    transported(path, begun_ns, 0, weight)
    return Made(batch, worker, ready_ns, n, indices, path, weight)


class Collate(Call):
    """What makes a batch, the last thing that a worker does: its end goes with the batch. One without stamps is a tuple that begins as Made does:
    a class of its own would take 1 us."""

    def __call__(self, samples):
        global _weight
        turns = self.dlbench_board.turns
        n = len(samples) if type(samples) is list else n_of(samples)  # the function may consume them
        turns.given.clear()
        if not turns.is_passed and (turns.is_begun or turns.begin_alone(n)):
            return self.stamped(samples, n, turns)
        turns.is_passed = False
        out = self.dlbench_function(samples)
        _weight = 1
        return out, turns.worker, monotonic_ns(), n, turns.indices

    def stamped(self, samples, n, turns):
        global _weight
        start_ns = monotonic_ns()
        turns.begun_ns = turns.begun_ns or start_ns
        worker = get_worker_info()
        turns.worker, turns.is_begun, board = worker.id if worker else 0, False, self.dlbench_board
        has_parts = board.kind.n_parts > 0 and turns.parts.weight > 0  # it may call transforms, too
        if board.kind.n_parts:
            put(turns.parts.weight)
        before_ns, parts_ns = _garbage_ns, board.parts(1) if has_parts else 0
        out = self.dlbench_function(samples)
        _weight = 1
        if has_parts:
            board.map().beside[IN_COLLATE_NS] += board.parts(1) - parts_ns
        if turns.whole.weight:
            now_ns = board.add(self.dlbench_stage, start_ns, 1, turns.whole.weight, _garbage_ns - before_ns)
            out = Made(out, turns.worker, now_ns, n, turns.indices, board.path, turns.whole.weight)
        else:
            now_ns = monotonic_ns()
            out = out, turns.worker, now_ns, n, turns.indices
        board.count_drawn(turns)
        turns.took(board.kind, now_ns - turns.begun_ns)
        return out


def put(weight):
    """The parts' stamps count so much, from now on; 0: there are none. After an error the cell ends: nothing is put back."""
    global _weight
    dlbench_places.put(weight > 0)
    _weight = weight


def gives_batches(dataset):
    return getattr(dataset, "__getitems__", None) is not None


class Samples:
    """A map-style data set with stamps."""

    OWN = ("board", "dataset", "gives_batches")

    def __init__(self, board, dataset):
        self.board, self.dataset, self.gives_batches = board, dataset, gives_batches(dataset)

    def __len__(self):
        return len(self.dataset)

    def __getattr__(self, name):
        if name in self.OWN or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitem__(self, i):
        return self.batch([i], self.one_by_one)[0]

    def __getitems__(self, indices):
        """What DataLoader asks for since torch 2.0: a batch."""
        if type(indices) is not list and not (self.gives_batches and hasattr(indices, "__getitem__")):
            indices = list(indices)  # iterated once: that may draw them
        return self.batch(indices, self.whole if self.gives_batches else self.one_by_one)

    def batch(self, indices, read):
        board = self.board
        turns = board.turns
        is_plain = type(indices) is list and indices and type(indices[0]) is int  # DataLoader's own
        turns.indices = indices if is_plain and not self.gives_batches else numbers_of(indices)
        if turns.passed == turns.between:
            turns.begin()
            return self.stamped(indices, read)
        turns.passed += 1  # a quick batch costs as little as possible
        turns.is_passed = True
        if board.kind.n_parts:
            put(0)
        return read(indices)

    def whole(self, indices):
        try:
            return self.dataset.__getitems__(indices)
        except (Exception, SystemExit) as why:
            raise at_samples(list(indices)) from why

    def one_by_one(self, indices):
        if len(indices) > MOST_TOGETHER:
            return self.in_turns(indices)
        dataset, asked = self.dataset, iter(indices)
        try:
            return [dataset[i] for i in asked]
        except (Exception, SystemExit) as why:
            raise AtSample("sample %s" % (indices[len(indices) - operator.length_hint(asked) - 1],)) from why

    def in_turns(self, indices):
        """Those of a large batch, which may become slow."""
        out = []
        for at in range(0, len(indices), MOST_TOGETHER):
            out += self.one_by_one(indices[at : at + MOST_TOGETHER])
            self.board.beat()
        return out

    def stamped(self, indices, read):
        """A batch that has some stamps."""
        board, turns = self.board, self.board.turns
        row, rings, _, _ = _open.get(board.path) or board.map()
        clocks = dlbench_cpu.used() if turns.reads_clocks() else None
        before_ns, turns.n, turns.begun_ns = _garbage_ns, len(indices), monotonic_ns()
        if turns.each and not self.gives_batches:
            put(turns.parts.weight)
            out = [self.timed(i, turns.whole.weight, row, rings) for i in indices]
            board.count_timed(turns.n if turns.parts.weight else 0)
        else:
            out = self.in_pieces(indices, read, turns)
            now_ns = monotonic_ns()
            row[GOT] += turns.whole.weight * turns.n
            row[GOT_NS] += stands_for(turns.whole.weight, now_ns - turns.begun_ns, _garbage_ns - before_ns)
            if rings:
                rings.add(GETITEM, turns.begun_ns, now_ns)
        if clocks:
            board.computed(clocks, monotonic_ns() - turns.begun_ns, _garbage_ns - before_ns)
        return out

    def in_pieces(self, indices, read, turns):
        """Of one of which the parts are timed, if the batch is drawn."""
        if not turns.parts.weight or self.gives_batches:
            put(turns.parts.weight)
            self.board.count_timed(turns.n if turns.parts.weight else 0)
            return read(indices)
        first, last, stands_for = turns.piece(turns.n)
        put(0)
        out = read(indices[:first]) if first > 0 else []
        put(turns.parts.weight * stands_for)
        out += read(indices[first:last])
        put(0)
        if last < turns.n:
            out += read(indices[last:])
        self.board.count_timed(last - first)
        return out

    def timed(self, i, weight, row, rings):
        """A sample with a stamp of its own."""
        if rings:
            rings.sample = sample_of(i)
        before_ns, start_ns = _garbage_ns, monotonic_ns()
        try:
            out = self.dataset[i]
        except (Exception, SystemExit) as why:
            raise AtSample("sample %s" % (i,)) from why
        now_ns = monotonic_ns()
        row[GOT] += weight
        row[GOT_NS] += stands_for(weight, now_ns - start_ns, _garbage_ns - before_ns)
        if rings:
            rings.add(GETITEM, start_ns, now_ns)
            rings.sample = NO_SAMPLE  # what follows belongs to none
        return out
