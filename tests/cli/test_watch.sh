#!/usr/bin/env bash
# python/dlbench.py: what it says of loops whose times are planted, that it changes nothing in them, and what `dlbench report` makes
# of its results. No torch.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
command -v python3 >/dev/null || skip "no python3"
export PYTHONPATH=$DLB_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1

# What the programs below use: a loader with planted times, whose batches say that they are alive.
cat >loaders.py <<'EOF'
import time, weakref
import dlbench

class Batch:
    def __init__(self, n): self.shape = (n, 3)

class Loader:
    batch_size, num_workers, dataset = 4, 2, "a data set"
    def __init__(self, n, sleep_s=0.0, last=4):
        self.n, self.sleep_s, self.last, self.asked, self.alive = n, sleep_s, last, 0, []
    def __len__(self): return self.n
    def __iter__(self):
        return (self.batch(i) for i in range(self.n))  # which keeps no batch either
    def batch(self, i):
        time.sleep(self.sleep_s)
        self.asked += 1
        batch = Batch(self.last if i == self.n - 1 else 4)
        self.alive.append(weakref.ref(batch))
        return [batch, i]
    def n_alive(self): return sum(ref() is not None for ref in self.alive)
EOF
program() { # name, further arguments: runs the program on stdin, which must succeed
    cat >"$1.py"
    run python3 "$1.py" "${@:2}"
    expect_exit 0
}
result() { # name, expression over the document d, of which w is its part
    run cat "results/$1/summary.json"
    valid_summary "results/$1/summary.json"
    expect_json "(lambda d, w: $2)(d, d['watch'])"
}

expect [ "$(python3 -c 'import dlbench; print(dlbench.__version__)')" = "$("$dlbench" --version | sed -nE 's/^dlbench ([0-9.]+) .*/\1/p')" ]

# --- planted times, samples, epochs
program live <<'EOF'
from loaders import *
loader = dlbench.watch(Loader(120, 0.003, last=2), run_name="live")
assert len(loader) == 120 and loader.dataset == "a data set" and not hasattr(loader, "absent")
for epoch in range(2):
    seen = [(time.sleep(0.001), i)[1] for _, i in loader]
    assert seen == list(range(120))
EOF
result live 'd["command"] == "watch" and d["partial"] is False and d["interrupted"] is False and d["rank"] == 0 and d["world"] == 1'
result live 'w["mode"] == "live" and w["steps"] == 240 and w["samples"] == 2 * (119 * 4 + 2) and w["counted_by"] == "first tensor"'
result live 'w["settings"] == {"batch_size": 4, "num_workers": 2} and w["loader"] == "loaders.Loader" and w["cost_ns"] is not None'
result live 'w["waits"]["count"] == 240 and w["waits"]["p50_ns"] >= 2.94e6 and w["waits"]["p99_ns"] >= w["waits"]["p50_ns"]'
result live 'w["waits"]["max_ns"] >= w["waits"]["p99_ns"] and 240 * 3e6 <= w["waits"]["sum_ns"] <= w["wait_ns"] <= w["wall_ns"] - 238 * 1e6'
result live 'w["step_to_step"]["count"] == 238 and w["step_to_step"]["p50_ns"] >= 3.92e6 and w["wait_frac"] == w["wait_ns"] / w["wall_ns"]'
result live 'abs(w["samples_per_s"] - w["samples"] * 1e9 / w["wall_ns"]) < 1e-6'
result live '[(e["number"], e["ended"], e["steps"], e["samples"]) for e in w["epochs"]] == [(0, "exhausted", 120, 478), (1, "exhausted", 120, 478)]'
result live 'all(e["wait_ns"] == e["start_ns"] + e["waits"]["sum_ns"] + e["end_wait_ns"] <= e["wall_ns"] for e in w["epochs"])'
run "$dlbench" report results/live
expect_exit 0
expect_out '^live +240 '
expect_out '^epoch 1 +120 '
run "$dlbench" report results/live/summary.json --json
expect_json '(lambda saved: d.keys() == saved.keys() and d["watch"]["waits"] == saved["watch"]["waits"])(json.load(open("results/live/summary.json")))'

