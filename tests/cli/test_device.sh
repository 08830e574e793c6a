#!/usr/bin/env bash
# The device: what auto takes and why, and what happens where no GPU answers. CUDA is shown no GPU here, whatever the machine has.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
export CUDA_VISIBLE_DEVICES=-1

run "$dlbench" doctor --json
has_module device cuda && cuda=True || cuda=False
expect_json 'all("driver" in c["found"] or "libcuda" in c["found"] for c in d["checks"] if c["name"] == "gpu")'

# --- auto: the emulated accelerator, with the reason; no GPU's facts
run "$dlbench" run "${quick[@]}" --run-name auto --device.kind auto --json
expect_exit 0
expect_json 'd["device"]["kind"] == "emulated" and d["device"]["why"].startswith("auto: ") and d["device"]["gpu"] is None'
if [ "$cuda" = True ]; then
    expect_json 're.search("driver|GPU|libcuda", d["device"]["why"])'
else
    expect_json '"CUDA" in d["device"]["why"]'
fi
valid_summary "$out"
expect_json 'd["device"]["step_source"] == "configuration (--set)"'

# --- a GPU by name: it says what is missing, and does not fall back
run "$dlbench" run "${quick[@]}" --run-name named --device.kind cuda --json
if [ "$cuda" = True ]; then
    expect_exit 3
    expect_err '^dlbench: .*(driver|GPU|libcuda)'
    expect_json 'd["partial"] is True and d["cells"][0]["status"] == "failed" and d["device"]["kind"] == "cuda"'
    valid_summary "$out"
else
    expect_exit 2
    expect_err 'device\.kind.*"cuda"'
fi

# --- where the step time is from, in the result and in its text
printf '[device]\nstep_ms = 1\nstep_source = "train.py:make_step"\n' >step.toml
run "$dlbench" run "${quick[@]}" --config step.toml --run-name step
expect_exit 0
expect_out '^step: +1 ms; .*configuration \(--set\)'
run "$dlbench" run "${quick[@]:0:10}" --set run.repeats=1 --config step.toml --run-name measured
expect_exit 0
expect_out '^step: +1 ms; .*train.py:make_step'

# --- options of the step
expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" run "${quick[@]}" --run-name share --device.sm_share 1.5
expect_err 'sm_share'
expect_error E_CONFIG_UNKNOWN_CHOICE 2 "$dlbench" run "${quick[@]}" --run-name kind --device.step_kind sparse
expect_err 'fma'

finish
