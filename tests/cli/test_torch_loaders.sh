#!/usr/bin/env bash
# configs/pytorch/loaders.toml with torch itself: DataLoader, webdataset's WebLoader and SPDL are cells of one table.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
"$python" -c 'import torchvision, webdataset, spdl.pipeline' 2>/dev/null || skip "no torchvision, webdataset and spdl beside torch"
has_module codec jpeg || skip "this build lacks the codec jpeg"
limit_s=400
ln -s "$DLB_SOURCE_DIR/configs" configs
small=(--set generate.samples=96 --set generate.sample_bytes=20000)
run "$dlbench" gen --config configs/quickstart.toml "${small[@]}"
expect_exit 0
run "$dlbench" gen --config configs/quickstart.toml "${small[@]}" --dataset.format webdataset --dataset.path data/quickstart-tar \
    --set webdataset.shard_samples=24
expect_exit 0

run "$dlbench" sweep --config configs/pytorch/loaders.toml --set "python.interpreter=$python" --set python.samples=96 \
    --set loader.batch_size=8 --set device.step_ms=1 --set run.epochs=2 --set run.warmup_batches=4 --set sweep.exhaustive=true \
    --set run.repeats=1 --run-name loaders --json
expect_exit 0
valid_summary "$out"
expect_json '[c["status"] for c in d["cells"]] == ["ok"] * 3 and all(c["samples_per_s"]["median"] > 0 for c in d["cells"])'
expect_json '[c["config"]["python.loader"].rpartition(":")[2] for c in d["cells"]] == ["", "make_webloader", "make_spdl"]'
expect_json 'all(e["samples"] == 96 for c in d["cells"] for e in c["epochs"] if e["ended"])'
expect_json '"do other work" not in d["recommendation"]' # their rates are compared
json_get "$out" '["%s %.0f samples/s" % (c["config"]["python.loader"] or "DataLoader", c["samples_per_s"]["median"]) for c in d["cells"]]'
run "$dlbench" report results/loaders
expect_exit 0
expect_out 'make_webloader'

# --- the same work in C stands beside the cell that answers
sed '/^loader\./d' configs/quickstart.toml >twin.toml
run_until 'not d["too_busy"]' "$dlbench" sweep --config twin.toml "${small[@]}" --set loader.kind=torch \
    --set "python.interpreter=$python" --set loader.batch_size=8 --set loader.pin_memory=false --set device.step_ms=1 \
    --set run.epochs=4 --set 'sweep.loader.num_workers=[0, 2]' --run-name in-c --overwrite --json
expect_exit 0
in_c='[c["in_c"] for c in d["cells"] if c["in_c"]]'
expect_json "len($in_c) == 1 and ${in_c}[0]['same_work'] and ${in_c}[0]['decoder_gain'] > 0"
expect_json "all(0 < ${in_c}[0][of]['decode'] < 1e8 for of in ('stages_ns', 'python_stages_ns'))"
run "$dlbench" report results/in-c
expect_exit 0
expect_out 'libjpeg-turbo'

finish