# --- replay: one batch is taken, and repeated; beside the live loop
program replay <<'EOF'
from loaders import *
loader = Loader(120, 0.003)
watched = dlbench.watch(loader, replay=True, run_name="replay")
assert len(watched) == 120
for epoch in range(2):
    assert len({id(batch) for batch in watched}) == 1
assert loader.asked == 1 and loader.n_alive() == 1
del watched
assert loader.n_alive() == 0
few = dlbench.watch((batch for batch in loader), replay=7, run_name="few")
assert len(few) == 7 and len(list(few)) == 7
for bad in (0, -1, "last", 1.5):
    try:
        dlbench.watch(loader, replay=bad)
    except ValueError:
        continue
    raise SystemExit("replay=%r" % bad)
try:
    dlbench.watch(iter(loader), replay="first")
except ValueError:
    pass
else:
    raise SystemExit("a loader without a length")
EOF
result replay 'w["mode"] == "replay" and w["steps"] == 240 and w["waits"]["p50_ns"] < 3e6 and w["samples"] == 960'
result few 'w["steps"] == 7 and w["waits"]["p99_ns"] is None and w["waits"]["p50_ns"] is not None'
run "$dlbench" report results/live results/replay
expect_exit 0
expect_out '^live +240 '
expect_out '^replay +240 '
expect_out ' [0-9]+\.[0-9][0-9] times '
run "$dlbench" report results/live results/replay --json
expect_json '[x["watch"]["mode"] for x in d] == ["live", "replay"]'
run "$dlbench" run "${quick[@]}" --set run.repeats=1 --set run.max_batches=4 --run-name cells
expect_error E_REPORT_NOT_A_PAIR 2 "$dlbench" report results/live results/cells
expect_error E_REPORT_NOT_A_PAIR 2 "$dlbench" report results/cells results/live --format txt
expect_error E_REPORT_NOT_A_PAIR 2 "$dlbench" report results/live results/replay results/live

# --- the loop is as it was: batches die with it, errors pass through, any iterable will do
program same <<'EOF'
from loaders import *
loader = Loader(50)
for batch in dlbench.watch(loader, run_name="dies"):
    assert loader.n_alive() == 1
    del batch
    assert loader.n_alive() == 0
class Mine(Exception): pass
try:
    for batch, i in dlbench.watch(loader, run_name="raises"):
        if i == 9:
            raise Mine
except Mine:
    pass
del batch
assert loader.n_alive() == 0
def broken():
    yield [1]
    raise Mine
try:
    list(dlbench.watch(broken(), run_name="broken"))
    raise SystemExit("it should raise")
except Mine:
    pass
for batch, i in dlbench.watch(loader, run_name="left"):
    if i == 4:
        break
assert list(dlbench.watch([[1, 2], [3]], run_name="lists")) == [[1, 2], [3]]
assert list(dlbench.watch(({"x": [Batch(5)]} for _ in range(3)), run_name="dicts", results="results"))
assert list(dlbench.watch([[1, 2], [3]], count=len, run_name="counted"))
iterator = iter(dlbench.watch([], run_name="empty"))
assert [next(iterator, None), next(iterator, None)] == [None, None]
try:
    len(dlbench.watch(iter([]), run_name="unused"))
except TypeError:
    pass
else:
    raise SystemExit("a generator has no length")
assert list(dlbench.watch([1], results=None)) == [1]
for epoch in range(3):  # wrapped anew for each epoch: one result
    for batch in dlbench.watch(loader, run_name="again"):
        pass
EOF
result raises 'w["steps"] == 10 and w["epochs"][0]["ended"] == "left" and d["partial"] is False'
result broken 'w["steps"] == 1 and w["samples"] is None and w["epochs"][0]["ended"] == "left"'
result left 'w["steps"] == 5 and w["samples"] == 20 and w["epochs"][0]["ended"] == "left"'
result lists 'w["steps"] == 2 and w["samples"] is None and w["samples_per_s"] is None and w["steps_per_s"] > 0'
result dicts 'w["samples"] == 15 and w["settings"] == {}'
result counted 'w["samples"] == 3 and w["counted_by"] == "count"'
result empty 'w["steps"] == 0 and w["epochs"][0]["ended"] == "exhausted" and w["waits"]["p50_ns"] is None'
result again '[e["number"] for e in w["epochs"]] == [0, 1, 2] and w["steps"] == 150'
expect_no_file results/unused
for name in lists empty broken; do
    run "$dlbench" report results/$name
    expect_exit 0
    expect_no_out '(nan|inf)\b'
