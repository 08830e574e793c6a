#!/usr/bin/env bash
# Stamps of samples (loaders/torch), with a stand-in for torch: what they cost; whose parts are timed, and what that says of all samples.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_parts.sh"

command -v python3 >/dev/null || skip "no python3"
cp "$DLB_SOURCE_DIR/tests/support/compose.py" .

# --- a sample has a stamp of its own where parts of it have one; what stamps cost is measured that way, and leaves nothing behind
holds <<'PY'
import os
import dlbench_cost
import dlbench_stamps
from dlbench_cost import Nothing, Together
from dlbench_stamps import COLLATE, GC, GETITEM, LOOP_GC, N, NEXT, ON_CPU, Samples
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
assert 0 < other.wrapper.close < other.stamp.close < other.stamp.apart and 0 < other.collection.close < other.collection.apart
assert set(board.read()) == {(0, 0)} and board.more_and_fewer(0) == (0, 0)

# what other work there is between two stamps decides which cost counts more
cost = dlbench_cost.Cost
def frac(share, groups, n_transforms, n_timed=0, n_stretches=0, taken_out=()):
    window = [(0, 0)] * N
    for stage, n, ns in ((GETITEM, 1000, 10**9), (COLLATE, 2, 10**9), (NEXT, 3, 10**9), (GC, 5, 10**8), (LOOP_GC, 7, 10**8), (ON_CPU, 10**9, 10**9),
                         (N - 1, n_transforms, 10**9)):
        window[stage] = (n, ns)
    costs = dlbench_cost.Costs(cost(100, 1100), cost(3, 50), cost(30, 430), cost(200, 3200), share, groups, frozenset(taken_out))
    return costs.frac(window, n_timed, n_stretches) * 2 * 10**9 - (5 + 7) * 50
assert own.frac([(0, 0)] * N, 0, 0) is None
APART_NS = dlbench_cost.APART_NS
few, many = 2 * 10**9 / APART_NS - 1000 - 5, 3 * 2 * 10**9 / APART_NS - 1000 - 5
for share, n, expected in ((False, few, 1000 * 3200 + (5 + few) * 1100), (False, many, 1000 * (200 + 1000) + (5 + many) * (100 + 1000 / 3)),
                           (True, 0, 1000 * 3200 + 5 * 1100)):
    assert abs(frac(share, False, n) - expected) < 1, (share, n)
assert abs(frac(False, True, few, 1000) - frac(False, False, few)) < 1  # the parts of each sample
# of 1000 samples 100 have their six parts timed, 160 stretches have a stamp, and the wrappers of 5400 parts time nothing, if they are there
for taken_out, n_wrappers in ((), 5400), ([N - 1], 0):
    apart = min(2 * 10**9 / (260 + 600 + 5 + n_wrappers) / APART_NS, 1)
    expected = 260 * (200 + 3000 * apart) + 605 * (100 + 1000 * apart) + n_wrappers * (30 + 400 * apart)
    assert abs(frac(False, True, 6000, 100, 160, taken_out) - expected) < 1
PY

# --- how many samples a group has: one while it is not known how long one takes, of slow ones, and without parts
holds <<'PY'
from dlbench_turns import FIRST, MOST, MOST_FRAC, STAMP_NS, Turns, group_size
slow_ns = 6 * STAMP_NS / MOST_FRAC  # from which on the stamps of six parts take no more
assert [group_size(6, n, 0) for n in (0, FIRST - 1, FIRST)] == [1, 1, MOST]
assert [group_size(6, 1000, int(1000 * slow_ns * of)) for of in (2, 1.01, 0.9, 0.51, 0.4, 0.13, 0.01)] == [1, 1, 2, 2, 3, 8, MOST]
assert group_size(0, 1000, 0) == group_size(0, 1000, 10**9) == 1
# what was long ago does not count
turns = Turns()
for n, took_ns, size in (FIRST + 100, 10**7, 1), (300, 200000, MOST), (8, 10**8, 1):
    for _ in range(n):
        turns.draw(6, took_ns)
    assert turns.weight == size
