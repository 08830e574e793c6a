#!/usr/bin/env bash
# configs/slow-input.toml against configs/fast-compute.toml, shortened: the planted wait decides the verdict, and is found where
# it was planted. A busy machine may disturb an attempt; wrong accounting fails them all.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

short=(--set run.repeats=1 --set run.max_batches=6 --set run.warmup_batches=2 --overwrite --json)
slow=$DLB_SOURCE_DIR/configs/slow-input.toml fast=$DLB_SOURCE_DIR/configs/fast-compute.toml

# They differ in the wait alone.
settings() { sed 's/ *#.*//; /^$/d' "$1"; }
expect [ "$(diff <(settings "$slow") <(settings "$fast") | grep -c '^[<>]')" -eq 2 ]
expect [ "$(diff <(settings "$slow") <(settings "$fast") | grep -c '^[<>] sample_sleep_us')" -eq 2 ]

cat >found.py <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
cell, kind = d["cells"][0], sys.argv[2]
stage, config = cell["worker_stages"], cell["config"]
planted_ns = config["loader.sample_sleep_us"] * 1e3
read_ns = stage["read"]["sum_ns"] / stage["read"]["count"]
input_ms = cell["consumer_stages"]["input_wait"]["sum_ns"] / cell["consumer_stages"]["input_wait"]["count"] / 1e6
device = cell["device_stages"]
step_ms = device["compute"]["sum_ns"] / device["compute"]["count"] / 1e6
say = "%s: %s, read %.0f ns a sample (planted %.0f), input %.2f ms a batch, step %.2f ms" % (
    kind, cell["verdict"]["class"], read_ns, planted_ns, input_ms, step_ms)
print(say)
assert cell["verdict"]["class"] == kind, say
assert abs(step_ms - config["device.step_ms"]) < 1e-3 * step_ms, say # compute is unchanged
if planted_ns:
    assert cell["verdict"]["cause"] == "read", say
    assert abs(read_ns / planted_ns - 1) < 0.05, say
    assert abs(input_ms / 512 - 1) < 0.05, say
    assert abs(device["idle_input"]["sum_ns"] / device["idle_input"]["count"] / 512e6 - 1) < 0.05, say
else:
    assert read_ns < 2e6 * 0.05 and input_ms < 512 * 0.05, say
PY

shown() { # configuration, verdict
    for _ in 1 2 3 4 5; do
        run "$dlbench" run --config "$1" "${short[@]}" --run-name demo
        expect_exit 0
        valid_summary results/demo/summary.json
        python3 found.py results/demo/summary.json "$2" && return
    done
    failed "$2 was not found"
}
shown "$fast" COMPUTE-BOUND
shown "$slow" INPUT-BOUND

finish
