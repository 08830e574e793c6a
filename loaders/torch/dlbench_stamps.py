"""Where Python's time goes: counts and sums of nanoseconds for each stage, in a file that the training loop's process and all workers map.
Part of loaders/torch/serve.py.

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

import dlbench_asked
import dlbench_cpu
import dlbench_places
from dlbench_batches import n_of
from dlbench_errors import AtSample, at_samples
from dlbench_trace import NO_SAMPLE, WINDOW, Rings
from dlbench_turns import Turns
from torch.utils.data import get_worker_info

GETITEM, LOAD, COLLATE, NEXT, TRANSPORT, GC, LOOP_GC, COMPUTED, ON_CPU = range(9)
STAGES = ("getitem", "load", "collate", "next", "transport", "gc", "loop_gc", "computed", "on_cpu")
WATCHED = (COMPUTED, ON_CPU)  # no stages of a sample: what watched samples used
GOT, GOT_NS = 2 * GETITEM, 2 * GETITEM + 1  # their places in a row
COLLECTED, COLLECTED_NS, TIMED, READ = range(4)  # beside a row: garbage; samples whose parts were timed; pairs of readings of CPU clocks
N_BESIDE = 4
MAX_TRANSFORMS = 23  # with stamps of their own; so many stages a timeline has (core/measure/trace_names.h)
FURTHER = "(after the first %d)" % (MAX_TRANSFORMS - 1)
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)  # what looks into one wants it itself
MOST_TOGETHER, MOST_UNTIMED = 1024, 32  # samples that share a stamp: of those that have no parts; of those whose parts are not timed
SLOW_NS = 10000000  # so many that take no longer
LONG_BATCH_NS = 1000000  # whose computing is told from its waiting
N = len(STAGES) + MAX_TRANSFORMS

_weight = 1  # what the parts of the present sample count (dlbench_turns.py); 0: they are not timed. Between samples 1
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


def add(found, stage, since_ns, n):
    """When the stage ended. `found`: what Board.map gives."""
    row, rings = found[0], found[2]
    now_ns = monotonic_ns()
    row[2 * stage] += n
    row[2 * stage + 1] += now_ns - since_ns
    if rings:
        rings.add(stage, since_ns, now_ns)
    return now_ns


class Board:
    """The file: a row of (count, nanoseconds) for each process; then what is beside each row, and is no progress that the cell may wait
    for. Beside it there is a log of the indices that each was asked for (dlbench_asked.py)."""

    def __init__(self, path, n_workers, n_samples, trace=None):
        self.path, self.n_rows, self.names = path, n_workers + 1, list(STAGES)
        self.n_samples = n_samples if n_samples and n_samples <= dlbench_asked.MOST else 0  # 0: what is asked for is not logged
        self.n_words, self.loop, self.trace = self.n_rows * N * 2, os.getpid(), trace
        self.batch_size = 1  # samples of iterable data that DataLoader asks for one behind the other
        self.is_watched = False  # whether computing and waiting are told apart within __getitem__
        self.named = []  # (name, stage) of transforms that the data set does not hold
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, (self.n_words + N_BESIDE * self.n_rows) * 8)  # a full disk kills who writes to a map
        if self.n_samples:
            dlbench_asked.make(path, self.n_rows)

    def __getstate__(self):
        return {key: getattr(self, key) for key in ("path", "n_rows", "names", "n_samples", "loop", "trace", "named", "batch_size", "is_watched")}

    def map(self, row=0):
        """This process's row, the log of what it was asked for (or None), the rings (or None), the file, what is beside the row. Row 0 is
        the training loop's. A worker whose row was not named (Init) is of a loader within the user's data, or still unpickles what it was sent.
        What it stamps counts nowhere."""
        found = _open.get(self.path) if row == 0 else None
        if found is None and row == 0 and (get_worker_info() or os.getpid() != self.loop):
            found = memoryview(bytearray(N * 16)).cast("Q"), None, None, None, memoryview(bytearray(N_BESIDE * 8)).cast("Q")
        elif found is None:
            with open(self.path, "r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
            numbers = memoryview(memory)
            start, beside = row * N * 16, self.n_rows * N * 16 + row * N_BESIDE * 8
            asked = dlbench_asked.Asked(self.path, row, self.n_rows) if self.n_samples else None
            rings = Rings(self.trace, row) if self.trace else None
            own = numbers[start : start + N * 16].cast("Q"), numbers[beside : beside + N_BESIDE * 8].cast("Q")
            found = own[0], asked, rings, memory, own[1]
        _open[self.path] = found
        return found

    def add(self, stage, since_ns, n=1):
        """When the stage ended."""
        return add(_open.get(self.path) or self.map(), stage, since_ns, n)

    def computed(self, row, before, took_ns):
        """Of samples that took so long: how long they had a core or waited for something else, how long they computed, and how long the
        process had a CPU."""
        now = dlbench_cpu.used()
        had_core_ns = max(took_ns - (now[1] - before[1]), 0)
        row[2 * COMPUTED] += had_core_ns
        row[2 * COMPUTED + 1] += now[0] - before[0]
        if dlbench_cpu.knows_queue():
            row[2 * ON_CPU] += had_core_ns
            row[2 * ON_CPU + 1] += now[2] - before[2]
        (_open.get(self.path) or self.map())[4][READ] += 1

    def collected(self, since_ns):
        """Garbage: any thread may do that."""
        global _garbage_ns
        _, _, rings, _, beside = _open.get(self.path) or self.map()
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
        words = struct.unpack_from("<%dQ" % (self.n_words + N_BESIDE * self.n_rows), self.map()[3])
        rows, garbage = words[: self.n_words], words[self.n_words :]
        sums = [(sum(rows[2 * i :: 2 * N]), sum(rows[2 * i + 1 :: 2 * N])) for i in range(len(self.names))]
        sums[LOOP_GC] = garbage[:2] if self.n_rows > 1 else (0, 0)
        n, ns = (sum(garbage[i::N_BESIDE]) for i in (COLLECTED, COLLECTED_NS))
        sums[GC] = n - sums[LOOP_GC][0], ns - sums[LOOP_GC][1]
        return sums

    def timed(self):
        """All processes' samples whose parts were timed, and pairs of readings of CPU clocks."""
        words = struct.unpack_from("<%dQ" % (N_BESIDE * self.n_rows), self.map()[3], self.n_words * 8)
        return sum(words[TIMED::N_BESIDE]), sum(words[READ::N_BESIDE])

    def end_window(self, opened_ns, now_ns):
        rings = self.map()[2]
        if rings:
            rings.own.add(WINDOW, opened_ns, now_ns)

    def more_and_fewer(self, n_epochs):
        """How many samples were asked for more and less often than once an epoch; None: not known."""
        return dlbench_asked.more_and_fewer(self.path, self.n_rows, self.n_samples, n_epochs)

    def clear(self):
        """This process's part."""
        row, asked, rings, _, beside = self.map()
        for numbers in row, beside:
            numbers[:] = memoryview(bytes(numbers.nbytes)).cast("Q")
        if asked:
            asked.forget()
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

    OWN = ("board", "stage", "function")

    def __init__(self, board, stage, function):
        self.board, self.stage, self.function = board, stage, function

    def __reduce__(self):
        return type(self), (self.board, self.stage, self.function)

    @property
    def __class__(self):
        kind = type(self.function)
        return type(self) if issubclass(kind, FUNCTIONS) else kind

    def __call__(self, *args, **kwargs):
        weight = _weight
        if weight == 0:
            return self.function(*args, **kwargs)
        garbage_ns, start_ns = _garbage_ns, monotonic_ns()
        out = self.function(*args, **kwargs)
        # As add does it: between others' work, two calls more are half of what a stamp costs.
        now_ns = monotonic_ns()
        garbage_ns = _garbage_ns - garbage_ns  # it comes when it comes, in no other sample of the group
        row, _, rings, _, _ = _open.get(self.board.path) or self.board.map()
        at = 2 * self.stage
        row[at] += weight
        row[at + 1] += weight * (now_ns - start_ns - garbage_ns) + garbage_ns
        if rings:
            rings.add(self.stage, start_ns, now_ns)
        return out

    def __getattr__(self, name):
        if name.startswith("__") or name in self.OWN:
            raise AttributeError(name)
        return getattr(self.function, name)

    def __setattr__(self, name, value):
        if name in self.OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.function, name, value)

    def __repr__(self):
        return repr(self.function)


