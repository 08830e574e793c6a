#!/usr/bin/env bash
# dlbench sweep: what is run, what is skipped and why, what is recommended, and what an interrupt or a lost cell leaves.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

cat >sweep.toml <<'TOML'
[dataset]
format = "synthetic"
codec = "raw"
[generate]
samples = 1600
sample_bytes = 4096
[loader]
batch_size = 16
sample_sleep_us = 100
drop_last = true
[device]
step_ms = 0.7
[run]
repeats = 2
max_batches = 90
epochs = 3
[sweep]
exhaustive = true
loader.num_workers = [0, 1, 4]
loader.prefetch_factor = [2, 4]
TOML

# --- the document; again where the machine was taken away meanwhile, so that cells are not judged, or by intervals that tell nothing
all_judged="all($judged(d[\"cells\"][i]) for i in (0, 2, 4, 5))"
run_until "$all_judged and all(d[\"cells\"][i][\"verdict\"][\"class\"] != \"BORDERLINE\" for i in (0, 2))" "$dlbench" sweep --config sweep.toml --run-name first --overwrite --json
expect_exit 0
valid_summary "$out"
expect_json 'd["command"] == "sweep" and len(d["cells"]) == 6 and [c["index"] for c in d["cells"]] == list(range(6))'
expect_json '[c["status"] for c in d["cells"]] == ["ok", "skipped", "ok", "ok", "ok", "ok"]'
expect_json '"num_workers = 0" in d["cells"][1]["reason"] and d["cells"][1]["samples_per_s"]["median"] is None'
expect_json 'd["cells"][0]["config"]["loader.prefetch_factor"] is None and d["cells"][1]["config"]["loader.prefetch_factor"] == 4'
expect_json 'd["axes"] == {"loader.num_workers": [0, 1, 4], "loader.prefetch_factor": [2, 4]}'
expect_json 'd["verdict"] == d["cells"][d["best_cell"]]["verdict"]'
expect_json 'd["reference"]["cell"] == 0 and len(d["ceilings"]) == 1 and len(d["ceilings"][0]["steps_per_s"]["values"]) == 2'
expect_json '{"NO_PERSISTENT_WORKERS", "NO_GPU"} <= {n["code"] for n in d["not_modelled"]}'
# What others disturbed was measured again, and every run is published.
expect_json 'all(c["noise"]["runs"] == len(c["noise"]["as_measured"]["values"]) == 2 + c["noise"]["repeated"] for c in d["cells"] if c["status"] == "ok")'
expect_json 'all(c["noise"]["repeated"] <= 6 and len(c["noise"]["undisturbed"]["values"]) == c["noise"]["runs"] - c["noise"]["disturbed"] for c in d["cells"])'
expect_json 'all(set(c["samples_per_s"]["values"]) <= set(c["noise"]["as_measured"]["values"]) for c in d["cells"])'
expect_json 'all((c["noise"]["disturbed"] > 0) == (c["noise"]["causes"] != []) and c["noise"]["still_disturbed"] <= 2 for c in d["cells"])'
expect_json 'all(c["strain"] is None or 0 <= c["strain"]["others_frac"] <= 1.05 for c in d["cells"]) and (not any(c["noise"]["disturbed"] for c in d["cells"]) or any(n["code"] == "DISTURBED" for n in d["notes"]))'
expect_json 'd["noise_floor_frac"] > 0 and (not d["too_busy"] or (d["pytorch"] == "" and d["recommended_cell"] is None))'
if [ "$(json_get "$out" "$all_judged")" = True ]; then
    expect_json 'd["best_cell"] in (4, 5) and d["recommended_cell"] in (None, 4, 5)'
    expect_json 'd["cells"][0]["verdict"]["class"] == "INPUT-BOUND" and d["cells"][2]["verdict"]["class"] == "INPUT-BOUND"'
    expect_json 'd["cells"][2]["samples_per_s"]["median"] < d["cells"][d["best_cell"]]["samples_per_s"]["median"]'
    # What is to be pasted is Python, and says what the cell measured.
    expect_json 'd["too_busy"] or (lambda k: k["num_workers"] == 4 and k["persistent_workers"] is True and k["batch_size"] == 16 and k["drop_last"] is True)(eval(d["pytorch"], {"DataLoader": lambda dataset, **k: k, "dataset": None}))'
else
    echo "not judged on this machine: $(json_get "$out" '[c["verdict"]["class"] for c in d["cells"]]')"
fi

# --- the terminal
run "$dlbench" report results/first
expect_exit 0
expect_out '^ *cell +workers +pin +prefetch +persistent +samples/s +read MB/s +GPU idle % +input wait % +first batch +verdict$'
expect_out '^skipped: prefetch_factor .*\(cell 1\)'
[ "$(json_get results/first/summary.json "$all_judged")" = False ] || expect_out 'INPUT-BOUND'

# --- equal configurations have equal hashes and data ids; others have not
run "$dlbench" sweep --config sweep.toml --set sweep.loader.num_workers=[1] --set sweep.loader.prefetch_factor=[2] --run-name one --json
expect_exit 0
expect_json 'len(d["cells"]) == 1 and d["recommended_cell"] == (None if d["verdict"]["class"] in ("INCOMPLETE", "HARNESS-BOUND") else 0)'
expect [ "$(json_get results/first/summary.json 'd["config_hash"]')" != "$(json_get results/one/summary.json 'd["config_hash"]')" ]
expect [ "$(json_get results/first/summary.json 'd["dataset"]["id"]')" = "$(json_get results/one/summary.json 'd["dataset"]["id"]')" ]

