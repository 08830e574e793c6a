#!/usr/bin/env bash
# Stamps of samples (loaders/torch), with a stand-in for torch: what they cost; which batches have some, and what that says of all.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_parts.sh"

command -v python3 >/dev/null || skip "no python3"
cp "$DLB_SOURCE_DIR/tests/support/compose.py" .

# --- samples have stamps, in a batch that is drawn and in slow ones; what stamps cost is measured, and leaves nothing behind
holds <<'PY'
import os
import dlbench_cost
import dlbench_stamps
from dlbench_cost import Nothing, Together
from dlbench_stamps import COLLATE, GC, GETITEM, LOOP_GC, N, NEXT, ON_CPU, Drawn, Samples
from dlbench_streams import Stream
from dlbench_turns import Kind
board = dlbench_stamps.Board("stamps", 0)
for dataset, n_parts, board.turns.each in (Nothing(), 0, True), (Nothing(), 3, True), (Nothing(), 3, False), (Together(), 0, True):
    board.kind = Kind(n_parts)
    before = board.read()[GETITEM]
    assert Samples(board, dataset).__getitems__([0, 1, 3]) == [None] * 3 and board.turns.indices == [0, 1, 3]
    after = board.read()[GETITEM]
    assert after[0] - before[0] == 3 and after[1] > before[1]
def costs(dataset, n_parts, batch_size=256, kind=Samples):
    board.kind, board.batch_size = Kind(n_parts), batch_size
    found = dlbench_cost.measured(board, kind(board, dataset))
    assert board.batch_size == batch_size and set(board.read()) == {(0, 0)} and board.drawn() == (0, 0, 0, 0, 0)
    assert found.groups == (n_parts > 0) and found.n_parts == n_parts
    for one in (found.stamp, found.collection, found.wrapper, found.sample, found.clocks) + (batch_size <= 256) * (found.whole,):
        assert 0 < one.close < one.apart, found
    assert found.wrapper.close < found.stamp.close and (found.passed.close < found.whole.close or batch_size > 256)
    return found
for dataset, n_parts, kind in (Nothing(), 0, Samples), (Nothing(), 3, Samples), (Together(), 0, Samples), (Together(), 3, Samples), (Nothing(), 0, Stream), (Nothing(), 3, Stream):
    costs(dataset, n_parts, kind=kind)
assert costs(Nothing(), 0).whole.apart < 256 * costs(Nothing(), 0, 1).whole.apart
assert costs(Nothing(), 0, 1 << 30).whole.close > 0  # of large batches a part suffices
board.kind = Kind()
assert not dlbench_cost.measured(board, Nothing()).groups

# what other work there is between two stamps decides which cost counts more
cost = dlbench_cost.Cost
def frac(groups, n_parts, drawn, taken_out=(), n_samples=1000, ns=3 * 10**9, gives_batches=False):
    window = [(0, 0)] * N
    for stage, n, took_ns in ((GETITEM, n_samples, ns), (COLLATE, 20, ns), (NEXT, 3, 10**9), (GC, 5, 10**8), (LOOP_GC, 7, 10**8), (ON_CPU, 10**9, 10**9), (N - 1, n_parts, 10**9)):
        window[stage] = (n, took_ns)
    # Of a stamp, garbage, a wrapper; a batch that is passed, whole, drawn; a sample, the clocks.
    found = dlbench_cost.Costs(cost(100, 1100), cost(3, 50), cost(30, 430), cost(10, 200), cost(500, 9000), cost(40, 6000), cost(20, 3200), cost(0, 70000), 9, groups, gives_batches, frozenset(taken_out))
    return found.frac(window, Drawn(*drawn)) * 2 * ns - 3 * 1100 - (5 + 7) * 50
assert costs(Nothing(), 3).frac([(0, 0)] * N, Drawn(0, 0, 0, 0)) is None
APART_NS = dlbench_cost.APART_NS
assert abs(frac(False, 0, (0, 20, 0, 0)) - 20 * 9000) < 1
assert abs(frac(False, 0, (0, 5, 0, 7)) - 5 * 9000 - 15 * 200 - 7 * 70000) < 1
# the parts of each sample, one or nine, of which the first of a batch comes behind other work
assert abs(frac(True, 1000, (1000, 20, 20, 0)) - 20 * 9000 - 20 * 6000 - 1000 * 1100) < 1
apart = 3 * 10**6 / 9 / APART_NS
further = 100 + 1000 * apart
assert abs(frac(True, 9000, (1000, 20, 20, 0)) - 20 * 15000 - 9 * (20 * 1100 + 980 * further)) < 1
# of 1000 samples 100 have their nine parts timed, in four batches, and the wrappers of 8100 parts time nothing, if they are there
for taken_out, n_wrappers in ((), 8100), ([N - 1], 0):
    assert abs(frac(True, 9000, (100, 20, 4, 0), taken_out) - 20 * 9000 - 4 * 6000 - 9 * (4 * 1100 + 96 * further) - n_wrappers * (30 + 400 * apart)) < 1
