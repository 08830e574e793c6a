#!/usr/bin/env bash
# dlbench gap: the ladder with and without PyTorch, with a torch that crashes, and an interrupted ladder.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
command -v python3 >/dev/null || skip "no python3"

tiny=(--samples 20000 --features 10 --batch-size 3000 --set gap.repeats=1 --set device.step_ms=0.1)
c_rungs='["floor", "direct", "gather", "dlbench", "per-sample", "transport", "transport-pooled", "pin-thread", "pin-thread-pooled"]'
torch_rungs='["torch-direct", "torch-gather", "torch-dataloader", "torch-dataloader-workers", "torch-batch-sampler", "torch-out-of-order"]'
status_of() { json_get "$1" "{r['rung']: r['status'] for r in d['gap']['rungs']}.get('$2')"; }

# --- interpreters without torch: a module of that name raises the ImportError
mkdir absent crashing
# What it says holds a backslash before an x and a byte that is not UTF-8, as paths may: both are shown as they are.
printf '%s\n' 'raise ImportError("there is none in \\x41 and \udcff")' >absent/torch.py
run env PYTHONPATH=absent "$dlbench" gap "${tiny[@]}" --run-name absent --json
expect_exit 0
valid_summary "$out"
expect_json "[r['rung'] for r in d['gap']['rungs']] == $c_rungs + $torch_rungs"
expect_err '^dlbench: note: .*PyTorch'
expect_json 'd["command"] == "gap" and d["cells"] == [] and d["partial"] is False and d["best_cell"] is None'
expect_json "all(r['status'] == 'ok' and r['seconds']['median'] > 0 for r in d['gap']['rungs'] if r['rung'] in $c_rungs)"
expect_json "all(r['status'] == 'not-measured' and 'torch' in r['reason'] for r in d['gap']['rungs'] if r['rung'] in $torch_rungs)"
expect_json 'len({r["checksum"] for r in d["gap"]["rungs"] if r["checksum"]}) == 1'
expect_json '"gap.text" in d["verdict"]["text"]'
expect_json "all(r'\\x5cx41 and \\xff' in x['reason'] for x in d['gap']['rungs'] if x['rung'] in $torch_rungs)"
expect_json 'd["gap"]["decomposition"] == [] and "torch" in d["gap"]["text"] and d["gap"]["python"]["path"] is None'
expect_json 'd["config"]["gap.samples"] == 20000 and d["config"]["gap.workers"] > 0 and d["dataset"]["format"] == "memory"'
expect_json 'all(abs(sum(p["seconds"] for p in r["parts"].values()) - r["seconds"]["values"][0]) < 1e-6 for r in d["gap"]["rungs"] if r["parts"])'
expect_json 'any(n["code"] == "GAP_NO_TORCH" for n in d["notes"])'
expect_json 'd["noise_floor_frac"] is None' # nothing was repeated
run env PYTHONPATH=absent "$dlbench" gap "${tiny[@]}" --set gap.repeats=2 --run-name twice --json
expect_exit 0
valid_summary "$out"
expect_json '0 < d["noise_floor_frac"] <= 1'
run "$dlbench" report results/twice
expect_out '^Noise floor: '
for file in summary.json summary.txt report.html environment.json; do expect_file "results/absent/$file"; done
expect [ "$(ls -A results/absent | wc -l)" -eq 4 ]

# --- the report of the result, also at 80 columns
run "$dlbench" report results/absent
expect_exit 0
expect_out 'of direct'
expect_out '^floor +'
expect_out '^not-measured: torch-direct, torch-gather'
expect_out 'run queue'
expect_no_out '(nan|inf)\b'
if command -v script >/dev/null; then
    run script -qec "stty cols 80; '$dlbench' report results/absent" /dev/null
    expect_exit 0
    expect [ "$(tr -d '\r' <"$out" | awk '{ if (length > n) n = length } END { print n }')" -le 80 ]
fi

# --- a torch that crashes when it is imported costs only its rungs
printf '%s\n' 'import os' 'os.write(2, "na\u00efve \\x41\n".encode() + b"\xff\n")' 'os.abort()' >crashing/torch.py
run env PYTHONPATH=crashing "$dlbench" gap "${tiny[@]}" --run-name crashing --json
expect_exit 0
valid_summary "$out"
expect_json "all(r['status'] == 'ok' for r in d['gap']['rungs'] if r['rung'] in $c_rungs) and d['partial'] is True"
expect_json "all(r['status'] == 'failed' and 'SIGABRT' in r['reason'] for r in d['gap']['rungs'] if r['rung'] in $torch_rungs)"
expect_json "all('na\u00efve ' r'\\x5cx41 \\xff' in r['reason'] for r in d['gap']['rungs'] if r['rung'] in $torch_rungs)"
expect_err '^dlbench: partial: 6 of 15 .*torch-direct'
expect_err '--python'
expect_no_err 'pip install'