class Made(NamedTuple):
    """A batch with the stamp of its end. How long it takes to be pickled on its way to the training loop is timed: the worker puts its
    tensors into shared memory and names them, the loop's process maps them. What it waits in between is nobody's work."""

    batch: Any
    worker: int
    ready_ns: int
    path: str  # the board's, which both processes have mapped
    n: int = 0  # samples that it was made of; 0: not known

    def __reduce__(self):
        begun = Mark(self.path, None)
        return unpacked, (self.worker, self.ready_ns, self.path, self.n, begun, self.batch, Mark(self.path, begun))


class Mark:
    """Pickled before and behind a batch, in the one stream that holds it: it takes the time there, and again when it is unpickled."""

    def __init__(self, path, begun):
        self.path, self.begun, self.ns = path, begun, None

    def __reduce__(self):
        self.ns = monotonic_ns()
        if self.begun:
            transported(self.path, self.begun.ns, 1)
        return monotonic_ns, ()


def transported(path, since_ns, n):
    """One end of a batch's way. n: 1 at one of them, so that each batch counts once."""
    found = _open.get(path)
    if found:
        add(found, TRANSPORT, since_ns, n)


def unpacked(worker, ready_ns, path, n, begun_ns, batch, _):
    transported(path, begun_ns, 0)
    return Made(batch, worker, ready_ns, path, n)


