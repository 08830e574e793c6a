#!/usr/bin/env bash
# --dry-run of sweep and run, and what is refused before anything runs.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

fits_a_screen() {
    [ "$(wc -l <"$out")" -le 24 ] && [ "$(LC_ALL=C.UTF-8 wc -L <"$out")" -le 80 ] || failed "more than 80x24: $(wc -lL <"$out")"
}

# --- a sweep of files: cells, memory, bytes, time; nothing is written
run "$dlbench" gen --set dataset.path=data --set dataset.codec=raw --set generate.samples=400 --set generate.sample_bytes=2000
files=(--set dataset.path=data --set dataset.codec=raw --set loader.batch_size=10 --set device.step_ms=10 --set run.max_batches=17
    --set run.repeats=3 --set loader.num_workers=2 --set device.prefetch=1)
lists=(--set 'sweep.loader.num_workers=[0, 2]' --set 'sweep.loader.prefetch_factor=[2, 4]' --set 'sweep.loader.batch_size=[10, 100, 300]')
run "$dlbench" sweep "${files[@]}" "${lists[@]}" --dry-run --json
expect_exit 0
expect_json 'd["command"] == "sweep" and d["dry_run"] and d["n_cells"] == 12 and len(d["cells"]) == 12'
expect_json '[c["code"] for c in d["cells"]] == ["E_TOO_FEW_BATCHES" if i in (2, 8, 11) else None for i in range(12)]'
expect_json 'all((c["status"] == "skipped") == bool(c["reason"]) for c in d["cells"])'
expect_json '[c["index"] for c in d["cells"] if c["status"] == "planned"] == [0, 1, 6, 7, 9, 10]'
expect_json 'd["cells"][6]["config"] == {"loader.num_workers": 2, "loader.prefetch_factor": 2, "loader.batch_size": 10}'
expect_json 'd["cells"][6]["epoch_batches"] == 40 and d["cells"][6]["batches"] == 21 and d["cells"][6]["read_bytes"] == 21 * 10 * 2000'
expect_json 'd["cells"][7]["batches"] == 4 and d["cells"][6]["slots_bytes"] == 2 * 4 * 20480 and abs(d["cells"][6]["least_s"] - 0.21) < 1e-9'
expect_json 'd["runs"] == 1 + 3 * (6 + 2) + 4 and d["warm_passes"] == 1 and d["read_bytes"] >= 800000 * 13 and 0 < d["start_s"] < d["estimate_s"]'
expect_json 'd["memory"]["available_bytes"] > d["memory"]["most_bytes"] == d["memory"]["cell_bytes"] + d["memory"]["page_cache_bytes"]'
expect_json 'd["memory"]["page_cache_bytes"] == 800000 and d["memory"]["cell_bytes"] == max(c["slots_bytes"] + c["workers_bytes"] + c["decode_bytes"] for c in d["cells"] if c["status"] == "planned")'
expect_json 'd["covers"] == "all" and d["memory"]["not_counted"] in ([], ["python"])'
expect_err_empty
expect_no_file results

run "$dlbench" sweep "${files[@]}" "${lists[@]}" --dry-run
expect_exit 0
fits_a_screen
expect_out 'E_TOO_FEW_BATCHES'
expect_no_file results

# --- what was foretold is what is measured
run "$dlbench" run "${files[@]}" --dry-run --json
slots=$(json_get "$out" 'd["cells"][0]["slots_bytes"]')
batches=$(json_get "$out" 'd["cells"][0]["epoch_batches"]')
run "$dlbench" run "${files[@]}" --set run.max_batches=0 --set run.repeats=1 --run-name told --json
expect_json "d['cells'][0]['epochs'][0]['samples'] == 10 * $batches and 0 <= d['cells'][0]['memory']['slots_bytes'] - $slots < 2 << 20" # huge pages

# --- the screen of larger sweeps
run "$dlbench" sweep --config "$DLB_SOURCE_DIR/configs/imagenet.toml" --set dataset.format=synthetic --set dataset.codec=raw --dry-run
expect_exit 0
fits_a_screen
run "$dlbench" sweep "${quick[@]}" --set run.epochs=3 --set sweep.max_minutes=3 --dry-run --json
expect_exit 0
expect_json 'd["grows"] and d["covers"] == "first_block" and d["blocks"] == 1 and d["max_s"] == 180 and d["memory"]["page_cache_bytes"] == 0'
run "$dlbench" sweep "${quick[@]}" --set run.epochs=3 --exhaustive --dry-run --json
expect_json 'not d["grows"] and d["blocks"] == 2 and d["max_s"] is None'
run "$dlbench" run "${quick[@]}" --dry-run
expect_exit 0
fits_a_screen

