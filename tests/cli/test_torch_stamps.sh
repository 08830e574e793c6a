#!/usr/bin/env bash
# Stamps of samples (loaders/torch), with a stand-in for torch: what they cost; whose parts are timed, and what that says of all samples.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_parts.sh"

command -v python3 >/dev/null || skip "no python3"

# --- a sample has a stamp of its own where parts of it have one; what stamps cost is measured that way, and leaves nothing behind
holds <<'PY'
import os
import dlbench_cost
import dlbench_stamps
from dlbench_cost import Nothing, Together
from dlbench_stamps import COLLATE, GC, GETITEM, LOOP_GC, N, NEXT, ON_CPU, TIMED, Samples
board = dlbench_stamps.Board("stamps", 0, 4)
for dataset, n_parts in (Nothing(), 0), (Nothing(), 3), (Together(), 0):
    before = board.read()[GETITEM]
    assert Samples(board, dataset, n_parts).__getitems__([0, 1, 3]) == [None] * 3
    after = board.read()[GETITEM]
    assert after[0] - before[0] == 3 and after[1] > before[1]
assert board.more_and_fewer(3) == (0, 1)
def costs(dataset, n_parts, batch_size=256):
    return dlbench_cost.measured(board, Samples(board, dataset, n_parts), batch_size)
own, one = costs(Nothing(), 3), costs(Nothing(), 0, 1)
for shared in costs(Nothing(), 0), costs(Together(), 0), costs(Together(), 3):
    assert shared.share and not shared.groups and 0 < 2 * shared.sample.apart < own.sample.close < own.sample.apart
assert costs(Nothing(), 0, 1 << 30).share and os.path.getsize("stamps.asked0") < 1 << 21  # of large batches a part suffices
assert own.groups and not own.share and one.share and one.sample.apart > own.sample.close  # a batch of one has a stamp of its own
other = dlbench_cost.measured(board, Nothing(), 1)
assert other.sample == other.stamp and not other.share and not other.groups
assert 0 < other.left_out.close < other.stamp.close < other.stamp.apart and 0 < other.collection.close < other.collection.apart
assert set(board.read()) == {(0, 0)} and board.more_and_fewer(0) == (0, 0)

# what other work there is between two stamps decides which cost counts more
cost = dlbench_cost.Cost
def frac(share, groups, n_transforms, n_timed):
    window = [(0, 0)] * N + [(n_transforms, 10**9)]
    for stage, n, ns in (GETITEM, 1000, 10**9), (COLLATE, 2, 10**9), (NEXT, 3, 10**9), (GC, 5, 10**8), (LOOP_GC, 7, 10**8), (ON_CPU, 10**9, 10**9):
        window[stage] = (n, ns)
    window[TIMED] = (n_timed, 10**9)
    costs = dlbench_cost.Costs(cost(100, 1100), cost(3, 50), cost(30, 430), cost(200, 3200), share, groups)
    return costs.frac(window) * 2 * 10**9 - (5 + 7) * 50
assert own.frac([(0, 0)] * N) is None
APART_NS = dlbench_cost.APART_NS
few, many = 2 * 10**9 / APART_NS - 1000 - 5, 3 * 2 * 10**9 / APART_NS - 1000 - 5
for share, n, expected in ((False, few, 1000 * 3200 + (5 + few) * 1100), (False, many, 1000 * (200 + 1000) + (5 + many) * (100 + 1000 / 3)),
                           (True, 0, 1000 * 3200 + 5 * 1100)):
    assert abs(frac(share, not share, n, 1000) - expected) < 1, (share, n)
