"""What the stamps of dlbench_stamps.py cost. Part of loaders/torch/serve.py.

A stamp alone takes 1 us. Between others' work, which leaves nothing of its code and data in the CPU's caches, it takes 10: that is what a
cell with stamps differs by from one without.
"""

import gc
import statistics
import time
from typing import Callable, NamedTuple

from dlbench_stamps import COLLATE, GC, GETITEM, LOOP_GC, NEXT, WATCHED, Collections, Samples

APART_NS = 100000  # of work between two stamps, which then find their caches empty
N_CLOSE, N_APART = 4000, 24
OTHERS = bytearray(4 << 20)  # copied between two calls: more than a core's own caches hold, and between two of one function more than all do


class Cost(NamedTuple):
    """In nanoseconds: with little and with much work in between."""

    close: float
    apart: float


class Costs(NamedTuple):
    """Of a stamp; of what is done for a sample; of the stamps of a collection of garbage."""

    stamp: Cost
    sample: Cost
    collection: Cost

    def frac(self, window):
        """What the stamps of a window took of the time of the workers' work; None: there was none."""
        work_ns = window[GETITEM][1] + window[COLLATE][1]
        of = {GETITEM: self.sample, GC: self.collection, LOOP_GC: self.collection}
        spent_ns = 0
        for stage, (n, _) in enumerate(window):
            if stage not in WATCHED:
                cost = of.get(stage, self.stamp)
                spent_ns += n * (cost.apart if work_ns > n * APART_NS else cost.close)
        return spent_ns / work_ns if work_ns else None


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
    n: int


def of_stamp(board):
    return Pair(lambda: board.add(NEXT, time.monotonic_ns()), lambda: None, 1)


def of_samples(board, samples, batch_size):
    """Of a wrapped data set: its batches, or, where each sample has stamps, one of those."""
    gives_batches = samples.gives_batches()
    bare, indices = Together() if gives_batches else Nothing(), [0] * min(batch_size, N_CLOSE)
    stamped = Samples(board, bare, samples.has_parts)
    if samples.has_parts:
        rings = board.map()[2]
        return Pair(lambda: stamped.one(0, rings), lambda: bare[0], 1)
    stamped.__getitems__(indices)  # from then on it is known how many share a stamp
    as_it_is = (lambda: bare.__getitems__(indices)) if gives_batches else (lambda: [bare[i] for i in indices])
    return Pair(lambda: stamped.__getitems__(indices), as_it_is, len(indices))


def of_collection(board):
    """Of next to nothing."""
    stamps = Collections(board)

    def stamped():
        gc.callbacks.append(stamps)
        gc.collect(0)
        gc.callbacks.remove(stamps)

    def bare():
        gc.callbacks.append(stamps)
        gc.callbacks.remove(stamps)
        gc.collect(0)

    return Pair(stamped, bare, 1)


def close_ns(function, n):
    start_ns = time.monotonic_ns()
    for _ in range(n):
        function()
    return (time.monotonic_ns() - start_ns) / n


def apart_ns(functions):
    took_ns = [[] for _ in functions]
    for _ in range(N_APART):
        for i, function in enumerate(functions):
            bytes(OTHERS)
            start_ns = time.monotonic_ns()
            function()
            took_ns[i].append(time.monotonic_ns() - start_ns)
    return [statistics.median(one) for one in took_ns]


def measured(board, dataset, batch_size):
    """By stamps that time nothing. They are taken back."""
    pairs = [of_stamp(board), of_collection(board)]
    if isinstance(dataset, Samples):
        pairs.append(of_samples(board, dataset, batch_size))
    apart, costs = apart_ns([one for pair in pairs for one in (pair.stamped, pair.bare)]), []
    for i, (stamped, bare, n) in enumerate(pairs):
        n_calls = max(N_CLOSE // n, 1)
        differ_ns = close_ns(stamped, n_calls) - close_ns(bare, n_calls), apart[2 * i] - apart[2 * i + 1]
        costs.append(Cost(*(max(ns / n, 0.0) for ns in differ_ns)))
    board.clear()
    stamp, collection, *sample = costs
    # What a batch shares comes behind other work, however quick its samples are.
    own = stamp if not sample else sample[0] if dataset.has_parts else Cost(sample[0].apart, sample[0].apart)
    return Costs(stamp, own, collection)