# --- a torch that crashes later, in every PyTorch rung
rm crashing/torch.py
mkdir -p crashing/torch/utils/data
printf '%s\n' 'import os, types' '__version__ = "0"' 'def ones(n): return types.SimpleNamespace(sum=lambda: 0)' \
    'cuda = types.SimpleNamespace(is_available=lambda: False)' 'def manual_seed(n): os.kill(os.getpid(), 11)' \
    'def get_num_threads(): return 3' \
    'from . import utils' >crashing/torch/__init__.py
printf 'from . import data\n' >crashing/torch/utils/__init__.py
printf 'class DataLoader:\n    def __init__(self, dataset, in_order=True): pass\n' >crashing/torch/utils/data/__init__.py
printf '%s\n' '#!/bin/sh' 'exec python3 "$@"' >mine # as PyTorch's cells have it
chmod +x mine
run env PYTHONPATH=crashing "$dlbench" gap "${tiny[@]}" --set python.interpreter=./mine --run-name later --json
expect_exit 0
valid_summary "$out"
expect_json "all(r['status'] == 'ok' for r in d['gap']['rungs'] if r['rung'] in $c_rungs) and d['gap']['python']['torch'] == '0'"
expect_json "d['gap']['python']['path'].endswith('mine') and d['config']['python.interpreter'] == './mine'"
expect_json "d['gap']['python']['threads'] == 3 and any(n['code'] == 'GAP_TORCH_THREADS' and '3 threads' in n['text'] for n in d['notes'])"
expect_json "all(r['status'] == 'failed' and 'SIGSEGV' in r['reason'] for r in d['gap']['rungs'] if r['rung'] in $torch_rungs)"

# --- wrong usage
while read -r wanted wrong; do
    # shellcheck disable=SC2086
    expect_error "$wanted" 2 "$dlbench" gap "${tiny[@]}" --run-name wrong $wrong
    expect_no_file results/wrong
done <<'WRONG'
E_CONFIG_OUT_OF_RANGE --samples 0
E_CONFIG_WRONG_TYPE --samples many
E_CONFIG_OUT_OF_RANGE --batch-size -1
E_PYTHON_NOT_FOUND --python /no/such/python
E_PYTHON_NOT_FOUND --set python.interpreter=/no/such/python
E_PYTHON_NOT_FOUND --python /no/such/python --set python.interpreter=python3
E_GAP_SWEPT --set sweep.gap.samples=[1,2]
E_USAGE_UNKNOWN_FLAG --repeat 3
E_CONFIG_UNKNOWN_KEY --set loader.num_workers=2
WRONG
expect_error E_RESULT_EXISTS 2 "$dlbench" gap "${tiny[@]}" --run-name absent

# --- more than any memory holds
expect_error E_GAP_TOO_LARGE 3 env PYTHONPATH=absent "$dlbench" gap --samples 20000 --features 16777216 --set gap.batch_size=1 \
    --set gap.workers=256 --run-name huge
expect_err 'gap\.features'

# --- Ctrl-C: the rungs measured so far
last='gap, interrupted'
PYTHONPATH=absent "$dlbench" gap --samples 20000 --features 100 --batch-size 2000 --set gap.repeats=1000 --run-name stopped \
    >"$out" 2>"$err" </dev/null &
pid=$!
for _ in $(seq 1200); do
    [ -e results/stopped/summary.json ] && break # a block is done
    sleep 0.1
done
kill -INT "$pid"
end_long
expect_exit 130
expect_err 'interrupted'
expect [ -z "$(find results/stopped -name ".cells*")" ]
valid_summary results/stopped/summary.json
expect [ "$(json_get results/stopped/summary.json 'd["partial"], d["interrupted"]')" = "(True, True)" ]
expect [ "$(status_of results/stopped/summary.json direct)" = ok ]
expect [ "$(json_get results/stopped/summary.json '"gap.text" in d["verdict"]["text"]')" = True ]

finish
