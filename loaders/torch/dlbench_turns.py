"""Of which samples the parts are timed: of quick ones one in several. Part of loaders/torch/serve.py.

A stamp takes some microseconds, and an image of 100 x 100 pixels with five transforms 400. So samples are taken in runs of four, and runs in
groups of 64 at the most. In each group one run is drawn. Its samples' parts are timed, and what they took counts for as many samples as the
group has runs: whatever the order of the data, sums and counts are right in the mean. Four single samples would take twice as much: it is
the first one that finds nothing of the stamps in a core's caches.
"""

import os
from random import Random

RUN = 4  # samples
RUN_NS, STAMP_NS = 80000, 2000  # about what a run takes whatever its parts, and each stamp in it (tests of a Zen 4, in turns with none)
MOST_FRAC = 0.005  # of the work: what the stamps of the parts are to take, as far as MOST allows it
MOST = 64  # runs in a group: what is rare counts as many times, or not at all
FIRST = 32  # samples of a process at the least, which show how long one takes: the parts of all are timed
REMEMBERED = 64  # timed samples: of those before, half
FOR_A_RUN = 64  # samples of a process so far, by each of which a group may have one run more: of few samples enough are timed, too

_random = Random()  # the user's own random numbers stay what they are
os.register_at_fork(after_in_child=_random.seed)


def is_drawn(frac):
    """With that probability."""
    return _random.random() < frac


def group_size(n_parts, n_samples, took_ns):
    """In runs, when so many samples took so long, and a sample has so many parts."""
    most_ns, stamps_ns = MOST_FRAC * took_ns, n_parts and (RUN_NS / RUN + n_parts * STAMP_NS) * n_samples
    if n_samples < FIRST or stamps_ns <= most_ns:
        return 1
    return MOST if stamps_ns >= MOST * most_ns else int(-(-stamps_ns // most_ns))


class Turns:
    """Of one process."""

    def __init__(self):
        self.weight, self.until, self.behind = 1, 0, 0  # runs of the group; samples before the drawn run, from now on; runs behind it
        self.left = 1  # samples of the drawn run
        self.n_seen, self.seen_ns = 0, 0
        self.n_samples = 0  # so far

    def took(self, n_parts, took_ns):
        """A sample of the drawn run is there, which took so long. With its last one the next group is drawn."""
        self.n_seen += 1
        self.seen_ns += took_ns
        self.left -= 1
        if self.left == 0:
            self.draw(n_parts)

    def draw(self, n_parts):
        self.n_samples += self.weight * RUN
        size = min(group_size(n_parts, self.n_seen, self.seen_ns), max(self.n_samples // FOR_A_RUN, 1))
        at = int(_random.random() * size)  # randrange() is three calls in Python
        self.weight, self.until, self.behind, self.left = size, (self.behind + at) * RUN, size - 1 - at, RUN
        if self.n_seen > REMEMBERED:
            self.n_seen //= 2
            self.seen_ns //= 2
