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
import dlbench_turns
from dlbench_stamps import COLLATE, GC, GETITEM, LOOP_GC, N, NEXT, ON_CPU, Samples
from dlbench_streams import Stream
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
    assert not shared.groups and 0 < 2 * shared.batch.apart / 256 < own.sample.close < own.sample.apart
    assert shared.sample is None and shared.batch.apart < 256 * one.batch.apart
assert costs(Nothing(), 0, 1 << 30).batch.close > 0 and os.path.getsize("stamps.asked0") < 1 << 21  # of large batches a part suffices
assert own.groups and own.batch.close > 0
board.batch_size = 32
for n_parts in 0, 3:
    stream = dlbench_cost.measured(board, Stream(board, Nothing(), n_parts), 32)
    assert 0 < stream.batch.close < stream.batch.apart
    assert stream.groups and 0 < stream.sample.close < stream.sample.apart if n_parts else stream.sample is None and not stream.groups
other = dlbench_cost.measured(board, Nothing(), 1)
assert other.sample is None and not other.groups and other.batch.apart > other.batch.close > 0
assert 0 < other.clocks.close < other.clocks.apart and 0 < other.wrapper.close < other.stamp.close < other.stamp.apart and 0 < other.collection.close < other.collection.apart
assert set(board.read()) == {(0, 0)} and board.more_and_fewer(0) == (0, 0)

# what other work there is between two stamps decides which cost counts more
cost = dlbench_cost.Cost
def frac(groups, n_parts, n_timed=0, taken_out=(), n_read=0):
    window = [(0, 0)] * N
    for stage, n, ns in ((GETITEM, 1000, 10**9), (COLLATE, 2, 10**9), (NEXT, 3, 10**9), (GC, 5, 10**8), (LOOP_GC, 7, 10**8), (ON_CPU, 10**9, 10**9),
                         (N - 1, n_parts, 10**9)):
        window[stage] = (n, ns)
    costs = dlbench_cost.Costs(cost(100, 1100), cost(3, 50), cost(30, 430), cost(500, 9000), cost(200, 3200), cost(0, 70000), groups, frozenset(taken_out))
    return costs.frac(window, n_timed, n_read) * 2 * 10**9 - (5 + 7) * 50 - 2 * 9000
assert own.frac([(0, 0)] * N, 0, 0) is None
APART_NS, RUN = dlbench_cost.APART_NS, dlbench_turns.RUN
many = 2 * 2 * 10**9 / APART_NS - 3
for n, expected in ((0, 3 * 1100), (many, (3 + many) * 600)):
    assert abs(frac(False, n) - expected) < 1, n
assert abs(frac(False, 0, n_read=20) - 3 * 1100 - 20 * 70000) < 1
# the parts of each sample, of which each takes a 1000th of a second: one, or nine
assert abs(frac(True, 1000, 1000) - 1000 * (3200 + 1100) - 3 * 1100) < 1
apart = 10**6 / 10 / APART_NS
assert abs(frac(True, 9000, 1000) - 1000 * (200 + 3000 * apart + 9 * (100 + 1000 * apart)) - 3 * 1100) < 1
# of 1000 samples 100 have their nine parts timed, in runs, and the wrappers of 8100 parts time nothing, if they are there
for taken_out, n_wrappers in ((), 8100), ([N - 1], 0):
    first, further = 3200 + 9 * 1100, 200 + 3000 * apart + 9 * (100 + 1000 * apart)
    expected = 100 / RUN * first + (100 - 100 / RUN) * further + n_wrappers * (30 + 400 * apart) + 3 * 1100
    assert abs(frac(True, 9000, 100, taken_out) - expected) < 1
PY

