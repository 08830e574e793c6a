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
PYTHONPATH=$double run "$dlbench" sweep "${quick[@]}" --set 'sweep.loader.num_workers=[0, 1]' --set sweep.max_minutes=2 \
    --set python.interpreter=python3 --run-name torch
expect_exit 0
look torch
PYTHONPATH=$double run "$dlbench" run "${quick[@]}" --set loader.kind=torch --set loader.num_workers=1 \
    --set python.interpreter=python3 --run-name stamps
expect_exit 0
look stamps
PYTHONPATH=$double run "$dlbench" run "${quick[@]}" --set loader.kind=torch --set loader.num_workers=0 \
    --set python.interpreter=python3 --run-name alone --trace alone.json
expect_exit 0
look alone

# --- the ladder, a storage
run "$dlbench" gap --samples 20000 --features 10 --batch-size 3000 --set gap.repeats=3 --set device.step_ms=0.1 --run-name gap
expect_exit 0
look gap
for kind in gap sweep watch; do # with what this machine may lack, as the decomposition
    mkdir -p "results/corpus-$kind"
    cp "$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/$kind" "results/corpus-$kind/summary.json"
    look "corpus-$kind"
done

# --- a storage with a cell for each point: without a fitted curve, with one, and with a sharp knee
mkdir results/points results/fitted results/knee
python3 - "$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/storage" <<'PY'
import copy, json, sys
with open(sys.argv[1]) as file:
    document = json.load(file)
model = document["cells"][0]
document["cells"] = [dict(copy.deepcopy(model), index=at) for at in range(len(document["storage"]["curve"]))]
for name, fit in (("points", None), ("fitted", {"sharpness": 9.5}), ("knee", {"sharpness": None})):
    if fit:
        fit.update(used=True, at=6.4, low=5.7, high=6.8, noise_frac=0.01, lack_of_fit_p=0.5, values=9, left_out=0)
        document["storage"]["fit"] = fit
    with open("results/%s/summary.json" % name, "w") as file:
        json.dump(document, file)
PY
look points
look fitted
look knee

# --- ranks on machines that are alike, but for what a kernel keeps of their memory; and one that has fewer CPUs and less memory
mkdir results/alike results/unlike
python3 - <<'PY'
import json
with open("results/run/summary.json") as file:
    document = json.load(file)
PROGRAM, DATA = "00aa11bb22cc33dd", "77ee66ff55001122"
document.update(world=5, clock_offset_us={"max": 34.5, "error": 2.25}, ranks_traffic={"calls": 128, "bytes": 44500, "cpu_s": 0.0375},
                ranks_samples_per_s={"total": 5010, "worst": 1000, "median": 1002}, first_done_s=3.25, last_done_s=3.5, barrier_us=None,
                straggler=None)