PY

# --- each group has one drawn sample, any of them, whatever the sizes of batches and of groups; workers draw others
holds <<'PY'
import os
import dlbench_turns
from dlbench_turns import Turns
sizes = iter((1, 1, 4, 8, 2, 1, 5) * 2000)
dlbench_turns.group_size = lambda *_: next(sizes)
turns, drawn = Turns(), []
for _ in range(14000):
    turns.draw(6, 0)
    drawn.append((turns.weight, turns.until, turns.behind))
behind = 0
for size, until, left in drawn:
    assert until - behind in range(size) and left == size - 1 - (until - behind)
    behind = left
for size in 2, 4, 5, 8:
    places = [size - 1 - left for one, _, left in drawn if one == size]
    counts = [places.count(place) for place in range(size)]
    expected = len(places) / size
    assert all(abs(n - expected) < 5 * expected**0.5 for n in counts), counts
def of_child():
    here, there = os.pipe()
    if os.fork() == 0:
        os.write(there, bytes(dlbench_turns._random.randrange(8) for _ in range(64)))
        os._exit(0)
    return os.read(here, 64)
assert of_child() != of_child()
PY

# --- for samples whose parts are not timed, wrappers are taken out of lists; what the user puts there stays; in a tuple they stay
holds <<'PY'
import pickle
import dlbench_places
import dlbench_stamps
import dlbench_turns
import dlbench_wrap
import __main__
from compose import Compose
from torch.utils.data import Dataset
class Step:
    def __call__(self, i):
        seen.append([type(one) is dlbench_stamps.Call for one in mine.first.transforms])
        return i
class Mine(Dataset):
    def __init__(self):
        self.first, self.second = Compose([Step(), Step()]), Compose((Step(),))
    def __getitem__(self, i):
        return self.second(self.first(i))
for one in Step, Mine:
    setattr(__main__, one.__name__, one)
board, mine, seen = dlbench_stamps.Board("stamps", 0, 0), Mine(), []
plain = list(mine.first.transforms)
wrapped = dlbench_wrap.stamped(board, mine, [], [])
assert wrapped.n_parts == 3 and dlbench_places.stages() == {c.stage for c in mine.first.transforms}
stamps = list(mine.first.transforms)
while wrapped.turns.until == 0:
    wrapped.turns.draw(3, 0)
n = wrapped.turns.until
wrapped.__getitems__(range(n + 1))
assert seen[0] == [False, False] and seen[-1] == [True, True] and mine.first.transforms == stamps
assert [board.read()[c.stage][0] for c in (*stamps, *mine.second.transforms)] == [dlbench_turns.MOST] * 3 and board.timed() == (1, 1)
assert board.read()[dlbench_stamps.GETITEM][0] == n + 1
# what makes a batch has its transforms timed, each once
mine.second(0)
assert board.read()[mine.second.transforms[0].stage][0] == dlbench_turns.MOST + 1
dlbench_places.put(False)
assert mine.first.transforms == plain and type(mine.second.transforms[0]) is dlbench_stamps.Call
own = mine.first.transforms[0] = Step()
dlbench_places.put(True)
assert mine.first.transforms == [own, stamps[1]]
dlbench_places.put(False)
mine.first.transforms.reverse()
dlbench_places.put(True)
assert mine.first.transforms == [stamps[1], own]
del mine.first.transforms[0]
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
from compose import Compose
from dlbench_account import stages
from random import Random
from torch.utils.data import Dataset

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

class Map(Dataset):
    def __init__(self, transform):
        self.transform = transform
    def __len__(self):
        return n
    def __getitem__(self, i):
        clock.ns += 100000 + 500000 * (i % 97 == 0)  # reading
        return self.transform(i)

def first(x):
    return spends[0](x)
def second(x):
    return spends[1](x)
def third(x):
    return spends[2](x)

n, clock = 160000, Clock()
dlbench_stamps.monotonic_ns = clock
dlbench_turns._random = Random(1)