# --- without axes: the default grid; persistent_workers with fewer than 3 epochs
run "$dlbench" sweep "${brief[@]}" --exhaustive --run-name grid --json
expect_exit 0
valid_summary "$out"
expect_json 'set(d["axes"]) == {"loader.num_workers", "loader.pin_memory", "loader.prefetch_factor", "loader.persistent_workers"}'
expect_json 'all(c["status"] == "skipped" and "epochs" in c["reason"] for c in d["cells"] if c["config"]["loader.num_workers"] and c["config"]["loader.persistent_workers"])'
expect_json 'sum(c["status"] == "ok" for c in d["cells"] if c["config"]["loader.num_workers"] == 0) == 2'

# --- a cell that is lost costs itself; with files there is a warm pass
run "$dlbench" gen --set dataset.path=data --set dataset.codec=raw --set generate.samples=200 --set generate.sample_bytes=2000
expect_exit 0
files=(--set dataset.codec=raw --set loader.batch_size=10 --set device.step_ms=0 --set run.repeats=2)
run "$dlbench" sweep "${files[@]}" --set 'sweep.dataset.path=["data", "nowhere"]' --run-name lost --json
expect_exit 0
expect_err '^dlbench: partial: 1 of 2 .*nowhere'
expect_code E_NOT_FOUND # told when it happened
valid_summary "$out"
expect_json 'd["partial"] and [c["status"] for c in d["cells"]] == ["ok", "failed"] and "nowhere" in d["cells"][1]["reason"] and d["best_cell"] == 0'
expect_json 'd["cells"][0]["io_bytes"] == 200 * 2000'

run "$dlbench" gen --set dataset.path=more --set dataset.codec=raw --set generate.samples=150 --set generate.sample_bytes=2000
expect_exit 0
# A kernel that reclaims ahead of need (DAMON's pageout) drops single pages of idle files within seconds, with memory free:
# fincore shows it. So all pages may be there only in one of a few runs.
for _ in 1 2 3 4 5; do
    run "$dlbench" sweep "${files[@]}" --set 'sweep.dataset.path=["data", "more"]' --run-name both --overwrite --json
    expect_exit 0
    [ "$(json_get "$out" 'all(c["resident_frac"] in (None, 1.0) for c in d["cells"])')" = True ] && break
done
expect_json 'not d["partial"] and all(c["status"] == "ok" and c["resident_frac"] in (None, 1.0) for c in d["cells"])'
expect_json 'd["cells"][1]["io_bytes"] == 300000 and any(n["code"] == "DATA_SWEPT" and "dataset.path" in n["text"] for n in d["notes"])'

# --- a data set that changes during the run, which only a swept key names
for name in a b; do
    run "$dlbench" gen --dataset.format files --dataset.codec raw --dataset.path "data/$name" --generate.samples 64 --generate.sample_bytes 512
    expect_exit 0
done
"$dlbench" sweep --dataset.format files --dataset.codec raw --set 'sweep.dataset.path=["data/a", "data/b"]' \
    --set loader.batch_size=8 --set device.step_ms=60 --set run.repeats=2 --run-name changed --json >"$out" 2>"$err" </dev/null &
pid=$!
for _ in $(seq 600); do [ -e results/changed/summary.json ] && break; sleep 0.05; done
find data/b -name '*.bin' | head -n 1 | while read -r sample; do cp "$sample" "${sample%.bin}9.bin"; done
end_long
expect_exit 0
expect_json '[c["status"] for c in d["cells"]] == ["ok", "failed"] and d["cells"][1]["code"] == "E_DATASET_CHANGED"'

# --- keys that belong to the sweep as a whole cannot be swept
expect_error E_SWEEP_OF_REPEATS 2 "$dlbench" sweep "${quick[@]}" --set sweep.run.repeats=[1,2] --run-name repeats
expect_err 'sweep\.run\.repeats'
expect_no_file results/repeats
for axis in sweep.sweep.tolerance=[0.1,0.2] sweep.storage.max_minutes=[1,2]; do
    expect_error E_SWEEP_OF_ITSELF 2 "$dlbench" sweep "${quick[@]}" --set "$axis" --run-name itself
done
expect_no_file results/itself

# --- Ctrl-C in the middle of a long one
interrupt_sweep stopped --config sweep.toml --set device.step_ms=10 --set run.max_batches=25 --set run.repeats=50
expect_out 'PARTIAL: interrupted'
expect [ "$(json_get results/stopped/summary.json 'd["partial"] and d["interrupted"] and sum(c["status"] == "ok" for c in d["cells"])')" = 5 ]

# --- a later --set KEY=value pins an axis: it is told, and no other grid takes its place
expect_error E_SWEEP_NOTHING_LEFT 2 "$dlbench" sweep --config sweep.toml --set loader.num_workers=1 \
    --set loader.prefetch_factor=2 --run-name pinned
expect_err '^dlbench: note: loader\.num_workers '
expect_no_file results/pinned

finish