# slow samples have a stamp each
slow_ns = 10**12
assert abs(frac(True, 1000, (1000, 20, 20, 0), (), 1000, slow_ns) - 20 * 15000 - 1000 * (3200 + 1100)) < 10
assert abs(frac(True, 1000, (1000, 20, 20, 0), (), 1000, slow_ns, True) - 20 * 15000 - 1000 * 1100) < 10
# what is not known without __getitem__'s time
unasked = [(0, 0)] * N
unasked[COLLATE] = 20, 10**9
assert costs(Nothing(), 3).frac(unasked, Drawn(0, 20, 0, 0)) is None
PY

# --- how many batches one stands for: for itself while it is not known how long they take, and of slow ones
holds <<'PY'
import dlbench_turns
from dlbench_turns import BATCH_NS, CLOCKS_NS, FIRST, LONG_NS, MOST, MOST_FRAC, PARTS_NS, PIECE, STAMP_NS, Kind, Turns, is_quick, one_of, pieces, times_each
each_ns = (PARTS_NS + 32 * 7 * STAMP_NS) / MOST_FRAC  # from which on all stamps of 32 samples of six parts take no more
assert [times_each(32, 6, of * each_ns) for of in (1.01, 0.99)] == [True, False]
assert [is_quick(of * BATCH_NS / MOST_FRAC) for of in (1.01, 0.99)] == [False, True]
assert [one_of(10**5, 10**5 * of) for of in (2, 1.01, 0.9, 0.51, 0.4, 0.13, 0.04, 0.001)] == [1, 1, 2, 2, 3, 8, 25, MOST]
assert [pieces(n, 6, ns) for n, ns in ((8, 1000), (32, 1000), (1024, 1000), (1024, 10**7), (1024, 2 * 10**8), (1024, 10**12))] == [1, 1, 32, 32, 20, 1]
def sizes(batches, n=32, n_parts=6, is_full=False, whole=False):
    """Of the draws behind so many batches."""
    turns, found = Turns(is_full), []
    for draw in turns.whole, turns.parts, turns.clocks:
        draw.draw = lambda size, draw=draw: setattr(draw, "drawn", size)
    for n_batches, took_ns in batches:
        for _ in range(n_batches):
            assert turns.begin()
            turns.n = n
            turns.took(Kind(n_parts, whole), took_ns)
        found.append((turns.whole.drawn, turns.parts.drawn, turns.clocks.drawn, turns.each))
    return found
slow, middle, quick = 10**9, 2 * 10**7, 10**5
assert sizes([(1, quick)], n=FIRST - 1) == [(1, 1, 1, True)]
assert sizes([(100, slow)])[0][:2] == (1, 1) and sizes([(100, slow)])[0][3]
whole, parts, _, each = sizes([(100000, middle)])[0]
assert whole == 1 and parts == one_of(PARTS_NS + 32 * 6 * STAMP_NS, MOST_FRAC * middle) and not each
whole, parts, _, each = sizes([(100000, quick)], n_parts=0)[0]
assert whole == one_of(BATCH_NS, MOST_FRAC / 2 * quick) and parts == MOST and not each
assert sizes([(100000, quick)], is_full=True) == [(1, 1, MOST, True)]
assert sizes([(100000, slow)], is_full=True) == [(1, 1, 1, True)]
# what gives batches is not asked for pieces of them
long = 10**8
assert sizes([(100000, long)], n=1024)[0][1] == 2 and sizes([(100000, long)], n=1024, whole=True)[0][1] > 20
# what was long ago does not count
assert [one[3] for one in sizes([(100, slow), (1000, quick), (100, slow)])] == [True, False, True]
# the clocks are read in long batches
assert [sizes([(100000, ns)], n_parts=0)[0][2] for ns in (LONG_NS, LONG_NS - 1)] == [one_of(CLOCKS_NS, MOST_FRAC / 2 * LONG_NS), MOST]
# of few samples enough are timed
for n, batch, fewest in (192, 1, 128), (192, 32, 128), (192, 64, 128), (1000, 32, 200), (1000, 100, 200), (100000, 32, 800), (10**7, 32, 10**7 / MOST / 2):
    turns, n_timed = Turns(), 0
    for _ in range(0, n, batch):
        if turns.begin():
            turns.n = batch
            if turns.each:
                n_timed += batch
            elif turns.parts.weight:
                first, last, _ = turns.piece(batch)
                n_timed += last - first
            turns.took(Kind(6), 20000 * batch)
        turns.is_begun = turns.is_passed = False
    assert fewest <= n_timed <= (n + batch if n <= 1000 else n / 2), (n, batch, n_timed)
PY

# --- each group has one drawn batch, any of them, whatever else is drawn; workers draw others
holds <<'PY'
import os
import random
import dlbench_turns
from dlbench_turns import Kind, Turns
def of_child():
    here, there = os.pipe()
    if os.fork() == 0:
        os.write(there, bytes(dlbench_turns._random.randrange(8) for _ in range(64)))
        os._exit(0)
    return os.read(here, 64)
