#!/usr/bin/env bash
# dlbench calibrate: a step of planted length on the wall clock and on a GPU's; what it writes is a configuration; a program that is
# absent, raises, hangs, crashes or returns no step.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
command -v python3 >/dev/null || skip "no python3"

cat >train.py <<'EOF'
import os, sys, time
VALUE = 3
def make_step():
    print("what a user's program prints")
    os.chdir("/")
    return lambda: time.sleep(0.005)
def none(): pass
def raises():
    def inner(): raise ValueError("a shape\nof two lines")
    def step(): inner()
    return step
def hangs(): return lambda: time.sleep(1000)
def crashes(): return lambda: os.kill(os.getpid(), 11)
def leaves(): sys.exit(0)
def vanishes(): os._exit(0)
EOF

# --- a planted step; the file is a configuration, and a result names it
run "$dlbench" calibrate --python train.py:make_step --seconds 3 --json
expect_exit 0
expect_json '5 <= d["median_ms"] < 50 and 5 <= d["mean_ms"] == d["step_ms"] and d["steps"] >= 30 and d["warmup_steps"] >= 3'
expect_json 'd["clock"] == "wall clock" and d["torch"] is None and d["target"] == "train.py:make_step" and d["path"] is None'
expect_json 'd["settled"] == (d["error_frac"] <= 0.01) and d["device"] and d["stdev_ms"] >= 0'
expect_json '(d["step_dist"], d["step_stdev_ms"]) == (("lognormal", d["stdev_ms"]) if d["stdev_ms"] > 0.01 * d["mean_ms"] else ("constant", 0))'

run "$dlbench" calibrate --python train:make_step --seconds 1 --write step.toml # as a module
expect_exit 0
cp "$out" shown
expect cmp -s step.toml shown
run "$dlbench" run "${quick[@]}" --config step.toml --set run.repeats=1 --run-name says --json
expect_json 'd["device"]["step_source"] == "configuration (--set)"' # quick sets a step itself
run "$dlbench" run "${quick[@]:0:10}" --config step.toml --set run.repeats=1 --set run.max_batches=20 --run-name used --json
expect_exit 0
expect_json 'd["config"]["device.step_ms"] >= 5 and d["device"]["step_source"].startswith("dlbench calibrate train:make_step: ")'

# --- files that exist
expect_error E_TARGET_EXISTS 2 "$dlbench" calibrate --python train.py:make_step --seconds 1 --write step.toml
run "$dlbench" calibrate --python train.py:make_step --seconds 1 --write step.toml --overwrite
expect_exit 0
echo mine >mine.toml
expect_error E_TARGET_FOREIGN 2 "$dlbench" calibrate --python train.py:make_step --seconds 1 --write mine.toml --overwrite
expect [ "$(cat mine.toml)" = mine ]

# --- what can be wrong with the program
while read -r code exit target; do
    limit=30 # the interpreter's start counts
    [ "$code" != E_PROGRAM_HANGS ] || limit=1
    expect_error "$code" "$exit" "$dlbench" calibrate --python "$target" --seconds 1 --timeout-s "$limit" --write new.toml --json
done <<'EOF'
E_STEP_NOT_FOUND 2 absent.py:make_step
E_STEP_NOT_FOUND 2 absent.module:make_step
E_STEP_NOT_FOUND 2 train.py:absent
E_STEP_NOT_FOUND 2 train.py
E_STEP_NOT_CALLABLE 2 train.py:VALUE
E_STEP_NOT_CALLABLE 2 train.py:none
E_STEP_RAISED 3 train.py:raises
E_STEP_RAISED 3 train.py:leaves
E_STEP_CRASHED 3 train.py:crashes
E_STEP_CRASHED 3 train.py:vanishes
E_PROGRAM_HANGS 3 train.py:hangs
EOF
expect_no_file new.toml
expect_error E_STEP_RAISED 3 "$dlbench" calibrate --python train.py:raises --seconds 1
expect_err 'train\.py:10 in step > train\.py:9 in inner: ValueError'
echo 'import absent_package' >imports.py
expect_error E_STEP_RAISED 3 "$dlbench" calibrate --python imports.py:make_step
expect_err 'absent_package'
expect_error E_USAGE_MISSING_ARGUMENT 2 "$dlbench" calibrate
expect_error E_PYTHON_NOT_FOUND 2 "$dlbench" calibrate --python train.py:make_step --interpreter /no/such/python
expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" calibrate --python train.py:make_step --seconds -1

# --- the active environment's interpreter comes first
mkdir -p venv/bin
printf '#!/bin/sh\necho used >>"%s/venv/used"\nexec "%s" "$@"\n' "$tmp" "$(command -v python3)" >venv/bin/python3
chmod 755 venv/bin/python3
run env VIRTUAL_ENV="$tmp/venv" "$dlbench" calibrate --python train.py:make_step --seconds 1 --json
expect_exit 0
expect_json "d['interpreter'] == '$tmp/venv/bin/python3'"
expect_file venv/used

# --- CUDA's clock: a torch whose GPU takes 4 ms for a step that is queued at once
mkdir gpu
cat >gpu/torch.py <<'EOF'
import time
__version__ = "0.fake"
class cuda:
    free = 0.0
    @staticmethod
    def is_available(): return True
    is_initialized = is_available
    @staticmethod
    def get_device_name(): return "Fake GPU"
    @staticmethod
    def synchronize(): time.sleep(max(cuda.free - time.perf_counter(), 0))
    @staticmethod
    def launch(): cuda.free = max(cuda.free, time.perf_counter()) + 0.004
    class Event:
        def __init__(self, enable_timing): assert enable_timing
        def record(self): self.at = max(cuda.free, time.perf_counter())
        def synchronize(self): time.sleep(max(self.at - time.perf_counter(), 0))
        def elapsed_time(self, end): return (end.at - self.at) * 1e3
EOF
printf 'import torch\ndef make_step(): return torch.cuda.launch\n' >gpu_train.py
run env PYTHONPATH=gpu "$dlbench" calibrate --python gpu_train.py:make_step --seconds 3 --json
expect_exit 0
expect_json 'd["clock"] == "CUDA events" and d["device"] == "Fake GPU" and d["torch"] == "0.fake"'
expect_json '3.99 < d["median_ms"] < 4.01 and d["steps"] >= 30'

# --- interrupted: nothing is written, and nothing stays
"$dlbench" calibrate --python train.py:hangs --write new.toml >"$out" 2>"$err" </dev/null &
pid=$! last='calibrate, interrupted'
sleep 1
python=$(child_of "$pid")
kill -INT "$pid"
wait "$pid"
code=$?
expect_exit 130
expect_no_file new.toml
expect [ -n "$python" ]
expect [ ! -e "/proc/$python" ]

finish