done

# --- epochs that overlap: time is counted once, as by a stopwatch around the loop and one in the loader
cat >stopwatch.py <<'EOF'
import contextlib, json, threading
from loaders import *
class Timed(Loader):
    def __init__(self, *args):
        super().__init__(*args)
        self.took = []
    def batch(self, i):
        start = time.perf_counter_ns()
        try:
            return super().batch(i)
        finally:
            self.took.append(time.perf_counter_ns() - start)
@contextlib.contextmanager
def stopwatch(name, loader):
    watched = dlbench.watch(loader, run_name=name)
    start = time.perf_counter_ns()
    yield watched
    with open(name + ".json", "w") as file:
        json.dump({"all": time.perf_counter_ns() - start, "waits": sum(loader.took)}, file)
EOF
program overlaps <<'EOF'
from stopwatch import *
with stopwatch("zip", Timed(30, 0.004)) as l:
    for a, b in zip(l, l):
        time.sleep(0.002)
with stopwatch("inner", Timed(12, 0.004)) as l:
    for a in l:
        for b in l:
            time.sleep(0.002)
with stopwatch("inner-left", Timed(24, 0.004)) as l:
    for a in l:
        for b, i in l:
            time.sleep(0.002)
            if i == 1:
                break
def loop(l):
    for a in l:
        time.sleep(0.002)
with stopwatch("threads", Timed(40, 0.004)) as l:
    threads = [threading.Thread(target=loop, args=(l,)) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
EOF
as_by_hand() { # name, how many threads loop, steps: wall_ns, waits and rate are those of the stopwatches
    result "$1" "(lambda hand, n: 0.8 * n * hand['all'] < w['wall_ns'] <= n * hand['all']
        and hand['waits'] <= w['wait_ns'] and 0.85 < w['wait_frac'] * n * hand['all'] / hand['waits'] < 1.25
        and w['steps'] == $3 and 0.99 < w['steps_per_s'] * hand['all'] / 1e9 / $3 < 1.25)(json.load(open('$1.json')), $2)"
    run "$dlbench" report "results/$1"
    expect_exit 0
}
as_by_hand zip 1 60
expect_out '^epoch 1 \(left\) +30 ' # zip() asks the second one no more
as_by_hand inner 1 156
as_by_hand inner-left 1 72
result inner-left 'all(e["ended"] == "left" and e["steps_per_s"] is None for e in w["epochs"][1:])'
as_by_hand threads 2 80

