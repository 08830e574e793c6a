"""What the stamps of dlbench_stamps.py cost. Part of loaders/torch/serve.py.

A stamp closely behind another one takes 0.5 us. Between others' work, which leaves little of its code and data in a core's caches, it takes
3 to 10: that is what a cell with stamps differs by from one without.
"""

import itertools
import time
from typing import Callable, NamedTuple

import dlbench_cpu
import dlbench_places
import dlbench_stamps
from dlbench_stamps import COLLATE, GC, GETITEM, LOAD, LOOP_GC, NEXT, STAGES, WATCHED, Call, Collate, Collections, Samples
from dlbench_streams import Stream
from dlbench_turns import RUN

APART_NS = 400000  # of work between two stamps, behind which they find as little in the caches as behind others()
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
    wrapper: Cost  # of a part that is not timed (dlbench_turns.py), where the wrapper is not taken out
    batch: Cost  # all that is done for one whose samples share a stamp
    sample: Cost  # all that is done for one whose parts are timed, but for these
    clocks: Cost  # of CPUs: two readings
    groups: bool  # whether the parts of some samples count for others
    taken_out: frozenset  # stages whose wrappers are taken out (dlbench_places.py)

    def frac(self, window, n_timed, n_read):
        """What the stamps of a window took of the time of the workers' work; None: there was none. Where there are groups, of so many samples
        the parts were timed. Before and behind so many pieces of work the CPU's clocks were read."""
        work_ns = window[GETITEM][1] + window[COLLATE][1]
        if work_ns == 0:
            return None
        counts = {stage: n for stage, (n, _) in enumerate(window) if stage not in WATCHED}
        n_samples, n_batches, n_collections = counts.pop(GETITEM), counts.pop(COLLATE), counts.pop(GC) + counts.pop(LOOP_GC)
        spent_ns = 0
        if self.groups and n_samples:
            parts = {stage: counts.pop(stage) for stage in (LOAD, *range(len(STAGES), len(window)))}
            spent_ns = self.parts_ns(parts, window[GETITEM][1] / n_samples, n_samples, n_timed)
        n_others = sum(counts.values())
        spent_ns += n_others * self.stamp.behind(work_ns / max(n_others, 1))
        for cost, n in (self.batch, n_batches), (self.collection, n_collections), (self.clocks, n_read):
            if n:
                spent_ns += n * cost.behind(work_ns / n)
        return spent_ns / work_ns

    def parts_ns(self, parts, sample_ns, n_samples, n_timed):
        """Of the parts of samples that take so long. Where those of some are timed, the first one of each run comes behind other work."""
        n_parts, n_first = sum(parts.values()) / n_samples, n_timed / RUN if n_timed < n_samples else 0
        n_wrappers = (n_samples - n_timed) * sum(n for stage, n in parts.items() if stage not in self.taken_out) / n_samples

        def timed(between_ns):
            return self.sample.behind(between_ns) + n_parts * self.stamp.behind(between_ns)

        between_ns = sample_ns / (1 + n_parts)
        return n_first * timed(APART_NS) + (n_timed - n_first) * timed(between_ns) + n_wrappers * self.wrapper.behind(between_ns)


class Nothing:
    """A data set whose samples take no time."""

    def __getitem__(self, i):
        return None


class Together(Nothing):
    """The same, of which a batch is asked for at once."""

    def __getitems__(self, indices):
        return [None] * len(indices)


class Pair(NamedTuple):
    """A function with stamps, and one that does the same without."""

    stamped: Callable
    bare: Callable
    n_calls: int = N_CLOSE  # closely behind each other


def same(x):
    return x


def of_stamp(board):
    call = Call(board, NEXT, same)
    return Pair(lambda: call(0), lambda: same(0))


def of_wrapper(board):
    """Of one that times nothing."""

    def weightless(function):
        def call():
            dlbench_stamps._weight = 0
            function(0)
            dlbench_stamps._weight = 1

        return call

    return Pair(weightless(Call(board, NEXT, same)), weightless(same))


