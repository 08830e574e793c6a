"""Stamps (dlbench_stamps.py) of iterable data. Part of loaders/torch/dlbench_serve.py.

DataLoader asks for the samples of a batch one behind the other, and then makes the batch. So they are read at once, as far as their batch goes,
and given from a list: between two of them there is no call of Python's. The list is emptied before the batch is made: it does not keep them.
"""

from itertools import chain, islice, repeat
from time import monotonic_ns
from types import GeneratorType

import dlbench_cpu
from dlbench_errors import AtSample
from dlbench_stamps import GETITEM, GOT, GOT_NS, MOST_TOGETHER, garbage_ns, put, stands_for
from dlbench_turns import FIRST
from torch.utils.data import IterableDataset


class Stream(IterableDataset):
    """An iterable data set with stamps."""

    OWN = ("board", "dataset")

    def __init__(self, board, dataset):
        self.board, self.dataset = board, dataset

    def __iter__(self):
        put(1)
        return chain.from_iterable(Reader(self.board, iter(self.dataset)).batches())

    def __len__(self):
        return len(self.dataset)

    def __getattr__(self, name):
        if name in self.OWN or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


class Reader:
    """An epoch of a process."""

    def __init__(self, board, samples):
        # islice() asks what it is given for an iterator, which some begin anew at, and others do not have.
        self.samples = samples if type(samples) is GeneratorType else map(next, repeat(samples))
        self.board, self.turns, self.some = board, board.turns, []
        self.row, self.rings = board.map()[:2]

    def batches(self):
        size, some, turns, has_parts = self.board.batch_size, self.some, self.turns, self.board.kind.n_parts > 0
        samples, n, n_given = self.samples, size, 0
        while n == size:
            try:
                if turns.passed == turns.between:
                    turns.begin()
                    self.stamped(size)
                else:  # a quick batch costs as little as possible
                    turns.passed += 1
                    turns.is_passed = True
                    if has_parts:
                        put(0)
                    if size <= MOST_TOGETHER:
                        some.extend(islice(samples, size))
                    else:
                        self.take(size)
            except (Exception, SystemExit) as why:
                raise AtSample("sample %d of a worker's stream" % (n_given + len(some))) from why
            n = len(some)
            n_given += n
            if n == 0:
                turns.undo()
            turns.given = some
            yield some
            some.clear()  # of what no batch was made
        put(1)

    def take(self, n):
        """So many samples, unless there are fewer. How many. A large batch may become slow."""
        before = len(self.some)
        for at in range(0, n, MOST_TOGETHER):
            most = min(n, at + MOST_TOGETHER)
            self.some.extend(islice(self.samples, most - at))
            if len(self.some) - before < most:
                break
            if most < n:
                self.board.beat()
        return len(self.some) - before

    def stamped(self, size):
        """A batch that has some stamps."""
        board, turns = self.board, self.turns
        clocks = dlbench_cpu.used() if turns.reads_clocks() else None
        before_ns, turns.begun_ns = garbage_ns(), monotonic_ns()
        if turns.each:
            put(turns.parts.weight)
            n = size
            while n > 0 and self.timed():
                n -= 1
        else:
            self.in_pieces(size)
            self.add(turns.begun_ns, len(self.some), garbage_ns() - before_ns)
        turns.n = len(self.some)
        if clocks and turns.n:
            board.computed(clocks, monotonic_ns() - turns.begun_ns, garbage_ns() - before_ns)

    def add(self, since_ns, n, collected_ns=0):
        now_ns, weight = monotonic_ns(), self.turns.whole.weight
        if n > 0:
            self.row[GOT] += weight * n
            self.row[GOT_NS] += stands_for(weight, now_ns - since_ns, collected_ns)
            if self.rings:
                self.rings.add(GETITEM, since_ns, now_ns)

    def in_pieces(self, size):
        """Of one of which the parts are timed, if the batch is drawn."""
        turns = self.turns
        put(0)
        if not turns.parts.weight:
            self.take(size)
            return
        first, last, stands_for = turns.piece(size)
        if self.take(first) < first:  # what has ended is not asked again
            return
        put(turns.parts.weight * stands_for)
        n = self.take(last - first)
        put(0)
        self.board.count_timed(n)
        if n == last - first:
            self.take(size - last)

    def timed(self):
        """A sample with a stamp of its own. Whether there was one. Of the first ones it is seen whether each has parts, but for the very first,
        which may fill a buffer. If one has none, those of all samples are timed: the work of many comes with one, and a few say too little."""
        turns, looks = self.turns, self.board.kind.n_parts and 0 < self.turns.n_timed < FIRST
        before, since_ns = self.board.parts(0) if looks else 0, monotonic_ns()
        before_ns = garbage_ns()
        n = self.take(1)
        self.add(since_ns, n, garbage_ns() - before_ns)
        self.board.count_timed(n)
        if looks and n and self.board.parts(0) == before:
            turns.is_full = True
        return n > 0
