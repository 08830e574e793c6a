#!/usr/bin/env bash
# Pages of every kind of result in a headless Chromium: at 360, 1280 and 1920 px, light, dark and on paper. Each opens without an
# error, fits its width, draws its charts, and shows what summary.json has.
DLB_TEST_LIMIT_S=${DLB_TEST_LIMIT_S:-280}
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
export PYTHONDONTWRITEBYTECODE=1
pages=$DLB_SOURCE_DIR/tests/support/pages.py
double=$DLB_SOURCE_DIR/tests/support/torch_double
unset VIRTUAL_ENV CONDA_PREFIX

# look NAME...: the page of these results.
look() {
    local name documents=()
    for name in "$@"; do documents+=("results/$name/summary.json"); done
    run "$dlbench" report "${documents[@]}" --format html
    expect_exit 0
    cp "$out" "page-$1-$#.html"
    run python3 "$pages" "page-$1-$#.html" "${documents[@]}"
    [ "$code" -ne 77 ] || skip "no Chromium"
    expect_exit 0
}

# --- a run, which is a single cell; a sweep that races; a sweep of one cell
run "$dlbench" run "${quick[@]}" --set device.host_busy_frac=0.3 --loader.num_workers 1 --run-name run --trace run.json
expect_exit 0
look run
run "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[1, 2, 4]' --set 'sweep.loader.prefetch_factor=[2, 4]' \
    --set sweep.max_minutes=0.3 --run-name race
expect_exit 0
look race
run "$dlbench" sweep "${brief[@]}" --set 'sweep.loader.num_workers=[1]' --set sweep.confirm=none --run-name single
expect_exit 0
look single

# --- a cell that failed
run "$dlbench" sweep "${brief[@]}" --set 'sweep.loader.num_workers=[0, 1]' --set sweep.exhaustive=true --run-name failed
expect_exit 0
python3 - results/failed/summary.json <<'PY'
import json, sys
with open(sys.argv[1]) as file:
    document = json.load(file)
cell = document["cells"][1]
cell.update(status="failed", code="E_CHILD_KILLED", reason="the process was killed by signal 9", repeats=0)
cell["samples_per_s"].update(median=None, low=None, high=None, interval="none", values=[])
for key in ("within_epoch_samples_per_s", "epoch_samples_per_s"):
    if cell.get(key):
        cell[key].update(median=None, low=None, high=None, interval="none", values=[])
document["partial"] = True
with open(sys.argv[1], "w") as file:
    json.dump(document, file)
PY
look failed

# --- PyTorch's pipeline, beside this hardware's
PYTHONPATH=$double run "$dlbench" sweep "${quick[@]}" --set 'sweep.loader.num_workers=[0, 1]' --set sweep.max_minutes=0.4 \
    --set python.interpreter=python3 --run-name torch
expect_exit 0
look torch

# --- the ladder, a storage
run "$dlbench" gap --samples 20000 --features 10 --batch-size 3000 --set gap.repeats=3 --set device.step_ms=0.1 --run-name gap
expect_exit 0
look gap
for kind in gap storage sweep; do # with what this machine may lack: the decomposition, the fitted curve
    mkdir -p "results/corpus-$kind"
    cp "$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/$kind" "results/corpus-$kind/summary.json"
    look "corpus-$kind"
done

# --- interrupted
"$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[1, 2]' --set sweep.max_minutes=5 --run-name partial >"$out" 2>"$err" </dev/null &
pid=$! last='sweep, interrupted'
for _ in $(seq 600); do
    [ -e results/partial/summary.json ] && break
    sleep 0.1
done
kill -INT "$pid"
wait "$pid"
expect [ "$(json_get results/partial/summary.json 'd["interrupted"]')" = True ]
look partial

# --- 500 cells, and hostile names
mkdir results/many results/hostile
python3 - <<'PY'
import copy, json
with open("results/race/summary.json") as file:
    document = json.load(file)
model, cells = document["cells"][-1], []
for number in range(500):
    cell = copy.deepcopy(model)
    cell["index"] = number
    cell["config"].update({"loader.num_workers": number % 20, "loader.prefetch_factor": 1 + number // 20})
    for key in ("median", "low", "high"):
        cell["samples_per_s"][key] = float("%.9g" % (cell["samples_per_s"][key] * (1 + number / 500)))
    cells.append(cell)
document.update(cells=cells, axes={"loader.num_workers": list(range(20)), "loader.prefetch_factor": list(range(1, 26))})
with open("results/many/summary.json", "w") as file:
    json.dump(document, file)
name = "</script><script>alerted = 1</script><img src=x onerror='alerted=1'>\"'\u202e\u2066\u2028\x07\u05e9\u05dc"
with open("results/race/summary.json") as file:
    document = json.load(file)
document.update(run_name=name, pytorch=name)
document["device"]["name"] = document["environment"]["host"] = document["dataset"]["format"] = name
document["axes"]["python.dataset"] = [name, "x"]
for cell in document["cells"]:
    cell["config"]["python.dataset"] = name if cell["index"] % 2 else "x"
    cell["verdict"].update(text=name, cause=name)
with open("results/hostile/summary.json", "w") as file:
    json.dump(document, file)
PY
look many
look hostile

# --- compared: two results, two cells of one, and two configurations that are measured in turns
compared() { # NAME SIDE SIDE DOCUMENT...
    run "$dlbench" compare "$2" "$3" --json
    expect_exit 0
    cp "$out" "$1.json"
    run "$dlbench" compare "$2" "$3" --format html
    expect_exit 0
    cp "$out" "page-$1.html"
    run python3 "$pages" "page-$1.html" "$1.json" "${@:4}"
    expect_exit 0
}
compared change results/race results/many results/{race,many}/summary.json
compared cells results/race#0 results/race#1 results/race/summary.json
compared gaps results/gap results/gap results/gap/summary.json
for workers in 0 1; do
    printf '[dataset]\nformat = "synthetic"\ncodec = "raw"\n[generate]\nsamples = 328\n[loader]\nbatch_size = 16\nnum_workers = %d\n[device]\nstep_ms = 1\n[run]\nrepeats = 3\n' \
        "$workers" >"$workers.toml"
done
run "$dlbench" compare --run 0.toml 1.toml --run-name turns
expect_exit 0
look turns

# --- beside each other
look race torch run
look corpus-storage corpus-storage

finish