def of_collection(board):
    stamps = Collections(board)

    def stamped():
        stamps("start", {})
        stamps("stop", {})

    return Pair(stamped, lambda: None)


def none_of(board, stream):
    """Its like, whose samples take no time."""
    like = Stream(board, itertools.repeat(None), stream.n_parts)
    return like, iter(like)


def of_batch(board, dataset, batch_size):
    """Of one whose samples share a stamp."""
    indices, collate = [0] * min(batch_size, N_TOGETHER), Collate(board, COLLATE, same)
    n_calls = max(N_CLOSE // batch_size, 1)
    if isinstance(dataset, Stream):
        none, (stream, samples) = itertools.repeat(None), none_of(board, dataset)

        def stamped():
            stream.turns.until = stream.n_together = len(indices)
            collate([next(samples) for _ in indices])

        return Pair(stamped, lambda: same([next(none) for _ in indices]), n_calls)
    if not isinstance(dataset, Samples):
        return Pair(lambda: collate(indices), lambda: same(indices), n_calls)
    bare = Together() if dataset.gives_batches() else Nothing()
    wrapped = Samples(board, bare, dataset.n_parts)

    def stamped():
        wrapped.turns.until = wrapped.n_together = len(indices)
        collate(wrapped.__getitems__(indices))

    if dataset.gives_batches():
        return Pair(stamped, lambda: same(bare.__getitems__(indices)), n_calls)
    return Pair(stamped, lambda: same([bare[i] for i in indices]), n_calls)


def of_sample(board, dataset):
    """Of one whose parts are timed."""
    if isinstance(dataset, Stream):
        none, (stream, samples) = itertools.repeat(None), none_of(board, dataset)

        def stamped():
            dlbench_places.put(False)
            stream.turns.until = 0
            next(samples)

        return Pair(stamped, lambda: next(none))
    bare = Nothing()
    wrapped = Samples(board, bare, dataset.n_parts)
    row, _, rings = board.map()[:3]

    def stamped():
        dlbench_places.put(False)
        wrapped.timed(0, row, rings)

    return Pair(stamped, lambda: bare[0])


def of_clocks(board):
    row = board.map()[0]
    return Pair(lambda: board.computed(row, dlbench_cpu.used(), 0), lambda: None)


def medians(functions, numbers, between):
    """Of so many calls of each, in turns."""
    took_ns = [[] for _ in functions]
    for _ in range(N_ROUNDS):
        for function, n_calls, found in zip(functions, numbers, took_ns):
            between()
            start_ns = time.monotonic_ns()
            for _ in range(n_calls):
                function()
            found.append((time.monotonic_ns() - start_ns) / n_calls)
    return [sorted(one)[N_ROUNDS // 2] for one in took_ns]


def others():
    """Work that leaves as little in the caches as decoding and resizing an image does: much code, and memory here and there. It is done
    before the loop begins, and leaves nothing behind."""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    return lambda: compile(text, __file__, "exec")


def costs_of(pairs):
    functions = [one for pair in pairs for one in (pair.stamped, pair.bare)]
    close = medians(functions, [pair.n_calls for pair in pairs for _ in range(2)], lambda: None)
    apart = medians(functions, [1] * len(functions), others())
    return [Cost(*(max(ns[2 * i] - ns[2 * i + 1], 0.0) for ns in (close, apart))) for i in range(len(pairs))]


def measured(board, dataset, batch_size):
    """By stamps that time nothing. They are taken back."""
    groups = isinstance(dataset, (Samples, Stream)) and dataset.stamps_each()
    pairs = [of_stamp(board), of_collection(board), of_wrapper(board), of_clocks(board), of_batch(board, dataset, batch_size)]
    if groups:
        pairs.append(of_sample(board, dataset))
    stamp, collection, wrapper, clocks, batch, *sample = costs_of(pairs)
    times = max(batch_size / N_TOGETHER, 1)
    batch = Cost(times * batch.close, times * batch.apart)
    board.clear()
    dlbench_places.put(True)
    return Costs(stamp, collection, wrapper, batch, sample[0] if sample else None, clocks, groups, frozenset(dlbench_places.stages()))
