"""What the stamps of dlbench_stamps.py cost. Part of loaders/torch/serve.py.

A stamp closely behind another one takes 0.5 us. Between others' work, which leaves little of its code and data in a core's caches, it takes
3 to 10: that is what a cell with stamps differs by from one without.
"""

import time
from typing import Callable, NamedTuple

import dlbench_places
import dlbench_stamps
from dlbench_stamps import COLLATE, GC, GETITEM, LOAD, LOOP_GC, NEXT, STAGES, WATCHED, Call, Collections, Samples

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
    sample: Cost  # all that is done for one that has a stamp of its own; where those of a batch share one: for each of them
    share: bool  # whether the samples of a batch share a stamp
    groups: bool  # whether the parts of some samples count for others
    taken_out: frozenset  # stages whose wrappers are taken out (dlbench_places.py)

    def frac(self, window, n_timed, n_stretches):
        """What the stamps of a window took of the time of the workers' work; None: there was none. Where there are groups: of so many samples
        the parts were timed, and so many stretches of others had one stamp each."""
        work_ns = window[GETITEM][1] + window[COLLATE][1]
        if work_ns == 0:
            return None
        counts = {stage: n for stage, (n, _) in enumerate(window) if stage not in WATCHED}
        n_samples, n_collections, n_wrappers = counts.pop(GETITEM), counts.pop(GC) + counts.pop(LOOP_GC), 0
        if self.groups and n_samples:
            parts = {stage: counts.pop(stage) for stage in (LOAD, *range(len(STAGES), len(window)))}
            counts["parts"] = sum(parts.values()) * n_timed / n_samples
            n_wrappers = sum(n for stage, n in parts.items() if stage not in self.taken_out) * (1 - n_timed / n_samples)
            n_samples = n_timed + n_stretches
        n_others = sum(counts.values())
        between_ns = work_ns / max(n_others + n_wrappers + (0 if self.share else n_samples), 1)
        spent_ns = n_samples * self.sample.behind(APART_NS if self.share else between_ns) + n_others * self.stamp.behind(between_ns)
        spent_ns += n_wrappers * self.wrapper.behind(between_ns)
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


def of_samples(board, samples, batch_size):
    """Of a wrapped data set: a sample that has a stamp of its own, or a batch of those that share one."""
    bare = Together() if samples.gives_batches() else Nothing()
    stamped = Samples(board, bare, samples.n_parts)
    if stamped.stamps_each():
        row, _, rings = board.map()[:3]

        def drawn():
            dlbench_places.put(False)
            stamped.timed(0, row, rings)

        return Pair(drawn, lambda: bare[0])
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


def others():
    """Work that leaves as little in the caches as decoding and resizing an image does: much code, and memory here and there. It is done
    before the loop begins, and leaves nothing behind."""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    return lambda: compile(text, __file__, "exec")


def costs_of(pairs):
    functions = [one for pair in pairs for one in (pair.stamped, pair.bare)]
    n_calls = max(N_CLOSE // max(pair.n for pair in pairs), 1)
    close, apart = medians(functions, n_calls, lambda: None), medians(functions, 1, others())
    return [
        Cost(*(max(ns[2 * i] - ns[2 * i + 1], 0.0) / pair.n for ns in (close, apart)))
        for i, pair in enumerate(pairs)
    ]


def measured(board, dataset, batch_size):
    """By stamps that time nothing. They are taken back."""
    pairs, is_map = [of_stamp(board), of_collection(board), of_wrapper(board)], isinstance(dataset, Samples)
    if is_map:
        pairs.append(of_samples(board, dataset, batch_size))
    stamp, collection, wrapper, *sample = costs_of(pairs)
    board.clear()
    groups = is_map and dataset.stamps_each()
    return Costs(
        stamp,
        collection,
        wrapper,
        sample[0] if sample else stamp,
        share=is_map and not groups,
        groups=groups,
        taken_out=frozenset(dlbench_places.stages()),
    )