document["ranks"] = [{"rank": at, "node": "node%d" % (at // 2), "data_id": DATA, "status": "ok", "samples_per_s": 1000 + at,
                      "gpu_idle_frac": 0.125, "input_wait_frac": 0.0625, "done_s": 3.25 + at / 20, "straggler": None} for at in range(5)]
for name, cpus, ram_bytes in (("alike", 8, 67108864000), ("unlike", 4, 33554432000)):
    document["nodes"] = [{"node": "node%d" % at, "ranks": 1 if at == 2 else 2, "cpus": cpus if at == 2 else 8, "cpus_there": 16,
                          "ram_bytes": ram_bytes if at == 2 else 67200000000, "program": PROGRAM, "data_id": DATA} for at in range(3)]
    with open("results/%s/summary.json" % name, "w") as file:
        json.dump(document, file)
PY
look alike
look unlike

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

# --- 500 cells that differ in every figure, as measured ones do: a packed page is as large as a real one; and hostile names
mkdir results/many results/hostile
python3 - <<'PY'
import copy, json, random, re, statistics
rng = random.Random(500)
SAME = ("config", "accelerators", "index", "blocks") # of all cells, or numbers of something

def varied(value):
    """A few percent off. A share stays one, a count stays whole."""
    other = value * rng.uniform(0.95, 1.05)
    return round(other) if isinstance(value, int) else float("%.10g" % (min(other, 1.0) if 0 <= value <= 1 else other))

def vary(entry):
    """The figures in an entry of the document; those that have an order keep it."""
    for key, value in list(entry.items() if isinstance(entry, dict) else enumerate(entry)):
        if isinstance(value, (dict, list)) and key not in SAME:
            vary(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and key not in SAME:
            entry[key] = varied(value)
    for keys in (("low", "median", "high"), ("p50_ns", "p99_ns", "p999_ns", "max_ns")) if isinstance(entry, dict) else ():
        known = [key for key in keys if isinstance(entry.get(key), (int, float))]
        entry.update(zip(known, sorted(entry[key] for key in known)))

def repeat(cell, n, scale):
    """Repetitions of its own, in each of its rates."""
    cell["repeats"] = n
    for key, figures in cell.items():
        if key.endswith("samples_per_s") and isinstance(figures, dict) and figures.get("median"):
            values = [varied(figures["median"] * scale) for _ in range(n)]
            figures.update(values=values, median=statistics.median(values), low=min(values), high=max(values), interval="min-max")

with open("results/race/summary.json") as file:
    document = json.load(file)
model, cells = document["cells"][-1], []
for number in range(500):
    cell = copy.deepcopy(model)
    vary(cell)
    repeat(cell, rng.randint(2, 5), rng.uniform(0.5, 1.5))
    cell["index"] = number
    cell["config"].update({"loader.num_workers": number % 20, "loader.prefetch_factor": 1 + number // 20})
    cell["verdict"]["text"] = re.sub(r"\d+", lambda digits: str(varied(int(digits[0]))), cell["verdict"]["text"])
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
look points fitted
look corpus-gap gap

# --- what is wrong on a page is found: in each of its tables another number, and then one thing after the other
planted() { # RESULT FIGURE...
    local figure script='' name=$1
    shift
    for figure in "$@"; do script+="/id=\"r0-$figure\"/,/<\/figure>/ s/data-v=\"[^\"]*\"/data-v=\"0.0123456\"/;"; done
    sed "$script" "page-$name-1.html" >planted.html
    run python3 "$pages" --quick planted.html "results/$name/summary.json"
    expect_exit 1
    for figure in "$@"; do expect_out "r0-$figure, row "; done
}
planted race rates idle window loop work spread race cells
planted run timeline
planted fitted curve
planted corpus-gap ladder waterfall
planted corpus-watch epochs
planted torch in_c
planted stamps python
planted turns changes
planted unlike ranks nodes
changed() { # WORD RESULT EXPRESSION: this finding, of a page so changed
    local how=(--quick)
    [ "$1" = paper ] && how=()
    sed -E "$3" "page-$2-1.html" >planted.html
    run python3 "$pages" "${how[@]}" planted.html "results/$2/summary.json"
    expect_exit 1
    expect_out "(^| )$1: "
}
changed tiles race 's/(<dd data-v=")[0-9.]+/\11234567/'
changed printed race '/id="r0-window"/,/<\/figure>/ s/>[0-9.]+%</>12.3%</'
changed lanes run 's/h[0-9.]+v10/h1.0v10/'
changed facts alike 's|(<dt>ranks</dt>.*)67\.2 GB|\167.3 GB|'
changed facts alike 's|(<dt>clocks</dt>.*)34\.5|\134.6|'
changed facts unlike 's|(<dt>MPI</dt>.*)44\.5|\145.4|'
changed links race 's/ href="#r0-c[0-9]+"//g'
changed links race 's/ href="#r0-c([0-9]+)"/ href="#r0-c1\1"/g'
changed paper run 's|</main>|<canvas width="1000"></canvas>&|'
changed paper run '/id="r0-rates"/,/<\/figure>/ { s/<figure/<details>&/; s|</figure>|&</details>| }'

finish