# of 1000 samples 100 have their six parts timed: each of them has a stamp, and so have the 900 between them; the wrappers of 5400 parts time nothing
n_stamps = 2 * 100 + 600 + 5
apart = min(2 * 10**9 / (n_stamps + 5400) / APART_NS, 1)
assert abs(frac(False, True, 600, 100) - (200 * (200 + 3000 * apart) + 605 * (100 + 1000 * apart) + 5400 * (30 + 400 * apart))) < 1
# where wrappers are taken out, none times nothing
window = [(0, 0)] * N + [(600, 10**9)]
window[GETITEM], window[TIMED] = (1000, 10**9), (100, 10**9)
left = [dlbench_cost.Costs(*[cost(0, 0)] * 2, cost(30, 30), cost(0, 0), False, True, frozenset(out)).frac(window) for out in ([], [N])]
assert abs(left[0] - 5400 * 30 / 10**9) < 1e-9 and left[1] == 0
# in a stream each sample has one
assert abs(frac(False, False, 600, 100) - frac(False, True, 600, 100)) > 700 * 200
PY

# --- how many samples a group has: none is left out while it is not known how long one takes, of slow ones, or without parts
holds <<'PY'
from dlbench_turns import FIRST, MOST, MOST_FRAC, STAMP_NS, group_for
slow_ns = 6 * STAMP_NS / MOST_FRAC  # from which on the stamps of six parts take no more
assert [group_for(6, n, 0) for n in (0, FIRST - 1, FIRST)] == [1, 1, MOST]
assert [group_for(6, 1000, int(1000 * slow_ns * of)) for of in (2, 1, 0.9, 0.5, 0.4, 1 / 8, 0.01)] == [1, 1, 2, 2, 3, 8, MOST]
assert group_for(0, 1000, 0) == group_for(0, 1000, 10**9) == 1
PY

# --- each group has one drawn sample, any of them, whatever the sizes of batches and of groups
holds <<'PY'
from dlbench_turns import Turns
turns, at, drawn = Turns(), 0, []
for group in (1, 1, 4, 8, 2, 1, 5) * 2000:
    start = at  # of this group
    turns.draw(group)
    at += turns.until + 1
    drawn.append((group, turns.until, turns.behind))
ends = behind = 0
for group, until, left in drawn:
    assert until - behind in range(group) and left == group - 1 - (until - behind)
    behind = left
for group in 2, 4, 5, 8:
    places = [group - 1 - left for size, _, left in drawn if size == group]
    counts = [places.count(place) for place in range(group)]
    expected = len(places) / group
    assert all(abs(n - expected) < 5 * expected**0.5 for n in counts), counts
PY

# --- for samples whose parts are not timed, wrappers are taken out of lists; what the user puts there stays; in a tuple they stay
holds <<'PY'
import pickle
import dlbench_places
import dlbench_stamps
import dlbench_turns
import dlbench_wrap
import __main__
from torch.utils.data import Dataset
class Step:
    def __call__(self, i):
        seen.append([type(one) is dlbench_stamps.Call for one in mine.first.transforms])
        return i
class Compose:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, i):
        for one in self.transforms:
            i = one(i)
        return i
class Mine(Dataset):
    def __init__(self):
        self.first, self.second = Compose([Step(), Step()]), Compose((Step(),))
    def __getitem__(self, i):
        return self.second(self.first(i))
for one in Step, Compose, Mine:
    setattr(__main__, one.__name__, one)
board, mine, seen = dlbench_stamps.Board("stamps", 0, 0), Mine(), []
plain = list(mine.first.transforms)
wrapped = dlbench_wrap.stamped(board, mine, [], [])
assert wrapped.n_parts == 3 and dlbench_places.stages() == {c.stage for c in mine.first.transforms}
stamps = list(mine.first.transforms)
wrapped.turns.draw(dlbench_turns.MOST)
while wrapped.turns.until == 0:
    wrapped.turns.draw(dlbench_turns.MOST)