# --- how many samples a group has: one while it is not known how long one takes, of slow ones, and without parts
holds <<'PY'
from dlbench_turns import FIRST, MOST, MOST_FRAC, RUN, RUN_NS, STAMP_NS, Turns, group_size
slow_ns = (RUN_NS / RUN + 6 * STAMP_NS) / MOST_FRAC  # from which on the stamps of six parts take no more
assert [group_size(6, n, 0) for n in (0, FIRST - 1, FIRST)] == [1, 1, MOST]
sizes = [group_size(6, 1000, int(1000 * slow_ns * of)) for of in (2, 1.01, 0.9, 0.51, 0.4, 0.13, 0.04, 0.01)]
assert sizes == [1, 1, 2, 2, 3, 8, 25, MOST], sizes
assert group_size(0, 1000, 0) == group_size(0, 1000, 10**9) == 1
# what was long ago does not count
turns = Turns()
for n, took_ns, size in (FIRST + 100, 10**8, 1), (1000, 20000, MOST), (8, 10**9, 1):
    for _ in range(n):
        turns.took(6, took_ns)
    assert turns.weight == size
# of few samples enough are timed
for n, fewest in (192, 128), (1000, 200), (100000, 100000 / MOST):
    turns, n_timed, i = Turns(), 0, 0
    while i < n:
        i += turns.until
        turns.until = 0
        turns.took(6, 20000)
        i += 1
        n_timed += 1
    assert fewest <= n_timed < (n if n < 200 else n / 2), (n, n_timed)
PY

# --- each group has one drawn run, any of them, whatever the sizes of groups; its samples come one behind the other; workers draw others
holds <<'PY'
import os
import dlbench_turns
from dlbench_turns import RUN, Turns
sizes = iter((1, 1, 4, 8, 2, 1, 5) * 2001)
dlbench_turns.group_size = lambda *_: next(sizes)
turns, drawn = Turns(), []
turns.n_samples = 10**6
turns.took(6, 0)  # what a process begins with
for _ in range(14000):
    drawn.append((turns.weight, turns.until, turns.behind))
    for left in range(RUN, 0, -1):
        assert turns.left == left
        turns.took(6, 0)
behind = 0
for size, until, left in drawn:
    assert until % RUN == 0 and until // RUN - behind in range(size) and left == size - 1 - (until // RUN - behind)
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
while wrapped.turns.until == 0 or wrapped.turns.weight < dlbench_turns.MOST:
    wrapped.turns.took(3, 0)
n, RUN = wrapped.turns.until, dlbench_turns.RUN
wrapped.__getitems__(range(n + RUN))
assert seen == [[False, False]] * 3 * n + [[True, True]] * 3 * RUN
assert mine.first.transforms == stamps
counted = RUN * dlbench_turns.MOST
assert [board.read()[c.stage][0] for c in (*stamps, *mine.second.transforms)] == [counted] * 3 and board.timed() == (RUN, 0)
assert board.read()[dlbench_stamps.GETITEM][0] == n + RUN
# what makes a batch has its transforms timed, each once
wrapped.turns.until = 2
wrapped.__getitems__(range(2))
assert seen[-1] == [False, False] and mine.first.transforms == plain
assert dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, mine.second)(0).batch == 0 and mine.first.transforms == stamps
assert board.read()[mine.second.transforms[0].stage][0] == counted + 1
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
import itertools
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

n, clock = 160000, Clock()
dlbench_stamps.monotonic_ns = dlbench_streams.monotonic_ns = clock
dlbench_turns._random = Random(1)

def by_batches(size_of_batch):
    return lambda wrapped: [wrapped.__getitems__(range(at, min(at + size_of_batch, n))) for at in range(0, n, size_of_batch)]

