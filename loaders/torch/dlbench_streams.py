"""Stamps (dlbench_stamps.py) of iterable data. Part of loaders/torch/serve.py.

DataLoader asks for the samples of a batch one behind the other, and then makes the batch. So those that share a stamp are read at once, as far as
their batch goes, and given from a queue, which does not keep them: between two of them there is no call of Python's.
"""

from collections import deque
from itertools import chain, islice, repeat, starmap
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
        return chain.from_iterable(Reader(self).groups())

    def __len__(self):
        return len(self.dataset)

    def __getattr__(self, name):
        if name in ("dataset", "board", "n_parts", "turns", "watch", "n_together", "each_has") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


class Reader:
    """An epoch of a process."""

    def __init__(self, stream):
        self.stream = stream
        self.samples = map(next, repeat(iter(stream.dataset)))  # islice() would ask what it is given for an iterator anew
        self.row, _, self.rings, _, self.beside = stream.board.map()
        self.n_before = self.row[GOT]
        self.n_parts = self.parts()  # of all samples so far

    def parts(self):
        return sum(self.row[2 * stage] for stage in PARTS)

    def groups(self):
        """Samples that share a stamp, together."""
        some, read = deque(), self.in_turns if self.stream.n_parts else self.together
        left = of_batch = self.stream.board.batch_size  # samples until the batch is whole
        try:
            while True:
                most = read(some, left)
                n = len(some)
                yield starmap(some.popleft, repeat((), n))
                if n < most:
                    break
                left = left - most or of_batch
            dlbench_places.put(True)
        except (Exception, SystemExit) as why:
            raise AtSample("sample %d of a worker's stream" % (self.row[GOT] + len(some) - self.n_before)) from why

    def together(self, some, left):
        """Those that have no parts, into the queue, which has those before an error, too. How many it wanted."""
        stream = self.stream
        most = 1 if self.rings else min(stream.n_together, left)
        took_ns = self.read(some, most)
        stream.n_together = min(2 * stream.n_together, MOST_TOGETHER) if took_ns < SLOW_NS else 1
        return most

    def in_turns(self, some, left):
        """The same of those that have parts, whose parts may be timed."""
        turns = self.stream.turns
        is_timed = turns.until == 0
        most = 1 if is_timed else min(turns.until, MOST_UNTIMED, left)
        dlbench_places.put(is_timed)
        dlbench_stamps._weight = turns.weight if is_timed else 0
        try:
            took_ns = self.read(some, most)
        finally:
            dlbench_stamps._weight = 1
        if is_timed:
            self.timed(len(some), took_ns)
        else:
            turns.until -= len(some)
        return most

    def timed(self, n, took_ns):
        """A sample whose parts were timed, or the end. Of the first ones it is seen whether each has some, but for the very first: that may fill
        a buffer. If one has none, those of all samples are timed: a few of the many without would say too little."""
        stream, turns = self.stream, self.stream.turns
        self.beside[TIMED] += n
        if n == 0 or self.rings or not stream.each_has:  # a timeline has the parts of all samples
            return
        if turns.n_seen < FIRST:
            before, self.n_parts = self.n_parts, self.parts()
            stream.each_has = turns.n_seen == 0 or self.n_parts > before
        if stream.each_has:
            turns.took(stream.n_parts, took_ns)

    def read(self, some, most):
        """Reads samples into the queue. How long that took."""
        stream, row, used = self.stream, self.row, None
        if stream.board.is_watched and row[GOT_NS] > row[GOT] * LONG_SAMPLE_NS and stream.watch.is_drawn(row[GOT_NS]):
            used = dlbench_cpu.used()
        since_ns = monotonic_ns()
        some.extend(islice(self.samples, most))
        now_ns = monotonic_ns()
        if some:
            row[GOT] += len(some)
            row[GOT_NS] += now_ns - since_ns
            if self.rings:
                self.rings.add(GETITEM, since_ns, now_ns)
            if used:
                stream.board.computed(row, used, now_ns - since_ns)
        return now_ns - since_ns