wrapped.__getitems__(range(wrapped.turns.until + 1))
assert seen[0] == [False, False] and seen[-1] == [True, True] and mine.first.transforms == stamps
assert [board.read()[c.stage][0] for c in (*stamps, *mine.second.transforms)] == [1, 1, 1]
dlbench_places.put(False)
assert mine.first.transforms == plain and type(mine.second.transforms[0]) is dlbench_stamps.Call
own = mine.first.transforms[0] = Step()
dlbench_places.put(True)
assert mine.first.transforms == [own, stamps[1]]
del mine.first.transforms[1]
dlbench_places.put(False)
dlbench_places.put(True)
assert mine.first.transforms == [own]
# a worker that was not forked notes its copies
mine.first.transforms[:] = stamps
dlbench_places._places.clear()
again = pickle.loads(pickle.dumps(wrapped)).dataset
dlbench_wrap.stamp_again(board, again)
dlbench_places.put(False)
assert [type(one) for one in again.first.transforms] == [Step, Step]
PY

# --- sums of a few samples' parts against those of all, on the same run: parts of planted costs, which differ by sample, and by its place
cat >planted.py <<'PY'
import dlbench_stamps
import dlbench_turns
import dlbench_wrap
from dlbench_account import stages
from random import Random
from torch.utils.data import Dataset, IterableDataset

class Spend:
    """What a part takes is its own clock: `spent` has the truth."""
    def __init__(self, takes):
        self.takes, self.spent, self.n = takes, 0, 0
    def __call__(self, i):
        took = self.takes(i)
        clock.ns += took
        self.spent += took
        self.n += 1
        return i

class Clock:
    ns = 1
    def __call__(self):
        return self.ns

class Compose:
    def __init__(self, transforms):
        self.transforms = transforms
    def __call__(self, sample):
        for one in self.transforms:
            sample = one(sample)
        return sample

class Map(Dataset):
    def __init__(self, transform):
        self.transform = transform
    def __len__(self):
        return n
    def __getitem__(self, i):
        clock.ns += 100000 + 500000 * (i % 97 == 0)  # reading
        return self.transform(i)

class Iterable(IterableDataset):
    def __init__(self, transform):
        self.transform = transform
    def __iter__(self):
        return (Map.__getitem__(self, i) for i in range(n))

def first(x):
    return spends[0](x)
def second(x):
    return spends[1](x)
def third(x):
    return spends[2](x)

n, clock = 160000, Clock()
dlbench_stamps.monotonic_ns = clock
dlbench_turns.randrange = Random(1).randrange

def by_batches(size_of_batch):
    return lambda wrapped: [wrapped.__getitems__(range(at, min(at + size_of_batch, n))) for at in range(0, n, size_of_batch)]

for kind, read in ((Map, by_batches(32)), (Map, by_batches(3)), (Map, lambda wrapped: [wrapped[i] for i in range(n)]), (Iterable, list)):
    # One sample in eight takes longer, which is a period that groups could meet, or one in five.
    spends = [Spend(lambda i: 60000 + 400000 * (i % 8 == 0)), Spend(lambda i: 20000 + 80000 * (i % 5 == 0)), Spend(lambda i: 1000 * (i % 7))]
    board = dlbench_stamps.Board("stamps", 0, n)
    dlbench_stamps._open.clear()
    wrapped = dlbench_wrap.stamped(board, kind(Compose([first, second, third])), [], [])
    start_ns = clock.ns
    read(wrapped)
    total_ns = clock.ns - start_ns
    assert board.read()[dlbench_stamps.TIMED][0] < n / 2, "parts of some samples alone were timed"
    found = {one["name"]: (one["count"], one["sum_ns"]) for one in stages(board.names, board.read(), True)}
    assert found["getitem"] == (n, total_ns), found  # no sample of these is left out
    for name, spend in zip(("first", "second", "third"), spends):
        assert found[name][0] == n == spend.n, found
        off = abs(found[name][1] - spend.spent) / total_ns
        assert off < 0.01, (kind, name, off)  # of the total
        assert spend.spent < 0.1 * total_ns or abs(found[name][1] / spend.spent - 1) < 0.03, (kind, name)
        print("%s, %s: off by %.4f%% of its own" % (kind.__name__, name, 100 * (found[name][1] / spend.spent - 1)))
PY
run python3 planted.py
expect_exit 0
cat "$out"

finish