class Collate(Call):
    """What makes a batch, the last thing that a worker does: its end goes with the batch."""

    def __call__(self, samples):
        global _weight
        dlbench_places.put(True)  # it may have transforms, too, whose stamps count
        _weight = 1
        start_ns = monotonic_ns()
        out = self.function(samples)
        ready_ns = self.board.add(self.stage, start_ns)
        worker = get_worker_info()
        return Made(out, worker.id if worker else 0, ready_ns, self.board.path, n_of(samples))


class Samples:
    """A map-style data set with stamps. `n_parts`: of a sample, that have stamps of their own. A sample whose parts are timed has one, too,
    so that sums agree wherever a window cuts a batch."""

    def __init__(self, board, dataset, n_parts=0):
        self.board, self.dataset, self.n_parts = board, dataset, n_parts
        self.turns, self.watch = Turns(), dlbench_cpu.Watch()
        self.n_together = 1  # samples that share the next stamp, of those that have none

    def gives_batches(self):
        return getattr(self.dataset, "__getitems__", None) is not None

    def stamps_each(self):
        return self.n_parts > 0 and not self.gives_batches()

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        row, asked, rings = (_open.get(self.board.path) or self.board.map())[:3]
        if asked:
            asked.note((i,))
        return self.in_turns([i], row, rings)[0]

    def timed(self, i, row, rings):
        """A sample whose parts are timed, if it has some."""
        global _weight
        if rings:
            rings.sample = sample_of(i)
        dlbench_places.put(True)
        _weight = self.turns.weight
        start_ns = monotonic_ns()
        try:
            out = self.dataset[i]
        except (Exception, SystemExit) as why:
            raise AtSample("sample %s" % (i,)) from why
        now_ns = monotonic_ns()
        _weight = 1
        row[GOT] += 1
        row[GOT_NS] += now_ns - start_ns
        if rings:  # a timeline has the parts of all samples
            rings.add(GETITEM, start_ns, now_ns)
            rings.sample = NO_SAMPLE  # what follows belongs to none
        else:
            self.turns.took(self.n_parts, now_ns - start_ns)
        return out

    def untimed(self, indices, row, rings):
        """Samples before one whose parts are timed. After an error the cell ends: nothing is put back."""
        global _weight
        dlbench_places.put(False)
        _weight = 0
        out, _ = self.some(indices, row, rings, monotonic_ns())
        _weight = 1
        self.turns.until -= len(out)
        return out

    def some(self, indices, row, rings, since_ns):
        """Samples that share a stamp, and when that was."""
        dataset, asked = self.dataset, iter(indices)
        try:
            out = [dataset[i] for i in asked]
        except (Exception, SystemExit) as why:
            raise AtSample("sample %s" % (indices[len(indices) - operator.length_hint(asked) - 1],)) from why
        now_ns = monotonic_ns()
        row[GOT] += len(out)
        row[GOT_NS] += now_ns - since_ns
        if rings:
            rings.sample = sample_of(indices[0]) if len(out) == 1 else NO_SAMPLE
            rings.add(GETITEM, since_ns, now_ns)
            rings.sample = NO_SAMPLE
        return out, now_ns

    def __getattr__(self, name):
        if name in ("dataset", "board", "n_parts", "turns", "watch", "n_together") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitems__(self, indices):
        """What DataLoader asks for since torch 2.0: a batch."""
        row, asked, rings = (_open.get(self.board.path) or self.board.map())[:3]
        if type(indices) is not list and not (self.gives_batches() and hasattr(indices, "__getitem__")):
            indices = list(indices)  # iterated once: that may draw them
        if asked:
            asked.note(indices)
        if not self.board.is_watched or not self.is_drawn(row, len(indices)):
            return self.batch(indices, row, rings)
        before, start_ns = dlbench_cpu.used(), monotonic_ns()
        out = self.batch(indices, row, rings)
        self.board.computed(row, before, monotonic_ns() - start_ns)
        return out

    def is_drawn(self, row, n):
        return row[GOT_NS] * n > row[GOT] * LONG_BATCH_NS and self.watch.is_drawn(row[GOT_NS])

    def batch(self, indices, row, rings):
        if self.gives_batches():
            return self.together(indices)
        return self.in_turns(indices, row, rings) if self.n_parts else self.grouped(indices, row, rings)

    def in_turns(self, indices, row, rings):
        turns = self.turns
        if turns.until >= len(indices) > 0 and len(indices) <= MOST_UNTIMED:  # most batches of quick samples
            return self.untimed(indices, row, rings)
        out, beside = [], (_open.get(self.board.path) or self.board.map())[4]
        while len(out) < len(indices):
            if turns.until == 0:
                out.append(self.timed(indices[len(out)], row, rings))
                beside[TIMED] += 1
            else:
                out += self.untimed(indices[len(out) : len(out) + min(turns.until, MOST_UNTIMED)], row, rings)
        return out

    def grouped(self, indices, row, rings):
        # A sample of tokens takes 10 us, and a stamp between samples about 5: a batch of them shares one. Slow ones are told of one by one,
        # and at the latest after MOST_TOGETHER where they become slow.
        out, n = [], self.n_together
        since_ns = monotonic_ns()
        while len(out) < len(indices):
            some, now_ns = self.some(indices[len(out) : len(out) + n], row, rings, since_ns)
            out += some
            n = min(2 * n, MOST_TOGETHER) if now_ns - since_ns < SLOW_NS else 1
            since_ns = now_ns
        self.n_together = n
        return out

    def together(self, indices):
        start_ns = monotonic_ns()
        try:
            out = self.dataset.__getitems__(indices)
        except (Exception, SystemExit) as why:
            raise at_samples(list(indices)) from why
        self.board.add(GETITEM, start_ns, len(indices))
        return out
