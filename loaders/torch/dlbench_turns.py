"""Of which samples the parts are timed: of quick ones of a map-style data set one in several. Part of loaders/torch/serve.py.

A stamp takes some microseconds, and an image of 100 x 100 pixels with five transforms 400. So samples are taken in groups, of 16 at the most. In
each one sample is drawn. Its parts are timed, and what they took counts for as many samples as the group has: whatever the order of the
data, sums and counts are right in the mean.
"""

import os
from random import Random

STAMP_NS = 4000  # about what one takes between others' work (dlbench_cost.py)
MOST_FRAC = 0.005  # of the work: what the stamps of the parts are to take, as far as MOST allows it
MOST = 16  # in a group: what is rare counts as many times, or not at all
FIRST = 32  # samples of a process, which show how long one takes: the parts of all are timed
REMEMBERED = 64  # drawn samples: of those before, half

_random = Random()  # the user's own random numbers stay what they are
os.register_at_fork(after_in_child=_random.seed)


def group_size(n_parts, n_samples, took_ns):
    """When so many samples took so long, and a sample has so many parts."""
    most_ns, stamps_ns = MOST_FRAC * took_ns, n_parts * STAMP_NS * n_samples
    if n_samples < FIRST or stamps_ns <= most_ns:
        return 1
    return MOST if stamps_ns >= MOST * most_ns else int(-(-stamps_ns // most_ns))


class Turns:
    """Of one process."""

    def __init__(self):
        self.weight, self.until, self.behind = 1, 0, 0  # samples: of the group; before the drawn one, from now on; behind it
        self.n_seen, self.seen_ns = 0, 0

    def draw(self, n_parts, took_ns):
        """The next group, when the drawn sample of this one is there, which took so long."""
        self.n_seen += 1
        self.seen_ns += took_ns
        if self.n_seen > REMEMBERED:
            self.n_seen //= 2
            self.seen_ns //= 2
        size = group_size(n_parts, self.n_seen, self.seen_ns)
        at = _random.randrange(size) if size > 1 else 0
        self.weight, self.until, self.behind = size, self.behind + at, size - 1 - at
