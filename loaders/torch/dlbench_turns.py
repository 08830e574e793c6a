"""Of which samples the parts are timed: of quick ones of one in several, so that stamps take less than 2% of the work. Part of
loaders/torch/serve.py.

Samples are taken in groups. Of each one sample is drawn, whose parts are timed, and counts for as many as the group has: whatever the order
of the data, the sums are right in the mean. dlbench_account.py sets them against what __getitem__ took, which is timed for all samples.
"""

from random import Random

STAMP_NS = 4000  # at the most: what one takes between others' work (dlbench_cost.py)
MOST_FRAC = 0.005  # of the work: what the stamps of the parts may take
FIRST = 32  # samples, which show how long one takes: the parts of all are timed
MOST = 32  # in a group

randrange = Random().randrange  # the user's own random numbers stay what they are


def group_for(n_parts, n_samples, took_ns):
    """How many samples a group has, when so many samples took so long and a sample has so many parts."""
    most_ns = MOST_FRAC * took_ns
    stamps_ns = n_parts * STAMP_NS * n_samples
    return 1 if n_samples < FIRST or stamps_ns <= most_ns else MOST if stamps_ns >= MOST * most_ns else int(-(-stamps_ns // most_ns))


class Turns:
    """Of one process."""

    def __init__(self):
        self.group, self.until, self.behind = 1, 0, 0  # samples: of the group, before its drawn one (from now on), behind that

    def draw(self, group):
        """The next group, when the drawn sample of this one is there."""
        at = randrange(group) if group > 1 else 0
        self.group, self.until, self.behind = group, self.behind + at, group - 1 - at
