#!/usr/bin/env bash
# `dlbench run --trace`: the file against the result that it belongs to, and what is refused. cli/test_trace_long has the other
# loaders.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/traced.sh"

holds inline --loader.num_workers 0 --set device.host_busy_frac=0.4
expect [ "$(json_get inline.json 'sum(e.get("args", {}).get("stage") == "host" for e in d["traceEvents"]) > 20')" = True ]
cp inline.json processes.json # it is replaced
holds processes --loader.num_workers 2 --loader.kind processes --loader.pin_memory true --set loader.pin_mode=thread \
    --set loader.transport=fresh
expect [ "$(json_get results/processes/summary.json 'd["timeline"]["steps"] > 0 and all(t["lost"] == 0 for t in d["timeline"]["tracks"])')" = True ]
expect [ -z "$(find results -name 'trace-*')" ]
expect grep -Eq '[0-9.]+% .*[0-9]+ records .*[0-9.]+ ns' processes.err # what recording cost

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
