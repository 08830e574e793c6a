#!/usr/bin/env bash
# sweep.confirm with a stand-in for torch: after the race, PyTorch's own cells race, and give the settings to paste.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1
double=$DLB_SOURCE_DIR/tests/support/torch_double
mkdir no_torch
echo 'raise ImportError("hidden by the test")' >no_torch/torch.py

sweep=("${quick[@]}" --set sweep.loader.num_workers='[0, 1]' --set loader.pin_memory=true --set sweep.max_minutes=0.4
    --set python.interpreter=python3 --results results --overwrite)
torch='[c for c in d["cells"] if c["pipeline"] == "pytorch"]'
hardware='[c for c in d["cells"] if c["pipeline"] == "hardware"]'

# --- the whole sweep
PYTHONPATH=$double run_until "len($torch) > 0 and any(c['index'] == d['best_cell'] for c in $torch)" \
    "$dlbench" sweep "${sweep[@]}" --run-name auto --json
expect_exit 0
valid_summary "$out"
expect_json "[c['index'] for c in $hardware] == [0, 1] and 2 <= len($torch) <= 8"
expect_json "all(c['config']['loader.kind'] == 'torch' for c in $torch)"
expect_json "any(c['config']['loader.kind'] == 'torch' for c in d['ceilings']) and any(c['config']['loader.kind'] != 'torch' for c in d['ceilings'])"
expect_json "all(c['python']['torch'] == '0.double' for c in $torch if c['status'] == 'ok')"
expect_json 'd["recommendation_detail"]["hardware"]["blocks"] >= 1'
expect_json "d['best_cell'] in [c['index'] for c in $torch]"
expect_json "d['recommended_cell'] is None or d['recommended_cell'] in [c['index'] for c in $torch]"
expect_json "all(i in [c['index'] for c in $torch] for i in d['not_separable'] + d['tied_with_best'])"
expect_json "d['pytorch'] == '' or 'loader.pin_memory' in d['recommendation_detail']['unmeasured']"
expect_json "d['pytorch'] == '' or d['pytorch'].split('num_workers=')[1][0] == str(d['cells'][d['best_cell'] if d['recommended_cell'] is None else d['recommended_cell']]['config']['loader.num_workers'])"
run "$dlbench" report results/auto
expect_exit 0
run "$dlbench" report results/auto --json
expect_exit 0

# --- without torch, and where it is not asked for, the sweep is as it was and says so
notes='[n["code"] for n in d["not_modelled"]]'
for how in auto none; do
    PYTHONPATH=$([ $how = auto ] && echo no_torch || echo "$double") run "$dlbench" sweep "${sweep[@]}" --set sweep.confirm=$how \
        --set sweep.max_minutes=0.15 --run-name plain --json
    expect_exit 0
    valid_summary "$out"
    expect_json "len(d['cells']) == 2 and not $torch and d['recommendation_detail']['hardware'] is None"
    expect_json "'PYTORCH_NOT_MEASURED' in $notes and d['recommendation_detail']['unmeasured'] == []"
done
PYTHONPATH=no_torch expect_error E_PYTHON_NO_TORCH 2 "$dlbench" sweep "${sweep[@]}" --set sweep.confirm=torch --run-name missing
PYTHONPATH=$double expect_error E_SWEEP_CONFIRM 2 "$dlbench" sweep "${sweep[@]}" --set sweep.confirm=torch \
    --set sweep.exhaustive=true --run-name exhaustive

# --- a sweep of PyTorch's own cells has one race
PYTHONPATH=$double run "$dlbench" sweep "${sweep[@]}" --set loader.kind=torch --set sweep.max_minutes=0.15 --run-name own --json
expect_exit 0
expect_json "len(d['cells']) == 2 == len($torch) and d['recommendation_detail']['hardware'] is None"

# --- interrupted among PyTorch's cells: what was measured stays, and no process is left
PYTHONPATH=$double "$dlbench" sweep "${sweep[@]}" --set sweep.max_minutes=3 --set sweep.tolerance=0.0001 --run-name cut \
    >"$out" 2>"$err" </dev/null &
pid=$!
last="sweep, interrupted"
for _ in $(seq 1200); do
    grep -qs '"pipeline": *"pytorch"' results/cut/summary.json && break
    sleep 0.1
done
kill -INT "$pid"
wait "$pid"
code=$?
expect_exit 130
python3 - results/cut/summary.json <<'PY' || failed "the summary of an interrupted sweep"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["interrupted"] and d["partial"], (d["interrupted"], d["partial"])
assert any(c["pipeline"] == "pytorch" for c in d["cells"])
assert all(c["status"] == "ok" for c in d["cells"][:2])
PY
valid_summary results/cut/summary.json
for _ in $(seq 40); do pgrep -f "$tmp/results.*/dlbench_serve.py" >/dev/null || break; sleep 0.05; done
pgrep -f "$tmp/results.*/dlbench_serve.py" >/dev/null && failed "no interpreter should be left"

finish
