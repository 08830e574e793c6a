"""Of which batches there are time stamps: of quick ones, of one in several. Part of loaders/torch/dlbench_serve.py.

A stamp takes some microseconds, and an image of 100 x 100 pixels with five transforms 400. So batches are drawn, such that stamps take about
0.3% of the work. What is stamped of a drawn batch counts for the whole group that it is drawn from: whatever the order of the data, sums and counts
are right in the mean. There are three draws:

  whole   has the stamps of a batch: __getitem__ of its samples together, collate, its way to the loop. Each batch has, unless it is quick.
  parts   has those of its samples' parts; a large batch those of one piece of its samples, which is drawn in its turn.
  clocks  has the CPU's clocks read.

Each is drawn by itself: what the parts' stamps take lies within __getitem__, and few of the batches in which that is timed have these. If batches are
slow, each has all, and each sample a stamp of its own.
"""

import os
from random import Random
from typing import NamedTuple

# What stamps take behind other work, which leaves little of their code in a core's caches (tests of a Zen 4, in turns with none).
BATCH_NS = 50000  # those of a whole batch
PARTS_NS, STAMP_NS = 40000, 2000  # those of the parts of its samples: the first of them, and each
CLOCKS_NS = 80000  # reading the CPU's clocks before and behind a batch
MOST_FRAC = 0.003  # of the work: what the parts' are to take; those of whole batches as much, or half where they are drawn; the clocks half
LONG_NS = 1000000  # of a batch, whose computing is told from its waiting
MOST = 512  # batches of a group: what is rare counts as often, or not at all
PIECE = 32  # samples at the least
FIRST = 32  # samples of a process at the least, which show how long one takes: all are timed
REMEMBERED = 16  # batches with stamps: of those before, half
FOR_ONE = 64  # so many samples have come for each batch that one stands for: of few enough are timed, too
FOR_WHOLE, FOR_PARTS = 16, 4  # and so many batches

_random = Random()  # the user's own random numbers stay what they are
os.register_at_fork(after_in_child=_random.seed)


def is_quick(batch_ns):
    """Whether batches that take so long have no stamps but for drawn ones."""
    return BATCH_NS > MOST_FRAC * batch_ns


def times_each(n, n_parts, batch_ns):
    """Whether samples have stamps of their own."""
    return PARTS_NS + n * (1 + n_parts) * STAMP_NS <= MOST_FRAC * batch_ns