assert of_child() != of_child()
dlbench_turns._random = random.Random(3)
def state(turns):
    return [(draw.left, draw.size, draw.behind) for draw in (turns.whole, turns.parts, turns.clocks)], turns.between, turns.passed
turns = Turns()
n, period = 300000, 7
sums, came = {"whole": [0] * period, "parts": [0] * period}, {"whole": 0, "parts": 0}
for i in range(n):
    if i % 1000 == 999:  # the end of an epoch, behind which nothing is
        before = state(turns)
        turns.begin()
        turns.undo()
        assert state(turns) == before
    if turns.begin():
        turns.n = 32
        for name, weight in ("whole", turns.whole.weight), ("parts", turns.parts.weight):
            sums[name][i % period] += weight
            came[name] += weight > 0
        turns.took(Kind(6), 2 * 10**6)
    turns.is_begun = turns.is_passed = False
for name, size in ("whole", 17), ("parts", 71):
    assert n - size <= sum(sums[name]) <= n + size, sums
    assert 0.9 * n / size < came[name] < 1.1 * n / size, (name, came)
    for one in sums[name]:
        assert abs(one - n / period) < 5 * size * (n / size / period) ** 0.5 * 1.2, sums
# one that is never made, as the last of an epoch that is dropped: the next one stands for itself
turns = Turns()
turns.whole.left, turns.whole.size, turns.whole.behind, turns.between = 5, 7, 2, 4
turns.parts.left = turns.clocks.left = 9
assert [turns.begin() for _ in range(5)] == [False] * 4 + [True] and turns.whole.weight == 7
assert [(turns.begin(), turns.whole.weight) for _ in range(3)] == [(True, 0), (True, 0), (True, 1)] and turns.parts.left == 1
# pieces cover a batch, and each is drawn as often
turns.n_pieces = 5
drawn = [turns.piece(33) for _ in range(5000)]
assert sorted(set(drawn)) == [(0, 6, 5), (6, 13, 5), (13, 19, 5), (19, 26, 5), (26, 33, 5)]
assert all(850 < drawn.count(one) < 1150 for one in set(drawn)) and turns.piece(3)[2] == 3 and turns.piece(0) == (0, 0, 1)
PY

# --- for samples whose parts are not timed, wrappers are taken out of lists and attributes; what the user puts there stays; in a tuple they stay
holds <<'PY'
import pickle
import dlbench_places
import dlbench_stamps
import dlbench_wrap
import __main__
from compose import Compose
from torch.utils.data import Dataset
class Step:
    def __call__(self, i):
        seen.append([type(one) is dlbench_stamps.Call for one in mine.first.transforms])
        return i
class Same:
    def __call__(self, i):
        return i
class Mine(Dataset):
    def __init__(self):
        self.first, self.second, self.target_transform = Compose([Step(), Step()]), Compose((Step(),)), Same()
    def __getitem__(self, i):
        return self.target_transform(self.second(self.first(i)))
for one in Step, Same, Mine:
    setattr(__main__, one.__name__, one)
board, mine, seen = dlbench_stamps.Board("stamps", 0), Mine(), []
plain = list(mine.first.transforms)
wrapped = dlbench_wrap.stamped(board, mine, [], [])
collate = dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, len)
single = mine.target_transform
assert board.kind.n_parts == 4 and dlbench_places.stages() == {c.dlbench_stage for c in (*mine.first.transforms, single)}
stamps, turns = list(mine.first.transforms), board.turns
def parts():
    return [board.read()[c.dlbench_stage][0] for c in (*stamps, *mine.second.transforms, single)]
# of a batch without stamps, of one whose parts are timed for 12, of one of whose two pieces the parts are timed
for between, n_pieces, timed in (1, 1, []), (0, 1, range(8)), (0, 2, None):
    seen, before = [], parts()
    turns.between, turns.passed, turns.each, turns.n_pieces, turns.parts.left, turns.parts.size = between, 0, False, n_pieces, 1, 12
    assert collate(wrapped.__getitems__(list(range(8))))[0] == 8
    if timed is None:
        timed = range(4) if seen[0] == [True, True] else range(4, 8)
    assert seen == [[i in timed] * 2 for i in range(8) for _ in range(3)]
    assert [b - a for a, b in zip(before, parts())] == [12 * n_pieces * len(timed)] * 4
assert board.drawn().samples == 12 and board.read()[dlbench_stamps.GETITEM][0] == 8 * board.drawn().whole
# what makes a batch has its transforms timed, each once
for weight in 0, 5:
    before = parts()
    turns.between, turns.passed, turns.each, turns.parts.left, turns.parts.size = 0, 0, False, 1 if weight else 7, weight or 1
    wrapped.__getitems__([0, 1])
    assert dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, lambda samples: mine.second(0))([0, 1])[0] == 0
    assert [b - a for a, b in zip(before, parts())] == [2 * weight, 2 * weight, 3 * weight, 2 * weight] and dlbench_stamps._weight == 1
