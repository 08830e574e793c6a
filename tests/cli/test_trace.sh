#!/usr/bin/env bash
# `dlbench run --trace`: the file against the result that it belongs to, and what is refused.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
trace=$DLB_SOURCE_DIR/tests/support/traced.py
traced=("${quick[@]}" --set run.repeats=1 --set run.epochs=2)

# holds NAME ARGUMENT...: a run whose trace agrees with its result.
holds() {
    local name=$1
    shift
    run "$dlbench" run "${traced[@]}" "$@" --run-name "$name" --trace "$name.json"
    expect_exit 0
    valid_summary "results/$name/summary.json"
    run python3 "$trace" "$name.json" "results/$name/summary.json"
    expect_exit 0
}

holds inline --loader.num_workers 0
holds threads --loader.num_workers 2 --loader.shuffle true --set loader.order=any
holds processes --loader.num_workers 2 --loader.kind processes --loader.pin_memory true --set loader.pin_mode=thread \
    --set loader.transport=fresh
holds shared --loader.num_workers 2 --loader.pin_memory true --set accelerators.count=3 --set accelerators.shared_workers=true
holds apart --loader.num_workers 1 --loader.pin_memory true --set accelerators.count=2 --set accelerators.barrier=true

# --- PyTorch's, from its stamps; the double has its workers in one process, so test_trace_peers.sh has those
export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
holds torch --loader.num_workers 0 --set loader.kind=torch --set python.interpreter=python3

# --- it is the repetition whose stages the result shows, and replaces a file
run "$dlbench" run "${quick[@]}" --set run.repeats=3 --loader.num_workers 1 --run-name three --trace threads.json
expect_exit 0
run python3 "$trace" threads.json results/three/summary.json
expect_exit 0
expect [ "$(json_get results/three/summary.json 'd["timeline"]["steps"] > 0 and all(t["lost"] == 0 for t in d["timeline"]["tracks"])')" = True ]
expect [ -z "$(find results -name 'trace-*')" ]

# --- without --trace there is none
run "$dlbench" run "${brief[@]}" --run-name none
expect [ "$(json_get results/none/summary.json '"timeline" not in d')" = True ]

# --- refused
expect_error E_EXPORT_PATH 2 "$dlbench" run "${brief[@]}" --trace none/t.json
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" run --resume results/none --trace t.json
for verb in sweep storage gap; do
    expect_error E_USAGE_UNKNOWN_FLAG 2 "$dlbench" "$verb" --trace t.json
done
finish
