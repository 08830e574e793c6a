#!/usr/bin/env bash
# dlbench run with accelerators.count: the document, the report, and refusals.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

many=("${quick[@]}" --set loader.pin_memory=true --set loader.num_workers=1)
few=("${brief[@]}" --set loader.pin_memory=true --set loader.num_workers=1)

# --- ranks of a world of 5: 328 samples are 66 each, 2 of them padding
run "$dlbench" run "${many[@]}" --set accelerators.count=5 --set run.checksum=true --set run.epochs=2 --set run.repeats=1 --run-name many --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["accelerators"]["count"] == 5 and len(d["cells"][0]["accelerators"]["each"]) == 5'
expect_json 'all(e["unique"] == 328 and e["samples"] == e["expected"] == 330 and e["padded"] == 2 for e in d["cells"][0]["epochs"])'
expect_json 'all(0 < d["cells"][0]["au"][k] <= 1 for k in ("nominal", "measured", "mlperf_v1", "mlperf_v2"))'
expect_json 'all(d["cells"][0]["au"]["lowest"][k] <= d["cells"][0]["au"][k] for k in ("nominal", "measured", "mlperf_v1", "mlperf_v2"))'
expect_json 'abs(d["cells"][0]["au"]["measured"] + d["cells"][0]["gpu_idle_frac"]["median"] - 1) < 0.2'
expect_json 'd["cells"][0]["config"]["accelerators.barrier"] is False and d["cells"][0]["consumer_cpu_ns"] > 0'
expect_json 'd["cells"][0]["reads"]["of"] == "samples" and d["cells"][0]["reads"]["per_s"] > 0 and d["cells"][0]["worker_stages"]["read"]["p999_ns"] is not None'
run "$dlbench" report results/many
expect_exit 0
expect_out '^ *5 accelerators'
expect_out 'p99.9'

# --- one pool for all: the whole set once, in any number of hands. Steps take long enough for each accelerator to get some
for barrier in true false; do
    run "$dlbench" run "${few[@]}" --set accelerators.count=20 --set accelerators.shared_workers=true \
        --set accelerators.barrier=$barrier --set loader.num_workers=3 --set run.warmup_batches=0 --set run.epochs=3 \
        --set generate.samples=1640 --set device.step_ms=1 --set run.checksum=true --run-name pool --overwrite --json
    expect_exit 0
    valid_summary "$out"
    expect_json 'all(e["unique"] == e["samples"] == e["expected"] == 1640 for e in d["cells"][0]["epochs"])'
    expect_json 'd["cells"][0]["accelerators"] == {"count": 20, "each": None}'
done

# --- worker processes: one fork server for each accelerator, and none left behind
run "$dlbench" run "${few[@]}" --set accelerators.count=3 --set loader.kind=processes --run-name forked --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["unique"] == 328'
expect [ -z "$(pgrep -f "$dlbench.*$tmp" || true)" ]

# --- one is what it always was, and the other keys mean nothing to it
run "$dlbench" run "${few[@]}" --run-name one --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["accelerators"]["count"] == 1 and d["cells"][0]["config"]["accelerators.barrier"] is None'
expect_json 'all(e["samples"] == 328 and e["padded"] == 0 for e in d["cells"][0]["epochs"])'

# --- swept
run "$dlbench" sweep "${few[@]}" --set 'sweep.accelerators.count=[1, 2]' --set 'sweep.loader.num_workers=[1]' --set run.repeats=1 \
    --run-name swept --json
expect_exit 0
valid_summary "$out"
expect_json '[c["accelerators"]["count"] for c in d["cells"] if c["status"] == "ok"] == [1, 2]'

# --- refused
expect_error E_ACCELERATORS_NEED_PINNING 2 "$dlbench" run "${quick[@]}" --set accelerators.count=2 --run-name unpinned
expect_err 'loader\.pin_memory'
run "$dlbench" run "${many[@]}" --set accelerators.count=300 --set accelerators.shared_workers=true --set run.repeats=1 --run-name slots
expect_exit 2
expect_code E_LOADER_SLOTS_TOO_MANY
expect_err ' 255 .*accelerators\.count'
run "$dlbench" run "${many[@]}" --set accelerators.count=400 --set run.repeats=1 --run-name few
expect_exit 2
expect_code E_ACCELERATORS_SHARE_TOO_LITTLE
expect_err ' 400 .* 328 '
expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" run "${many[@]}" --set accelerators.count=0
finish