dlbench_places.put(False)
assert mine.first.transforms == plain and type(mine.second.transforms[0]) is dlbench_stamps.Call and type(mine.target_transform) is Same
dlbench_places.put(True)
assert mine.target_transform is single
dlbench_places.put(False)
mine.target_transform = other = Same()
own = mine.first.transforms[0] = Step()
dlbench_places.put(True)
assert mine.first.transforms == [own, stamps[1]] and mine.target_transform is other
dlbench_places.put(False)
mine.first.transforms.reverse()
dlbench_places.put(True)
assert mine.first.transforms == [stamps[1], own]
del mine.first.transforms[0]
dlbench_places.put(False)
dlbench_places.put(True)
assert mine.first.transforms == [own]
# a worker that was not forked notes its copies
mine.first.transforms[:], mine.target_transform = stamps, single
dlbench_places._places.clear()
again = pickle.loads(pickle.dumps(wrapped)).dataset
dlbench_wrap.stamp_again(board, again)
dlbench_places.put(False)
assert [type(one) for one in (*again.first.transforms, again.target_transform)] == [Step, Step, Same]
# it has turns of its own, and its batches are made with those
samples, made = pickle.loads(pickle.dumps((wrapped, collate)))
assert samples.board is made.dlbench_board and samples.board.turns is not board.turns and samples.board.kind == board.kind
PY

# --- sums of a few samples' parts against those of all, on the same run: parts of planted costs, which differ by sample, and by its place
cat >planted.py <<'PY'
import itertools
import dlbench_places
import dlbench_stamps
import dlbench_streams
import dlbench_turns
import dlbench_wrap
from compose import Compose
from dlbench_account import stages
from random import Random
from torch.utils.data import Dataset, IterableDataset

class Spend:
    """What a part takes is its own clock: `spent` has the truth."""
    def __init__(self, takes):
        self.takes, self.spent, self.n = takes, 0, 0
    def __call__(self, i):
        took = slower * self.takes(i)
        clock.ns += took
        self.spent += took
        self.n += 1
        return i

class Clock:
    ns, stamp_ns, read_ns = 1, 0, 0
    def __call__(self):
        self.ns += self.stamp_ns
        return self.ns

class Map(Dataset):
    def __init__(self, transform):
        self.transform = transform
    def __len__(self):
        return n
    def __getitem__(self, i):
        took = slower * (100000 + 500000 * (i % 97 == 0))  # reading
        clock.ns += took
        clock.read_ns += took
        return self.transform(i)

class Iterable(IterableDataset):
    def __init__(self, transform):
        self.map = Map(transform)
    def __iter__(self):
        return (self.map[i] for i in range(n))

def first(x):
    return spends[0](x)
def second(x):
    return spends[1](x)
def third(x):
    return spends[2](x)

clock = Clock()
dlbench_stamps.monotonic_ns = dlbench_streams.monotonic_ns = clock
dlbench_turns._random = Random(1)

def same(samples):
    clock.ns += COLLATE_NS
    return samples

def by_batches(size_of_batch):
    def read(wrapped, collate):
        for at in range(0, n, size_of_batch):
            collate(wrapped.__getitems__(list(range(at, min(at + size_of_batch, n)))))
    return read

def single_ones(wrapped, collate):
    for i in range(n):
        collate(wrapped[i])