# --- PyTorch's own cells: how many at most, in which keys, in which time; or why there are none
if command -v python3 >/dev/null; then
    mkdir no_torch
    echo 'raise ImportError("hidden by the test")' >no_torch/torch.py
    own=("${quick[@]}" --set python.interpreter=python3 --set run.epochs=3 --set sweep.max_minutes=3
        --set 'sweep.loader.num_workers=[1, 2]' --set 'sweep.loader.prefetch_factor=[2, 4]' --set 'sweep.loader.transport=["pooled", "fresh"]')
    PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double run "$dlbench" sweep "${own[@]}" --dry-run --json
    expect_exit 0
    expect_json 'd["pytorch"]["follows"] and 2 <= d["pytorch"]["most_cells"] <= 8 and d["pytorch"]["code"] is None'
    expect_json 'd["pytorch"]["keys"] == ["loader.num_workers", "loader.prefetch_factor"] and d["memory"]["not_counted"] == ["python"]'
    expect_json '(d["pytorch"]["from_s"], d["pytorch"]["to_s"], d["max_s"]) == (72, 180, 72)'
    PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double run "$dlbench" sweep "${own[@]}" --dry-run
    expect_exit 0
    fits_a_screen
    PYTHONPATH=no_torch run "$dlbench" sweep "${own[@]}" --dry-run --json
    expect_exit 0
    expect_json 'not d["pytorch"]["follows"] and d["pytorch"]["code"] == "E_PYTHON_NO_TORCH" and d["pytorch"]["reason"] and d["max_s"] == 180'
    PYTHONPATH=no_torch expect_error E_PYTHON_NO_TORCH 2 "$dlbench" sweep "${own[@]}" --set sweep.confirm=torch --dry-run
    PYTHONPATH=no_torch run "$dlbench" sweep "${own[@]}" --dry-run
    expect_exit 0
    fits_a_screen
    expect_out 'E_PYTHON_NO_TORCH'
fi

# --- refused before anything runs
expect_error E_SWEEP_ALL_SKIPPED 2 "$dlbench" sweep "${quick[@]}" --set loader.batch_size=1000 --set loader.drop_last=true --run-name none --json
expect_err 'E_TOO_FEW_BATCHES'
expect_error E_SWEEP_ALL_SKIPPED 2 "$dlbench" sweep "${quick[@]}" --set generate.sample_bytes=1GB --set loader.batch_size=20000 --set generate.samples=200000 \
    --set sweep.confirm=none --run-name none
expect_err 'E_LOADER_SLOTS_MEMORY'
expect_error E_LOADER_SLOTS_MEMORY 3 "$dlbench" run "${quick[@]}" --set generate.sample_bytes=1GB --set loader.batch_size=20000 --set generate.samples=200000 --dry-run
expect_no_file results/none

# --- shards: batches are counted worker by worker
if has_module format webdataset; then
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=tars --set dataset.codec=raw --set generate.samples=100 \
        --set generate.sample_bytes=1000 --set webdataset.shard_samples=25
    if [ "$code" -eq 0 ]; then
        tars=(--set dataset.format=webdataset --set dataset.path=tars --set dataset.codec=raw --set loader.batch_size=20 --set loader.drop_last=true)
        run "$dlbench" sweep "${tars[@]}" --set 'sweep.loader.num_workers=[1, 2, 4]' --set run.warmup_batches=2 --dry-run --json
        expect_exit 0
        expect_json '[c["epoch_batches"] for c in d["cells"]] == [5, 4, 4]'
        run "$dlbench" sweep "${tars[@]}" --set 'sweep.loader.num_workers=[1, 2]' --set run.warmup_batches=3 --set run.repeats=1 \
            --set sweep.confirm=none --run-name tars --json
        expect_exit 0
        valid_summary "$out"
        expect_json '[(c["status"], c["code"]) for c in d["cells"]] == [("ok", None), ("skipped", "E_TOO_FEW_BATCHES")] and not d["partial"]'
    else
        failed "gen of shards"
    fi
fi

# --- what the run would refuse
run "$dlbench" run "${brief[@]}" --run-name taken
expect_exit 0
for verb in run sweep; do
    expect_error E_RESULT_EXISTS 2 "$dlbench" "$verb" "${brief[@]}" --run-name taken --dry-run
    expect_error E_EXPORT_PATH 2 "$dlbench" "$verb" "${brief[@]}" --junit no/such/folder.xml --dry-run
done
run "$dlbench" run "${brief[@]}" --run-name taken --overwrite --junit new.xml --dry-run
expect_exit 0
run "$dlbench" run "${brief[@]}" --run-name free --dry-run
expect_exit 0
expect_no_file new.xml
expect_no_file results/free
expect_file results/taken/report.html

finish