# Threads that save while others wait.
program saves <<'EOF'
from stopwatch import *
dlbench.SAVE_EVERY_NS = 10**5
l = dlbench.watch(Loader(500), run_name="saves")
threads = [threading.Thread(target=list, args=(l,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
EOF
expect_no_err 'Traceback|summary\.json\.part'
result saves 'sorted(e["number"] for e in w["epochs"]) == [0, 1, 2, 3] and w["steps"] == 2000 and w["wait_ns"] <= w["wall_ns"]'

# --- an epoch that was left lacks the training on its last batch: with few steps it has no rate
program briefly <<'EOF'
from loaders import *
def leave(l, *after):
    for n in after:
        for i, _ in enumerate(l, 1):
            if i == n:
                break
leave(dlbench.watch(Loader(40), replay=True, run_name="brief"), 40, 1, 10, 11)
leave(dlbench.watch(Loader(40), run_name="all-brief"), 10, 1, 1)
EOF
no_rate='[all(x[key] is None for key in ("samples_per_s", "steps_per_s", "wait_frac")) for x in [w, *w["epochs"]]]'
result brief "[e['steps'] for e in w['epochs']] == [40, 1, 10, 11] and $no_rate == [False, False, True, True, False]"
result all-brief "w['steps'] == 12 and w['wall_ns'] > 0 and $no_rate == [True] * 4"
for name in brief all-brief; do
    for format in csv md; do
        run "$dlbench" report results/$name --format $format
        expect_exit 0
        expect_no_out '(nan|inf)\b'
    done
    run "$dlbench" report results/$name
    expect_exit 0
    expect_out '^epoch 1 \(left\) +1 +- +- +- '
done

# --- names: one that is there stays, and only a result of watch is replaced
program names <<'EOF'
from loaders import *
import os
for name, overwrite in (("live", False), ("cells", True), ("a/b", True), ("..", True), ("", True)):
    try:
        dlbench.watch([1], run_name=name, overwrite=overwrite)
    except (FileExistsError, ValueError):
        continue
    raise SystemExit(name)
list(dlbench.watch([1], run_name="few", overwrite=True))
list(dlbench.watch([1])), list(dlbench.watch([2]))
EOF
result few 'w["steps"] == 1 and w["mode"] == "live"'
result live 'w["steps"] == 240'
expect [ "$(find results -name 'watch-*' | wc -l)" -eq 2 ]
run "$dlbench" report results/cells
expect_exit 0
program ranks <<'EOF'
import os
os.environ.update(RANK="3", WORLD_SIZE="8")
from loaders import *
list(dlbench.watch([1], run_name="many"))
EOF
result many-rank3 'd["rank"] == 3 and d["world"] == 8'

# --- interrupted, killed, an exception that nobody catches, a fork, a folder that is gone
cat >long.py <<'EOF'
import sys
from loaders import *
dlbench.SAVE_EVERY_NS = 10**8
for batch in dlbench.watch(Loader(100000, 0.001), run_name=sys.argv[1]):
    pass
EOF
for signal in INT KILL; do
    # A shell's background jobs ignore SIGINT, so Python is told to take it.
    python3 -c 'import signal, sys, runpy; signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["long.py", sys.argv[1]]; runpy.run_path("long.py")' "$signal" >"$out" 2>"$err" </dev/null &
    pid=$! last="long.py $signal"
    for _ in $(seq 100); do
        [ -e "results/$signal/summary.json" ] && break
        sleep 0.1
    done
    kill -"$signal" "$pid"
    wait "$pid" 2>/dev/null
done
result INT 'd["partial"] is True and d["interrupted"] is True and 0 < w["steps"] < 100000 and w["samples"] == 4 * w["steps"]'
result KILL 'd["partial"] is True and d["interrupted"] is False and w["steps"] > 0 and w["epochs"][0]["ended"] == "running"'
run "$dlbench" report results/INT
expect_out '\(PARTIAL: interrupted\)'
cat >raises.py <<'EOF'
from loaders import *
for batch, i in dlbench.watch(Loader(5), run_name="uncaught"):
    assert i < 3
EOF
run python3 raises.py
expect_exit 1
expect_err 'AssertionError'
result uncaught 'd["partial"] is True and d["interrupted"] is False and w["steps"] == 4'
program forks <<'EOF'
from loaders import *
import os, sys
for batch, i in dlbench.watch(Loader(5), run_name="forks"):
    if i == 2:
        pid = os.fork()
        if pid == 0:
            sys.exit(0)
        os.waitpid(pid, 0)
        assert not os.path.exists("results/forks/summary.json")
EOF
result forks 'w["steps"] == 5'
program gone <<'EOF'
from loaders import *
import os
for batch in dlbench.watch(Loader(5), run_name="gone"):
    if os.path.exists("results/gone"):
        os.rmdir("results/gone")
EOF
expect_err 'results/gone/summary\.json'

# --- batches whose shape is something else, names that a terminal would obey, results that are none
program odd <<'EOF'
from loaders import *
import os
class Raises:
    @property
    def shape(self): raise RuntimeError("not yet")
class Method:
    def shape(self): return (4, 3)
for i, one in enumerate([Raises(), Method(), [Raises()]]):
    assert [batch for batch in dlbench.watch([one, one], run_name="odd%d" % i)] == [one, one]
list(dlbench.watch(Loader(2), run_name="a\x1b]0;b\x07"))
os.makedirs("results/deep")
with open("results/deep/summary.json", "w") as file:
    file.write("[" * 200000)
for call in (lambda: dlbench.read("results/deep"), lambda: dlbench.watch(Loader(2), run_name="deep", overwrite=True)):
    try:
        call()
    except (dlbench.ResultError, FileExistsError):
        continue
    raise SystemExit("it was taken for a result")
EOF
expect_no_err $'[\x1b\x07]'

finish
