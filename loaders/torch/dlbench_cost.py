"""What the stamps of dlbench_stamps.py cost. Part of loaders/torch/serve.py.

A stamp closely behind another one takes 1 us. Between others' work, which leaves little of its code and data in a core's caches, it takes 4
to 20: that is what a cell with stamps differs by from one without.
"""

import mmap
import time
from typing import Callable, NamedTuple

from dlbench_stamps import COLLATE, GC, GETITEM, LOOP_GC, NEXT, WATCHED, Call, Collections, Samples

APART_NS = 400000  # of work between two stamps, behind which they find as little in the caches as behind OTHERS
OTHERS = 4 << 20  # bytes that are copied
N_ROUNDS, N_CLOSE, N_TOGETHER = 24, 100, 4096


class Cost(NamedTuple):
    """In nanoseconds: closely behind another one, and behind other work."""

    close: float
    apart: float

    def behind(self, work_ns):
        return self.close + (self.apart - self.close) * min(work_ns / APART_NS, 1)


class Costs(NamedTuple):
    stamp: Cost
    collection: Cost  # of garbage: its two stamps
    sample: Cost  # all that is done for one
    share: bool  # whether the samples of a batch share a stamp

    def frac(self, window):
        """What the stamps of a window took of the time of the workers' work; None: there was none."""
        work_ns = window[GETITEM][1] + window[COLLATE][1]
        if work_ns == 0:
            return None
        counts = {stage: n for stage, (n, _) in enumerate(window) if stage not in WATCHED}
        n_samples, n_collections = counts.pop(GETITEM), counts.pop(GC) + counts.pop(LOOP_GC)
        n_others = sum(counts.values())
        between_ns = work_ns / max(n_others + (0 if self.share else n_samples), 1)
        spent_ns = n_samples * self.sample.behind(APART_NS if self.share else between_ns) + n_others * self.stamp.behind(between_ns)
        if n_collections:
            spent_ns += n_collections * self.collection.behind(work_ns / n_collections)
        return spent_ns / work_ns


class Nothing:
    """A data set whose samples take no time."""

    def __getitem__(self, i):
        return None


class Together(Nothing):
    """The same, of which a batch is asked for at once."""

    def __getitems__(self, indices):
        return [None] * len(indices)


class Pair(NamedTuple):
    """A function with stamps, and one that does the same without; how many things each does."""

    stamped: Callable
    bare: Callable
    n: int = 1


def same(x):
    return x


def of_stamp(board):
    call = Call(board, NEXT, same)
    return Pair(lambda: call(0), lambda: same(0))


def of_collection(board):
    stamps = Collections(board)

    def stamped():
        stamps("start", {})
        stamps("stop", {})

    return Pair(stamped, lambda: None)


def of_samples(board, samples, batch_size):
    """Of a wrapped data set: a sample that has a stamp of its own, or a batch of those that share one."""
    bare = Together() if samples.gives_batches() else Nothing()
    stamped = Samples(board, bare, samples.has_parts)
    if stamped.stamps_each():
        rings = board.map()[2]
        return Pair(lambda: stamped.one(0, rings), lambda: bare[0])
    indices = [0] * min(batch_size, N_TOGETHER)
    stamped.__getitems__(indices)  # from then on it is known how many share a stamp
    if samples.gives_batches():
        return Pair(lambda: stamped.__getitems__(indices), lambda: bare.__getitems__(indices), len(indices))
    return Pair(lambda: stamped.__getitems__(indices), lambda: [bare[i] for i in indices], len(indices))


def medians(functions, n_calls, between):
    """Of so many calls, in turns."""
    took_ns = [[] for _ in functions]
    for _ in range(N_ROUNDS):
        for i, function in enumerate(functions):
            between()
            start_ns = time.monotonic_ns()
            for _ in range(n_calls):
                function()
            took_ns[i].append((time.monotonic_ns() - start_ns) / n_calls)
    return [sorted(one)[N_ROUNDS // 2] for one in took_ns]


def costs_of(pairs):
    functions = [one for pair in pairs for one in (pair.stamped, pair.bare)]
    with mmap.mmap(-1, OTHERS) as source, mmap.mmap(-1, OTHERS) as target:  # no part of the heap, which batches use
        with memoryview(source) as source, memoryview(target) as target:

            def work():
                target[:] = source

            n_calls = max(N_CLOSE // max(pair.n for pair in pairs), 1)
            close, apart = medians(functions, n_calls, lambda: None), medians(functions, 1, work)
    return [
        Cost(*(max(ns[2 * i] - ns[2 * i + 1], 0.0) / pair.n for ns in (close, apart)))
        for i, pair in enumerate(pairs)
    ]


def measured(board, dataset, batch_size):
    """By stamps that time nothing. They are taken back."""
    pairs, is_map = [of_stamp(board), of_collection(board)], isinstance(dataset, Samples)
    if is_map:
        pairs.append(of_samples(board, dataset, batch_size))
    stamp, collection, *sample = costs_of(pairs)
    board.clear()
    return Costs(stamp, collection, sample[0] if sample else stamp, is_map and not dataset.stamps_each())