def as_stream(size_of_batch):
    """Between batches others work."""
    def read(wrapped, collate):
        samples = iter(wrapped)
        for _ in range(-(-n // size_of_batch)):
            clock.ns += OTHERS_NS
            batch = list(itertools.islice(samples, size_of_batch))
            collate(batch)
        assert len(batch) == (n % size_of_batch or size_of_batch) and next(samples, None) is None
        clock.ns -= OTHERS_NS * -(-n // size_of_batch)
    return read

OTHERS_NS, COLLATE_NS = 300000, 20000
for name, kind, read, size_of_batch, n, slower in (
    ("batches of 32", Map, by_batches(32), 32, 160000, 1),
    ("longer ones", Map, by_batches(32), 32, 160000, 3),
    ("batches of 512", Map, by_batches(512), 512, 320000, 1),
    ("batches of 3", Map, by_batches(3), 3, 160000, 1),
    ("single ones", Map, single_ones, 1, 1000000, 1),
    ("a stream", Iterable, as_stream(33), 33, 160000, 1),
    ("a slower stream", Iterable, as_stream(33), 33, 160000, 3),
):
    for clock.stamp_ns in 0, 500:
        # One sample in eight takes longer, which is a period that batches could meet, or one in five.
        spends = [Spend(lambda i: 60000 + 400000 * (i % 8 == 0)), Spend(lambda i: 20000 + 80000 * (i % 5 == 0)), Spend(lambda i: 1000 * (i % 7))]
        board = dlbench_stamps.Board("stamps", 0)
        board.batch_size = size_of_batch
        dlbench_stamps._open.clear()
        dlbench_places._places.clear()
        wrapped = dlbench_wrap.stamped(board, kind(Compose([first, second, third])), [], [])
        clock.read_ns, n_batches = 0, -(-n // size_of_batch)
        read(wrapped, dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, same))
        total_ns = clock.read_ns + sum(one.spent for one in spends)
        drawn = board.drawn()
        found = {one["name"]: (one["count"], one["sum_ns"]) for one in stages(board.names, board.read(), True, drawn)}
        # Of a few batches more than that: the first ones of a process are drawn oftener.
        n_parts = n / dlbench_turns.pieces(size_of_batch, 3, total_ns / n_batches) if size_of_batch > dlbench_turns.PIECE else n
        print("%s, a stamp of %d ns: %s" % (name, clock.stamp_ns, drawn))
        assert drawn.samples < 0.5 * n and (drawn.whole == n_batches) == (slower > 1 or size_of_batch > 100)
        off = found["getitem"][1] / total_ns - 1
        print("getitem: off by %.2f%%" % (100 * off))
        assert (found["getitem"][0] == n) if drawn.whole == n_batches else abs(found["getitem"][0] - n) < 0.01 * n
        assert abs(off) < 0.01 and (off == 0 or drawn.whole < n_batches or clock.stamp_ns), name
        assert abs(found["collate"][0] - n_batches) < 0.01 * n_batches and abs(found["collate"][1] / (n_batches * COLLATE_NS) - 1) < 0.01 + clock.stamp_ns / COLLATE_NS
        for part, spend in zip(("first", "second", "third"), spends):
            assert abs(found[part][0] - n) < 0.02 * n and spend.n == n, (name, part, found[part], n)
            off_ns = found[part][1] - spend.spent - found[part][0] * clock.stamp_ns
            assert abs(off_ns) < 0.01 * total_ns, (name, part, off_ns)
            assert spend.spent < 0.1 * total_ns or abs(off_ns) < 0.03 * spend.spent, (name, part, off_ns)
            print("%s: %.1f%% of the total, off by %.2f%% of its own" % (part, 100 * spend.spent / total_ns, 100 * off_ns / spend.spent))
PY
run python3 planted.py
expect_exit 0
cat "$out"

# --- iterable data: what its end leaves, in whole batches and in others, of quick samples and of slow ones; an error has its sample
holds <<'PY'
import itertools
import dlbench_places
import dlbench_stamps
import dlbench_streams
import dlbench_wrap
from compose import Compose
from dlbench_errors import AtSample
from dlbench_turns import FIRST
from torch.utils.data import IterableDataset
class Step:
    def __call__(self, i):
        global ns, n_read
        ns += took_ns
        n_read += 1
        return 1 // (i != fails)
class Mine(IterableDataset):
    def __init__(self, n):
        self.n, self.transform = n, Compose([Step()])
    def __iter__(self):
        assert dlbench_stamps._weight == 1 and dlbench_places._are_in
        return (self.transform(i) for i in range(self.n))
class Bare(Mine):
    def __init__(self, n):
        self.n, self.step = n, Step()
    def __iter__(self):
        assert dlbench_stamps._weight == 1
        return (self.step(i) for i in range(self.n))
def uncounted(turns, draw):
    """Batches that have come, and for which none stands so far; below 0: those that are to come."""
    return turns.passed + draw.size - draw.left - draw.behind
ns, n_read, fails = 1, 0, -1
dlbench_stamps.monotonic_ns = dlbench_streams.monotonic_ns = lambda: ns
for took_ns, kind, (n, drop_last) in itertools.product((10, 10**5, 10**8), (Mine, Bare), ((320, False), (325, False), (325, True), (3, False), (0, False))):
    board = dlbench_stamps.Board("stamps", 0)
    board.batch_size = 32
    dlbench_stamps._open.clear()
    dlbench_places._places.clear()
    stream = dlbench_wrap.stamped(board, kind(n), [], [])
    collate = dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, list)
    turns, short = board.turns, 0  # samples that an epoch's last batch has not, and those that it stands for
    for epoch in 1, 2, 3:
        samples, n_before = iter(stream), n_read
        for n_batches in range(1, n // 32 + 1):
            assert collate([next(samples) for _ in range(32)])[3] == 32
            assert n_read - n_before == n_batches * 32  # nothing of the next batch was read
            assert dlbench_stamps._weight == 1
        rest = list(samples)
        short += (32 - len(rest)) * turns.whole.weight if rest and turns.is_begun else 0
        if rest and not drop_last:
            collate(rest)
        assert len(rest) == n % 32 and dlbench_stamps._weight == 1
    got, drawn = board.read()[dlbench_stamps.GETITEM], board.drawn()
    behind = 32 * uncounted(turns, turns.whole)
    assert 3 * n - behind - short <= got[0] <= 3 * (n + -n % 32) - behind and got[1] == got[0] * took_ns, (took_ns, kind, n, got, behind)
    assert (drawn.whole == -(-n // 32) * 3 - drop_last * 3) if took_ns == 10**8 else drawn.whole <= -(-n // 32) * 3
    if kind is Mine:
        parts, behind = board.read()[len(dlbench_stamps.STAGES)], 32 * uncounted(turns, turns.parts)
        assert parts[1] == parts[0] * took_ns and drawn.samples >= min(n, FIRST)
        assert n % 32 or parts[0] == 3 * n - behind, (took_ns, n, parts, behind)
        assert took_ns < 10**8 or parts[0] == drawn.samples == 3 * n
for kind, fails, passes in itertools.product((Mine, Bare), (0, 100, 200, 299), (False, True)):
    board = dlbench_stamps.Board("stamps", 0)
    board.batch_size = 32
    stream = dlbench_wrap.stamped(board, kind(300), [], [])
    dlbench_stamps._open.clear()
    took_ns, board.turns.between = 10, passes * 1000
    try:
        raise SystemExit(list(stream))
    except AtSample as why:
        assert "sample %d of" % fails in str(why), why
PY

# --- a short batch that is dropped, of each epoch, leaves nothing behind
holds <<'PY'
import dlbench_stamps
import dlbench_streams
import dlbench_turns
from dlbench_streams import Stream
from random import Random
ns = 1
dlbench_stamps.monotonic_ns = dlbench_streams.monotonic_ns = lambda: ns
class Mine:
    def __iter__(self):
        global ns
        for i in range(15):
            ns += 10000
            yield i
def make(samples):
    global ns
    ns += 40000
    return samples
board = dlbench_stamps.Board("stamps", 0)
board.batch_size = 4
# One batch in four is dropped. Some 700 are drawn: a standard error of 2.2%.
dlbench_turns._random = Random(1)
stream, collate, n = Stream(board, Mine()), dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, make), 60000
for _ in range(n):
    samples = iter(stream)
    for _ in range(3):
        assert collate([next(samples) for _ in range(4)])[3] == 4
    assert len(list(samples)) == 3
counts = [board.read()[stage][0] for stage in (dlbench_stamps.GETITEM, dlbench_stamps.COLLATE)]
assert board.drawn().whole < n and abs(counts[0] / (15 * n) - 1) < 0.1 and abs(counts[1] / (3 * n) - 1) < 0.1, counts
PY

# --- samples of a large batch without stamps are told of before it is whole
holds <<'PY'
import dlbench_stamps
from dlbench_streams import Stream
from dlbench_stamps import Samples
class Mine:
    def __getitem__(self, i):
        told.append(sum(board.map().row))
    def __iter__(self):
        while True:
            yield self[0]
for kind in Samples, Stream:
    board, told = dlbench_stamps.Board("stamps", 0), []
    board.batch_size, board.turns.between = 256, 10
    dlbench_stamps._open.clear()
    data = kind(board, Mine())
    data.__getitems__(list(range(256))) if kind is Samples else next(iter(data))
    assert len(told) == 256 and told == sorted(told) and len(set(told)) >= 256 // dlbench_stamps.MOST_TOGETHER and board.read()[dlbench_stamps.GETITEM] == (0, 0)
PY

# --- what begins anew when it is asked for an iterator is asked once, as DataLoader does; an iterator need not give one itself
holds <<'PY'
import itertools
import dlbench_stamps
from dlbench_streams import Stream
from dlbench_turns import Kind
class Only:
    def __init__(self):
        self.i = -1
    def __next__(self):
        self.i += 1
        if self.i == 100:
            raise StopIteration
        return self.i
class Anew(Only):
    def __iter__(self):
        self.i = -1
        return self
class Mine:
    def __iter__(self):
        return Only()
class Again(Only):
    """Gives all once more where it is asked behind its end."""
    def __next__(self):
        if self.i == 99:
            self.i = -1
            raise StopIteration
        return super().__next__()
class Ends:
    def __iter__(self):
        return Again()
for kind, n_parts, size, passes, n_pieces in itertools.product((Mine, Anew, Ends), (0, 3), (1, 8, 1000), (False, True), (0, 5)):
    board = dlbench_stamps.Board("stamps", 0)
    board.batch_size, board.kind, board.turns.between = size, Kind(n_parts), passes * 10000
    board.turns.n_pieces, board.turns.each = n_pieces, n_pieces == 0
    dlbench_stamps._open.clear()
    stream = Stream(board, kind())
    for epoch in 1, 2:
        assert list(stream) == list(range(100)), (kind, n_parts, size)
    assert board.read()[dlbench_stamps.GETITEM][0] == (0 if passes else 200)
PY

# --- samples of a stream are kept no longer than DataLoader keeps them: a collate_fn that drops one frees it; of how many it made the batch is known;
# those that no batch was made of are given and dropped
holds <<'PY'
import weakref
import dlbench_batches
import dlbench_stamps
from dlbench_streams import Stream
from dlbench_turns import Kind
class Sample:
    pass
class Mine:
    def __iter__(self):
        return (Sample() for _ in range(60))
def consume(samples):
    while samples:
        last = weakref.ref(samples.pop())
        assert last() is None
for n_parts, between in (0, 0), (3, 0), (0, 1000):
    board = dlbench_stamps.Board("stamps", 0)
    board.batch_size, board.kind, board.turns.between = 8, Kind(n_parts), between
    dlbench_stamps._open.clear()
    samples, collate = iter(Stream(board, Mine())), dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, consume)
    for _ in range(7):
        assert collate([next(samples) for _ in range(8)])[3] == 8
    refs = list(map(weakref.ref, samples))
    assert len(refs) == 4 and all(one() is None for one in refs)
assert dlbench_batches.Count(consume)([Sample() for _ in range(8)]).n == 8
PY

# --- iterable data that has the work of many samples in one: the parts of all are timed, and the first, which fills a buffer, says nothing yet
holds <<'PY'
import dlbench_stamps
import dlbench_wrap
from compose import Compose
from torch.utils.data import IterableDataset
class Chunks(IterableDataset):
    def __init__(self, first, each):
        self.first, self.each, self.transform = first, each, Compose([abs])
    def __iter__(self):
        for _ in range(self.first):
            self.transform(1)
        for i in range(6400):
            if i % self.each == self.each - 1:
                for _ in range(self.each):
                    self.transform(1)
            yield i
for first, each, all_timed in (1000, 1, False), (0, 1, False), (0, 8, True), (1000, 100, True):
    board = dlbench_stamps.Board("stamps", 0)
    board.batch_size = 32
    dlbench_stamps._open.clear()
    samples, collate = iter(dlbench_wrap.stamped(board, Chunks(first, each), [], [])), dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, len)
    for _ in range(200):
        collate([next(samples) for _ in range(32)])
    assert next(samples, None) is None
    n, drawn = board.read()[len(dlbench_stamps.STAGES)][0], board.drawn().samples
    assert (n == 6400 + first and drawn == 6400) if all_timed else (abs(n - 6400 - first) <= 6400 / 2 and drawn < 3200), (first, each, n, drawn)
PY

# --- of data that is not wrapped collate alone has stamps; of quick batches drawn ones
holds <<'PY'
import dlbench_stamps
from dlbench_stamps import COLLATE, GETITEM
ns = 1
dlbench_stamps.monotonic_ns = lambda: ns
def collate_ns(took_ns, n):
    def make(samples):
        global ns
        ns += took_ns
        return len(samples)
    board = dlbench_stamps.Board("stamps", 0)
    dlbench_stamps._open.clear()
    collate = dlbench_stamps.Collate(board, COLLATE, make)
    assert all(collate([0] * 8)[:4] == (8, 0, ns, 8) for _ in range(n))
    assert board.read()[GETITEM] == (0, 0)
    return board.read()[COLLATE], board.drawn().whole
assert collate_ns(10**8, 100) == ((100, 10**10), 100)
(found, sum_ns), n_drawn = collate_ns(10**5, 20000)
assert abs(found - 20000) <= 512 and sum_ns == found * 10**5 and n_drawn < 1000
# its transforms are all timed
import dlbench_wrap
from compose import Compose
class IterDataPipe(torch.utils.data.IterableDataset):
    def __init__(self):
        self.transform = Compose([abs])
    def __iter__(self):
        return (self.transform(i) for i in range(6400))
torch.utils.data.IterDataPipe = IterDataPipe
board = dlbench_stamps.Board("stamps", 0)
dlbench_stamps._open.clear()
data, collate = dlbench_wrap.stamped(board, IterDataPipe(), [], []), dlbench_stamps.Collate(board, COLLATE, len)
assert type(data) is IterDataPipe
samples = iter(data)
for _ in range(200):
    collate([next(samples) for _ in range(32)])
assert board.read()[len(dlbench_stamps.STAGES)][0] == 6400 and board.drawn().whole < 200
PY

# --- clocks are read around any long batch with the same probability, whatever it takes and whatever came before it, and seldom enough
holds <<'PY'
import dlbench_turns
from dlbench_turns import CLOCKS_NS, MOST_FRAC, Kind, Turns
from random import Random
dlbench_turns._random = Random(1)
ms = 10**6
for pieces in ((40 * ms, 0), (4 * ms, 1)), ((60 * ms, 0), *[(8 * ms, 1)] * 3), ((30 * ms, 0), *[(ms // 2, 1)] * 50), ((ms, 1),), ((100 * ms, 0),):
    turns, done_ns, seen_ns, computed_ns, n_seen = Turns(), 0, 0, 0, 0
    for _ in range(500000 // len(pieces)):
        for took_ns, computes in pieces:
            if turns.begin():
                turns.n = 8
                if turns.reads_clocks():
                    seen_ns += turns.clocks.weight * took_ns
                    computed_ns += turns.clocks.weight * took_ns * computes
                    n_seen += 1
                turns.took(Kind(3), took_ns)
            turns.is_begun = turns.is_passed = False
            done_ns += took_ns
    truth = sum(ns * computes for ns, computes in pieces) / sum(ns for ns, _ in pieces)
    assert abs(computed_ns / seen_ns - truth) < 0.03, (pieces, truth, computed_ns / seen_ns)
    assert 0.05 * MOST_FRAC < n_seen * CLOCKS_NS / done_ns < 0.65 * MOST_FRAC, (pieces, n_seen * CLOCKS_NS / done_ns)
PY

# --- of too few samples nothing is said; parts of some never come to more than the whole; garbage counts once, whatever the sample stands for
holds <<'PY'
import dlbench_stamps
from dlbench_account import BY_CHANCE, FEWEST, stages
from dlbench_stamps import COLLATE, COMPUTED, GETITEM, LOAD, N, Drawn
names, enough = [*dlbench_stamps.STAGES, "Crop"], 10**9
window = [(0, 0)] * N
window[GETITEM], window[LOAD], window[len(dlbench_stamps.STAGES)], window[COLLATE] = (1000, 10**9), (1000, 9 * 10**8), (1000, 3 * 10**8), (4, 10**6)
def by_name(n_timed, in_collate_ns=0, is_own=True):
    return {one["name"]: (one["part"], one["sum_ns"]) for one in stages(names, window, True, Drawn(n_timed, enough, 0, 0, in_collate_ns), is_own)}
assert by_name(None) == by_name(1000) == {"getitem": ("read", 10**9), "load": ("decode", 9 * 10**8), "Crop": ("transform", 3 * 10**8),
                                          "collate": ("collate", 10**6)}
assert by_name(FEWEST) == {"getitem": ("read", 10**9), "load": ("decode", 75 * 10**7), "Crop": ("transform", 25 * 10**7), "collate": ("collate", 10**6)}
assert {part for part, _ in by_name(FEWEST - 1).values()} == {None}
# of too few batches that had stamps neither
assert [stages(names, [*window[:COLLATE], (n, 10**6), *window[COLLATE + 1 :]], True, Drawn(None, n_whole, 0, 0))[0]["part"] for n, n_whole in ((4, 4), (100, 8), (100, 7), (8, 7))] == ["read", "read", None, None]
crop = len(dlbench_stamps.STAGES)
# transforms that collate_fn calls are no part of what __getitem__ takes, nor collate's; by chance they come to more than collate
in_collate = [(0, 0)] * N
in_collate[GETITEM], in_collate[crop], in_collate[COLLATE], in_collate[COMPUTED] = (1000, 10**9), (1000, 10**9), (30, 12 * 10**8), (10**9, 2 * 10**8)
kept, window = window, in_collate
found = by_name(1000, 10**9)
assert [found[name][1] for name in ("getitem", "Crop", "collate", "own computing")] == [2 * 10**9, 10**9, 2 * 10**8, 2 * 10**8]
assert "own computing" not in by_name(1000, 10**9, False)
window[COLLATE] = 30, 9 * 10**8
assert by_name(1000, 10**9)["collate"][1] == 0
# without __getitem__'s own time nothing is blamed
window[GETITEM] = 0, 0
assert {part for part, _ in by_name(1000).values()} == {None}
window = kept
for within, bounded in (BY_CHANCE - 0.01, True), (BY_CHANCE + 0.01, False):  # in threads
    window[LOAD], window[crop] = (1000, 10**9), (1000, int((within - 1) * 10**9))
    assert (by_name(FEWEST)["load"][1] < 10**9) == bounded
ns = 1
def clock():
    return ns
dlbench_stamps.monotonic_ns = clock
board = dlbench_stamps.Board("stamps", 0)
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
# that of another thread may have begun before
before = board.read()[LOAD]
def late(x):
    global ns
    ns += 500
    board.collected(ns - 10**6)
dlbench_stamps.Call(board, LOAD, late)(0)
assert board.read()[LOAD] == (before[0] + 8, before[1] + 500)
assert dlbench_stamps.stands_for(8, 500, 10**6) == 500
dlbench_stamps._weight = 1
# the same of whole batches
import dlbench_streams
from dlbench_streams import Stream
dlbench_streams.monotonic_ns = clock
class Mine:
    def __getitem__(self, i):
        part(i)
    def __iter__(self):
        while True:
            yield part(0)
for kind in dlbench_stamps.Samples, Stream:
    board = dlbench_stamps.Board("stamps", 0)
    board.batch_size = 4
    dlbench_stamps._open.clear()
    data, turns = kind(board, Mine()), board.turns
    turns.whole.size, turns.each = 8, False
    data.__getitems__([0, 1, 2, 3]) if kind is dlbench_stamps.Samples else next(iter(data))
    dlbench_stamps.Collate(board, COLLATE, part)([0] * 4)
    assert board.read()[GETITEM] == (32, 8 * 4000 + 4 * 10**6) and board.read()[COLLATE] == (8, 8 * 1000 + 10**6), board.read()
PY

# --- the sample that raises among those whose parts are not timed has its number
holds <<'PY'
import dlbench_stamps
import dlbench_turns
from dlbench_errors import AtSample
class Raises:
    def __getitem__(self, i):
        return 1 // (i - 5)
board = dlbench_stamps.Board("stamps", 0)
samples, turns, board.kind = dlbench_stamps.Samples(board, Raises()), board.turns, dlbench_turns.Kind(3)
for turns.between, turns.n_pieces, turns.each in (1, 1, False), (0, 1, False), (0, 3, False), (0, 1, True):
    turns.passed = 0
    try:
        raise SystemExit(samples.__getitems__([3, 4, 5, 6]))
    except AtSample as why:
        assert "sample 5" in str(why)
PY

finish
