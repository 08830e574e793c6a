#!/usr/bin/env bash
# loader.kind = "torch" with several accelerators: one interpreter for each, or one for all; and dlbench storage.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_train.sh"
export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double

many=("${own[@]}" --set accelerators.count=3 --set loader.pin_memory=true --set run.epochs=2 --set python.args.n=62 --overwrite --run-name many --json)

# --- each with its own DataLoader: 62 samples are 21 each, one of them padding, of which no worker is asked for all
for barrier in false true; do
    for workers in 0 2; do
        run "$dlbench" run "${many[@]}" --set accelerators.barrier=$barrier --set loader.num_workers=$workers
        expect_exit 0
        valid_summary "$out"
        expect_json 'd["cells"][0]["accelerators"]["count"] == 3 and len(d["cells"][0]["accelerators"]["each"]) == 3'
        expect_json '[e["samples"] for e in d["cells"][0]["epochs"]] == [63, 63]'
        expect_json 'd["cells"][0]["python"]["once"] is None and len(d["cells"][0]["python"]["stages"]) > 0'
        expect_no_process
    done
done

# --- one DataLoader for all: each sample once, in whatever hands
for barrier in false true; do
    run "$dlbench" run "${many[@]}" --set accelerators.barrier=$barrier --set accelerators.shared_workers=true --set loader.num_workers=2
    expect_exit 0
    valid_summary "$out"
    expect_json '[e["samples"] for e in d["cells"][0]["epochs"]] == [62, 62]'
    expect_json 'd["cells"][0]["python"]["once"] == {"epochs": 2, "more": 0, "fewer": 0}'
    expect_no_process
done

# --- one interpreter that fails ends the cell, and the others with it
run "$dlbench" run "${many[@]}" --set python.args.at=31 --set python.args.what=fails
expect_code E_PYTHON_RAISED
expect_err 'sample 31'
expect_no_process

# --- as many as storage asks for, each with its own
run "$dlbench" storage "${own[@]}" --set python.args.n=200 --set storage.allow_small=true --set loader.pin_memory=true --set device.step_ms=20 \
    --set storage.max_accelerators=2 --run-name fed --json
expect_exit 0
valid_summary "$out"
expect_json 'd["storage"]["max_accelerators"] == 2 and [c["accelerators"]["count"] for c in d["cells"] if c["status"] == "ok"][-1] == 2'
expect_no_process

# --- a GPU cannot have its batches
run "$dlbench" run "${own[@]}" --set device.kind=cuda --run-name gpu
expect_code E_PYTHON_NO_GPU
expect_no_file results/gpu
run "$dlbench" run "${own[@]}" --set device.kind=cuda --dry-run
expect_code E_PYTHON_NO_GPU

finish
