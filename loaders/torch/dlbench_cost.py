"""What the stamps of dlbench_stamps.py cost. Part of loaders/torch/dlbench_serve.py.

A stamp closely behind another one takes 0.5 us. Between others' work, which leaves little of its code and data in a core's caches, it takes
3 to 15: that is what a cell with stamps differs by from one without.
"""

import itertools
import pickle
import time
from typing import Callable, NamedTuple

import dlbench_cpu
import dlbench_places
import dlbench_stamps
from dlbench_stamps import COLLATE, GC, GETITEM, LOAD, LOOP_GC, NEXT, STAGES, TRANSPORT, Call, Collate, Collections, Samples
from dlbench_streams import Reader, Stream
from dlbench_turns import MOST, Turns, times_each

APART_NS = 3000000  # of work between two stamps, behind which they find as little in the caches as behind others()
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
    wrapper: Cost  # of a part that is not timed, where the wrapper is not taken out
    passed: Cost  # all that is done for a batch without stamps
    whole: Cost  # for one that has stamps of its own alone
    drawn: Cost  # for one of whose samples the parts are timed, but for these
    sample: Cost  # for one sample with a stamp of its own
    clocks: Cost  # of CPUs: two readings
    n_parts: int  # of a sample
    groups: bool  # whether the parts of some samples count for others
    gives_batches: bool  # and samples have no stamps of their own
    taken_out: frozenset  # stages whose wrappers are taken out (dlbench_places.py)

    def frac(self, window, drawn):
        """What the stamps of a window took of the time of the workers' work; None: there was none, or __getitem__ was not timed. `drawn`:
        dlbench_stamps.Drawn."""
        (n_samples, samples_ns), (n_batches, collate_ns) = window[GETITEM], window[COLLATE]
        work_ns = samples_ns + collate_ns + window[TRANSPORT][1]
        if n_samples == 0 or work_ns == 0:
            return None
        spent_ns = self.of_parts(window, drawn, samples_ns / n_samples)
        each = not self.gives_batches and times_each(n_samples / max(n_batches, 1), self.n_parts, work_ns / max(n_batches, 1))
        for cost, n in (
            (self.passed, n_batches - drawn.whole),
            (self.whole, drawn.whole),
            (self.drawn, drawn.batches if self.groups else 0),
            (self.sample, n_samples if each else 0),
            (self.stamp, window[NEXT][0]),
            (self.collection, window[GC][0] + window[LOOP_GC][0]),
            (self.clocks, drawn.read),
        ):
            if n > 0:
                spent_ns += n * cost.behind(work_ns / n)
        return spent_ns / work_ns

    def of_parts(self, window, drawn, sample_ns):
        """Of the parts of samples that take so long: of those that are timed, of which the first of a batch comes behind other work, and of others."""
        counts = {stage: window[stage][0] for stage in (LOAD, *range(len(STAGES), len(window)))}
        n_samples = window[GETITEM][0]
        n_parts = sum(counts.values()) / n_samples
        n_wrapped = sum(n for stage, n in counts.items() if stage not in self.taken_out) / n_samples
        between_ns, n_first = sample_ns / max(n_parts, 1), min(drawn.batches, drawn.samples)
        first_ns, further_ns = self.stamp.behind(APART_NS), self.stamp.behind(between_ns)
        n_untimed = max(n_samples - drawn.samples, 0)
        return n_parts * (n_first * first_ns + (drawn.samples - n_first) * further_ns) + n_untimed * n_wrapped * self.wrapper.behind(between_ns)


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


def like(board, dataset):
    """What gives batches with stamps as the data set does, and what gives them without, of samples that take no time."""
    if isinstance(dataset, Stream):
        reader, none, size = Reader(board, itertools.repeat(None)), itertools.repeat(None), board.batch_size
        samples = itertools.chain.from_iterable(reader.batches())
        return lambda: [next(samples) for _ in range(size)], lambda: [next(none) for _ in range(size)]
    indices = [0] * board.batch_size
    if not isinstance(dataset, Samples):
        return lambda: indices, lambda: indices
    bare = Together() if dataset.gives_batches else Nothing()
    wrapped = Samples(board, bare)
    if dataset.gives_batches:
        return lambda: wrapped.__getitems__(indices), lambda: bare.__getitems__(indices)
    return lambda: wrapped.__getitems__(indices), lambda: [bare[i] for i in indices]


def passes(turns):
    turns.between, turns.passed = 1, 0


def comes(name):
    def draw(turns):
        turns.between, turns.passed, turns.each = 0, 0, False
        turns.whole.left = turns.parts.left = turns.clocks.left = MOST
        getattr(turns, name).left = 1

    return draw


def of_batch(board, dataset, draw):
    """Of one whose turn it makes. It is sent as workers send it."""
    collate, (stamped, bare), turns = Collate(board, COLLATE, same), like(board, dataset), board.turns

    def sent():
        draw(turns)
        pickle.loads(pickle.dumps(collate(stamped())))

    return Pair(sent, lambda: pickle.loads(pickle.dumps(same(bare()))), max(N_CLOSE // board.batch_size, 1))


def of_sample(board):
    """Of one with a stamp of its own."""
    bare, (row, rings, _, _) = Nothing(), board.map()
    wrapped = Samples(board, bare)
    return Pair(lambda: wrapped.timed(0, 1, row, rings), lambda: bare[0])


def of_clocks(board):
    return Pair(lambda: board.computed(dlbench_cpu.used(), 0, 0), lambda: None)


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


def measured(board, dataset):
    """By stamps that time nothing. They are taken back."""
    size, board.batch_size = board.batch_size, min(board.batch_size, N_TOGETHER)
    pairs = [of_stamp(board), of_collection(board), of_wrapper(board)]
    pairs += [of_batch(board, dataset, draw) for draw in (passes, comes("whole"), comes("parts"))]
    costs = costs_of([*pairs, of_sample(board), of_clocks(board)])
    times, board.batch_size = size / board.batch_size, size
    costs[3:6] = [Cost(times * one.close, times * one.apart) for one in costs[3:6]]
    board.clear()
    board.turns = Turns(board.turns.is_full)
    dlbench_places.put(True)
    groups = isinstance(dataset, (Samples, Stream)) and board.kind.n_parts > 0
    return Costs(*costs, board.kind.n_parts, groups, board.kind.gives_batches, frozenset(dlbench_places.stages()))