def as_stream(size_of_batch):
    """Between batches others work."""
    def make(samples):
        clock.ns += BATCH_NS
        return samples
    def read(wrapped):
        collate, samples = dlbench_stamps.Collate(wrapped.board, dlbench_stamps.COLLATE, make), iter(wrapped)
        for _ in range(-(-n // size_of_batch)):
            clock.ns += BATCH_NS
            batch = list(itertools.islice(samples, size_of_batch))
            collate(batch)
        assert len(batch) == n % size_of_batch and next(samples, None) is None
        clock.ns -= 2 * BATCH_NS * -(-n // size_of_batch)
    return read

BATCH_NS = 300000
for name, kind, read in (("batches of 32", Map, by_batches(32)), ("batches of 3", Map, by_batches(3)), ("single ones", Map, lambda wrapped: [wrapped[i] for i in range(n)]),
                         ("a stream", Iterable, as_stream(33))):
    # One sample in eight takes longer, which is a period that groups could meet, or one in five.
    spends = [Spend(lambda i: 60000 + 400000 * (i % 8 == 0)), Spend(lambda i: 20000 + 80000 * (i % 5 == 0)), Spend(lambda i: 1000 * (i % 7))]
    board = dlbench_stamps.Board("stamps", 0, n)
    board.batch_size = 33
    dlbench_stamps._open.clear()
    wrapped = dlbench_wrap.stamped(board, kind(Compose([first, second, third])), [], [])
    start_ns = clock.ns
    read(wrapped)
    total_ns = clock.ns - start_ns
    n_timed = board.timed()[0]
    size = dlbench_turns.group_size(3, n, total_ns)  # of a group, if all samples took the same
    assert 0.9 * n / size < n_timed < 1.3 * n / size, (n_timed, size)
    found = {one["name"]: (one["count"], one["sum_ns"]) for one in stages(board.names, board.read(), True, n_timed)}
    assert found["getitem"] == (n, total_ns), found  # of all samples
    for part, spend in zip(("first", "second", "third"), spends):
        assert abs(found[part][0] - n) <= dlbench_turns.RUN * wrapped.turns.weight and spend.n == n, found  # a group at the end
        off_ns = found[part][1] - spend.spent
        assert abs(off_ns) < 0.01 * total_ns, (name, part, off_ns)
        assert spend.spent < 0.1 * total_ns or abs(off_ns) < 0.03 * spend.spent, (name, part, off_ns)
        print("%s, %s: %.1f%% of the total, off by %.2f%% of its own" % (name, part, 100 * spend.spent / total_ns, 100 * off_ns / spend.spent))
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
from dlbench_turns import FIRST, RUN
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
        assert dlbench_stamps._weight == 1
        return (self.transform(i) for i in range(self.n))
class Bare(Mine):
    def __init__(self, n):
        self.n, self.transform = n, Step()
ns, n_read, fails = 1, 0, -1
dlbench_stamps.monotonic_ns = dlbench_streams.monotonic_ns = lambda: ns
for took_ns, kind, (n, drop_last) in itertools.product((10, 10**5, 10**8), (Mine, Bare), ((320, False), (325, False), (325, True), (3, False), (0, False))):
    board = dlbench_stamps.Board("stamps", 0, 0)
    board.batch_size = 32
    dlbench_stamps._open.clear()
    dlbench_places._places.clear()
    stream = dlbench_wrap.stamped(board, kind(n), [], [])
    collate = dlbench_stamps.Collate(board, dlbench_stamps.COLLATE, list)
    for epoch in 1, 2, 3:
        samples, n_before = iter(stream), n_read
        for n_batches in range(1, n // 32 + 1):
            assert len(collate([next(samples) for _ in range(32)]).batch) == 32
            assert n_read - n_before == n_batches * 32  # nothing of the next batch was read
            assert dlbench_stamps._weight == 1
        rest = list(samples)
        if rest and not drop_last:
            collate(rest)
        assert len(rest) == n % 32 and dlbench_stamps._weight == 1 and dlbench_places._are_in
        assert board.read()[dlbench_stamps.GETITEM] == (epoch * n, epoch * n * took_ns)
    n_timed = board.timed()[0]
    assert n_timed == (0 if kind is Bare else 3 * n) if took_ns == 10**8 or kind is Bare else min(n, FIRST) <= n_timed and (n < 100 or n_timed < n)
    if kind is Mine:
        assert type(stream.dataset.transform.transforms[0]) is dlbench_stamps.Call
        parts = board.read()[len(dlbench_stamps.STAGES)]
        assert abs(parts[0] - 3 * n) <= RUN * stream.turns.weight and parts[1] == parts[0] * took_ns
for kind, fails in itertools.product((Mine, Bare), (0, 100, 200, 299)):
    board = dlbench_stamps.Board("stamps", 0, 0)
    board.batch_size = 32
    stream = dlbench_wrap.stamped(board, kind(300), [], [])
    dlbench_stamps._open.clear()
    took_ns = 10
    try:
        raise SystemExit(list(stream))
    except AtSample as why:
        assert "sample %d of" % fails in str(why), why
PY

# --- what begins anew when it is asked for an iterator is asked once, as DataLoader does; an iterator need not give one itself
holds <<'PY'
import dlbench_stamps
from dlbench_streams import Stream
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
for kind, n_parts, batch_size in ((kind, n_parts, size) for kind in (Mine, Anew) for n_parts in (0, 3) for size in (1, 8, 1000)):
    board = dlbench_stamps.Board("stamps", 0, 0)
    board.batch_size = batch_size
    dlbench_stamps._open.clear()
    stream = Stream(board, kind(), n_parts)
    for epoch in 1, 2:
        assert list(stream) == list(range(100)), (kind, n_parts, batch_size)
    assert board.read()[dlbench_stamps.GETITEM][0] == 200
PY

# --- samples of a stream are not kept
holds <<'PY'
import weakref
import dlbench_stamps
from dlbench_streams import Stream
class Sample:
    pass
class Mine:
    def __iter__(self):
        return (Sample() for _ in range(64))
for n_parts in 0, 3:
    board = dlbench_stamps.Board("stamps", 0, 0)
    board.batch_size = 8
    dlbench_stamps._open.clear()
    samples = iter(Stream(board, Mine(), n_parts))
    assert all(one() is None for one in map(weakref.ref, samples))
PY

# --- iterable data that has the work of many samples in one: the parts of all are timed, and the first, which fills a buffer, says nothing yet
holds <<'PY'
import dlbench_stamps
import dlbench_wrap
from compose import Compose
from dlbench_turns import MOST, RUN
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
    board = dlbench_stamps.Board("stamps", 0, 0)
    dlbench_stamps._open.clear()
    stream = dlbench_wrap.stamped(board, Chunks(first, each), [], [])
    assert len(list(stream)) == 6400
    n = board.read()[len(dlbench_stamps.STAGES)][0]
    assert (n == 6400 + first if all_timed else abs(n - 6400 - first) <= RUN * MOST) and (board.timed()[0] == 6400) == all_timed, (first, each, n, board.timed())
PY

# --- clocks are read around any piece of work with the same probability, whatever it takes and whatever came before it, and seldom enough
holds <<'PY'
import dlbench_turns
from dlbench_cpu import MOST_FRAC, WATCH_NS, Watch
from random import Random
dlbench_turns._random = Random(1)
ms = 10**6
for pieces in ((40 * ms, 0), (4 * ms, 1)), ((60 * ms, 0), *[(8 * ms, 1)] * 3), ((30 * ms, 0), *[(ms // 2, 1)] * 50), ((ms, 1),), ((100 * ms, 0),):
    watch, done_ns, seen_ns, computed_ns, n_seen = Watch(), 5 * ms, 0, 0, 0
    for _ in range(200000 // len(pieces)):
        for took_ns, computes in pieces:
            if watch.is_drawn(done_ns):
                seen_ns += took_ns
                computed_ns += took_ns * computes
                n_seen += 1
            done_ns += took_ns
    truth = sum(ns * computes for ns, computes in pieces) / sum(ns for ns, _ in pieces)
    assert abs(computed_ns / seen_ns - truth) < 0.03, (pieces, truth, computed_ns / seen_ns)
    frac = n_seen * WATCH_NS / done_ns
    each_is_long = MOST_FRAC * done_ns > watch.n * WATCH_NS
    assert (n_seen >= watch.n - 2 if each_is_long else 0.8 * MOST_FRAC < frac < 1.2 * MOST_FRAC), (pieces, frac)
PY

# --- of too few samples nothing is said; parts of some never come to more than the whole; garbage counts once, whatever the sample stands for
holds <<'PY'
import dlbench_stamps
from dlbench_account import BY_CHANCE, FEWEST, stages
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
crop = len(dlbench_stamps.STAGES)
for within, bounded in (BY_CHANCE - 0.01, True), (BY_CHANCE + 0.01, False):  # in threads
    window[LOAD], window[crop] = (1000, 10**9), (1000, int((within - 1) * 10**9))
    assert (by_name(FEWEST)["load"][1] < 10**9) == bounded
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