def by_batches(size_of_batch):
    return lambda wrapped: [wrapped.__getitems__(range(at, min(at + size_of_batch, n))) for at in range(0, n, size_of_batch)]

for name, read in (("32", by_batches(32)), ("3", by_batches(3)), ("1", lambda wrapped: [wrapped[i] for i in range(n)])):
    # One sample in eight takes longer, which is a period that groups could meet, or one in five.
    spends = [Spend(lambda i: 60000 + 400000 * (i % 8 == 0)), Spend(lambda i: 20000 + 80000 * (i % 5 == 0)), Spend(lambda i: 1000 * (i % 7))]
    board = dlbench_stamps.Board("stamps", 0, n)
    dlbench_stamps._open.clear()
    wrapped = dlbench_wrap.stamped(board, Map(Compose([first, second, third])), [], [])
    start_ns = clock.ns
    read(wrapped)
    total_ns = clock.ns - start_ns
    n_timed, _ = board.timed()
    assert n / 17 < n_timed < n / 6, n_timed
    found = {one["name"]: (one["count"], one["sum_ns"]) for one in stages(board.names, board.read(), True, n_timed)}
    assert found["getitem"] == (n, total_ns), found  # of all samples
    for part, spend in zip(("first", "second", "third"), spends):
        assert abs(found[part][0] - n) <= dlbench_turns.MOST and spend.n == n, found
        off_ns = found[part][1] - spend.spent
        assert abs(off_ns) < 0.01 * total_ns, (name, part, off_ns)
        assert spend.spent < 0.1 * total_ns or abs(off_ns) < 0.03 * spend.spent, (name, part, off_ns)
        print("batches of %s, %s: %.1f%% of the total, off by %.2f%% of its own" % (name, part, 100 * spend.spent / total_ns, 100 * off_ns / spend.spent))
PY
run python3 planted.py
expect_exit 0
cat "$out"

# --- of too few samples nothing is said; parts of some never come to more than the whole; garbage counts once, whatever the sample stands for
holds <<'PY'
import dlbench_stamps
from dlbench_account import FEWEST, stages
from dlbench_stamps import COLLATE, GETITEM, LOAD, N
names = [*dlbench_stamps.STAGES, "Crop"]
window = [(0, 0)] * N
window[GETITEM], window[LOAD], window[len(dlbench_stamps.STAGES)], window[COLLATE] = (1000, 10**9), (1000, 9 * 10**8), (1000, 3 * 10**8), (4, 10**6)
def by_name(n_timed):
    return {one["name"]: (one["part"], one["sum_ns"]) for one in stages(names, window, True, n_timed)}
assert by_name(None) == by_name(1000) == {"getitem": ("read", 10**9), "load": ("decode", 9 * 10**8), "Crop": ("transform", 3 * 10**8),
                                          "collate": ("collate", 10**6)}
assert by_name(FEWEST) == {"getitem": ("read", 10**9), "load": ("decode", 75 * 10**7), "Crop": ("transform", 25 * 10**7), "collate": ("collate", 10**6)}
assert {part for part, _ in by_name(FEWEST - 1).values()} == {None}
ns = 1
def clock():
    return ns
dlbench_stamps.monotonic_ns = clock
board = dlbench_stamps.Board("stamps", 0, 0)
def part(x):
    global ns
    ns += 1000
    begun_ns = ns
    ns += 10**6
    board.collected(begun_ns)
call = dlbench_stamps.Call(board, LOAD, part)
dlbench_stamps._weight = 8
call(0)
assert board.read()[LOAD] == (8, 8 * 1000 + 10**6)
PY

# --- the sample that raises among those whose parts are not timed has its number
holds <<'PY'
import dlbench_stamps
from dlbench_errors import AtSample
class Raises:
    def __getitem__(self, i):
        return 1 // (i - 5)
board = dlbench_stamps.Board("stamps", 0, 64)
samples = dlbench_stamps.Samples(board, Raises(), 3)
samples.turns.until = 8
try:
    raise SystemExit(samples.__getitems__([3, 4, 5, 6]))
except AtSample as why:
    assert "sample 5" in str(why)
PY

finish