def pieces(n, n_parts, batch_ns):
    """Of how many pieces one has the parts timed, in a batch of so many samples."""
    return max(int(min((PARTS_NS + n * n_parts * STAMP_NS) / (MOST_FRAC * batch_ns), n // PIECE)), 1)


def one_of(stamps_ns, most_ns):
    """Of how many batches one is drawn, such that its stamps take no more than that of each."""
    return min(int(-(-stamps_ns // most_ns)), MOST)


class Kind(NamedTuple):
    """Of the data set."""

    n_parts: int = 0  # of a sample, that have stamps of their own
    gives_batches: bool = False  # by its __getitems__: it is not asked for pieces of them


class Draw:
    """Of each group of batches one, any of them. How large a group is, is known before it begins, and so is which one is drawn."""

    def __init__(self):
        self.weight = 0  # how many the present batch stands for; 0: it is not drawn
        self.left, self.size, self.behind = 1, 1, 0  # batches up to the next drawn one; of its group: all, and those behind it
        self.group = 1, 0  # the last one

    def come(self, n):
        """So many batches, the present one the last."""
        self.left -= n
        self.weight = 0
        if self.left == 0:
            self.weight, self.group = self.size, (self.size, self.behind)
            self.left, self.size, self.behind = 1 + self.behind, 1, 0

    def undo(self, n):
        """Those did not come."""
        if self.weight:
            self.left, self.size, self.behind = n, *self.group
        else:
            self.left += n

    def draw(self, size):
        """Behind the group of the present batch comes one of so many."""
        at = int(_random.random() * size)  # randrange() is three calls in Python
        self.left, self.size, self.behind = self.left + at, size, size - 1 - at


class Turns:
    """Of one process."""

    def __init__(self, is_full=False):
        self.is_full = is_full  # all batches have all stamps
        self.whole, self.parts, self.clocks = self.draws = Draw(), Draw(), Draw()
        self.between, self.passed = 0, 0  # batches before the next one that has stamps: all, and those that have come
        self.is_steady = False  # each batch has the stamps of a whole one
        self.n_pieces, self.each = 1, True  # whose parts are timed; whether samples have stamps of their own
        self.has_clocks = False  # the next drawn one is long enough for them
        # The present batch: whether it is begun, and has no stamps, or some; batches since the one that had some before it, with it; its samples, and
        # when they were asked for; whose it is, and what its worker was asked for (None: not known).
        self.is_passed, self.is_begun = False, False
        self.span, self.n, self.begun_ns = 1, 0, 0
        self.worker, self.indices = 0, None
        self.given = []  # its samples, if they are iterable data's
        self.n_samples, self.n_timed = 0, 0  # so far: all; those whose parts were timed
        self.n_whole, self.whole_ns = 0, 0  # batches so far
        self.seen_batches, self.seen_samples, self.seen_ns = 0, 0, 0  # of late

    def begin(self):
        """A batch. Whether it has stamps."""
        if self.passed < self.between:
            self.passed += 1
            self.is_passed = True
            return False
        self.is_begun, self.is_passed, self.span = True, False, self.passed + 1  # one that was passed may have been dropped
        self.between = self.passed = 0  # if it is never made, the next one has stamps
        for draw in self.draws:
            draw.come(self.span)
        return True

    def begin_alone(self, n):
        """The same of one of so many samples, of which nothing but what makes a batch of them has stamps."""
        self.n, self.begun_ns = n or 1, 0
        return self.begin()

    def undo(self):
        """It has no sample: the data are at their end."""
        if self.is_passed:
            self.passed -= 1
        else:
            for draw in self.draws:
                draw.undo(self.span)
            self.between = self.passed = self.span - 1
        self.is_begun = self.is_passed = False

    def reads_clocks(self):
        return self.clocks.weight > 0 and self.has_clocks

    def piece(self, n):
        """Of so many samples: from which to which the parts are timed, and for how many of the batch each stands."""
        n_pieces = max(min(self.n_pieces, n), 1)
        at = int(_random.random() * n_pieces)
        return at * n // n_pieces, (at + 1) * n // n_pieces, n_pieces

    def took(self, kind, work_ns):
        """The batch that has stamps is made, in so long. The next ones are drawn."""
        self.see(kind, work_ns)
        if self.is_steady and not self.parts.weight and not self.clocks.weight:  # what was drawn holds on
            return
        is_known = self.seen_samples >= FIRST
        watches = is_known and self.whole_ns >= LONG_NS * self.n_whole  # so far: of late would favour what comes just now
        self.n_pieces, self.each = 1, True
        sizes = self.sizes(kind, watches) if is_known else (1, 1, 1)
        if self.clocks.weight:
            self.has_clocks = watches
        for draw, size in zip(self.draws, sizes):
            if draw.weight:
                draw.draw(size)
        self.between = min(draw.left for draw in self.draws) - 1

    def see(self, kind, work_ns):
        """What batches take, less what their parts' stamps do: closely behind each other they take a fourth."""
        self.n_samples += self.span * self.n
        self.n_whole += self.whole.weight
        self.whole_ns += self.whole.weight * work_ns
        if self.seen_batches > REMEMBERED and self.seen_samples > 2 * FIRST:
            self.seen_batches, self.seen_samples, self.seen_ns = self.seen_batches / 2, self.seen_samples / 2, self.seen_ns / 2
        stamps_ns = self.n / self.n_pieces * kind.n_parts * STAMP_NS / 4 if self.parts.weight else 0
        self.seen_batches += 1
        self.seen_samples += self.n
        self.seen_ns += max(work_ns - stamps_ns, work_ns / 4)

    def sizes(self, kind, watches):
        """Of the next groups. Decides what is drawn within a batch."""
        n, n_parts, batch_ns = self.seen_samples / self.seen_batches, kind.n_parts, max(self.seen_ns / self.seen_batches, 1)
        most, most_parts = (max(self.n_samples // max(FOR_ONE, few * self.n), 1) for few in (FOR_WHOLE, FOR_PARTS))
        clocks = min(one_of(CLOCKS_NS, MOST_FRAC / 2 * batch_ns), most) if watches else MOST
        if self.is_full:
            return 1, 1, clocks
        self.is_steady, self.each = not is_quick(batch_ns), times_each(n, n_parts, batch_ns)
        whole = 1 if self.is_steady else min(one_of(BATCH_NS, MOST_FRAC / 2 * batch_ns), most)
        if self.each:
            return whole, 1, clocks
        if not kind.gives_batches:
            self.n_pieces = min(pieces(n, n_parts, batch_ns), max(self.n_samples // FOR_ONE, 1))
        parts = one_of(PARTS_NS + n / self.n_pieces * n_parts * STAMP_NS, MOST_FRAC * batch_ns)
        return whole, min(parts, most_parts) if n_parts or self.is_steady else MOST, clocks
