"""Stamps (dlbench_stamps.py) of iterable data. Part of loaders/torch/serve.py.

DataLoader asks for the samples of a batch one behind the other, and then makes the batch. So quick ones share a stamp, which they have before
the batch is made.
"""

from itertools import islice
from time import monotonic_ns

import dlbench_cpu
import dlbench_places
import dlbench_stamps
from dlbench_errors import AtSample
from dlbench_stamps import GETITEM, GOT, GOT_NS, LOAD, MOST_TOGETHER, MOST_UNTIMED, SLOW_NS, STAGES, TIMED, N
from dlbench_turns import FIRST, Turns
from torch.utils.data import IterableDataset

LONG_SAMPLE_NS = 100000  # whose computing is told from its waiting


PARTS = (LOAD, *range(len(STAGES), N))


class Stream(IterableDataset):
    """An iterable data set with stamps. `n_parts`: of a sample, that have stamps of their own."""

    def __init__(self, board, dataset, n_parts=0):
        self.board, self.dataset, self.n_parts = board, dataset, n_parts
        self.turns, self.watch = Turns(), dlbench_cpu.Watch()
        self.n_together = 1  # samples that share the next stamp, of those that have no parts
        self.each_has = True  # parts of its own, as far as is known: else the work of many comes with one

    def stamps_each(self):
        return self.n_parts > 0

    def __iter__(self):
        return Reader(self).read()

    def __len__(self):
        return len(self.dataset)

    def __getattr__(self, name):
        if name in ("dataset", "board", "n_parts", "turns", "watch", "n_together", "each_has") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


class Reader:
    """An epoch of a process."""

    def __init__(self, stream):
        self.stream, self.samples = stream, iter(stream.dataset)
        self.row, _, self.rings, _, self.beside = stream.board.map()
        self.n_before = self.row[GOT]
        self.n, self.most = 0, 1  # samples since the last stamp; with how many there is the next
        self.is_timed, self.since_ns, self.used = False, 0, None
        self.n_parts = self.parts()  # of all samples so far

    def parts(self):
        return sum(self.row[2 * stage] for stage in PARTS)

    def read(self):
        """The samples. A generator: to enter it, once for each sample, takes less than to call a method."""
        try:
            while True:
                self.begin()
                for one in islice(self.samples, self.most):
                    self.n += 1
                    if self.n == self.most:
                        self.stamp()
                    yield one
                    if self.n == 0:  # they have their stamp, from here or from who made the batch
                        break
                else:
                    break
            if self.n > 0:
                self.stamp()
            self.end()
            dlbench_places.put(True)
        except (Exception, SystemExit) as why:
            self.end()
            raise AtSample("sample %d of a worker's stream" % (self.row[GOT] + self.n - self.n_before)) from why

    def begin(self):
        """Samples that share a stamp."""
        stream, turns, row = self.stream, self.stream.turns, self.row
        if stream.n_parts:
            self.is_timed = turns.until == 0
            self.most = min(turns.until, MOST_UNTIMED) or 1
            dlbench_places.put(self.is_timed)
            dlbench_stamps._weight = turns.weight if self.is_timed else 0
        else:
            self.most = 1 if self.rings else stream.n_together
        if stream.board.is_watched and row[GOT_NS] > row[GOT] * LONG_SAMPLE_NS and stream.watch.is_drawn(row[GOT_NS]):
            self.used = dlbench_cpu.used()
        dlbench_stamps._reader = self
        self.since_ns = monotonic_ns()

    def stamp(self):
        now_ns = monotonic_ns()
        took_ns, stream, row = now_ns - self.since_ns, self.stream, self.row
        row[GOT] += self.n
        row[GOT_NS] += took_ns
        if self.rings:  # a timeline has the parts of all samples
            self.rings.add(GETITEM, self.since_ns, now_ns)
        if self.is_timed:
            self.beside[TIMED] += 1
            if not self.rings and stream.each_has:
                self.took(took_ns)
        elif stream.n_parts:
            stream.turns.until -= self.n
        else:
            stream.n_together = min(2 * self.most, MOST_TOGETHER) if took_ns < SLOW_NS else 1
        if self.used:
            stream.board.computed(row, self.used, took_ns)
        self.n = 0
        self.end()

    def took(self, took_ns):
        """A sample whose parts were timed. Of the first ones it is seen whether each has some, but for the very first: that may fill a buffer.
        If one has none, those of all samples are timed: a few of the many without would say too little."""
        turns = self.stream.turns
        if turns.n_seen < FIRST:
            before, self.n_parts = self.n_parts, self.parts()
            self.stream.each_has = turns.n_seen == 0 or self.n_parts > before
        if self.stream.each_has:
            turns.took(self.stream.n_parts, took_ns)

    def end(self):
        """Of samples that share a stamp."""
        dlbench_stamps._reader, self.used = None, None
        dlbench_stamps._weight = 1
