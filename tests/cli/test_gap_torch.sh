#!/usr/bin/env bash
# dlbench gap with a real PyTorch, very small: every rung measures, delivers the same content, and its parts add up.
DLB_TEST_LIMIT_S=${DLB_TEST_LIMIT_S:-280} # torch is imported thirteen times
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch

run "$dlbench" gap --samples 20000 --features 10 --batch-size 3000 --epochs 2 --set gap.repeats=2 --set device.step_ms=0.1 \
    --python "$python" --run-name torch --json
expect_exit 0
valid_summary "$out"
expect_json 'all(r["status"] == "ok" for r in d["gap"]["rungs"] if r["rung"] != "torch-out-of-order") and d["partial"] is False'
expect_json 'len({r["checksum"] for r in d["gap"]["rungs"] if r["checksum"]}) == 1'
expect_json 'sum(r["checksum"] is not None for r in d["gap"]["rungs"]) >= 14'
expect_json 'all(any(abs(sum(p["seconds"] for p in r["parts"].values()) - v) < 1e-6 for v in r["seconds"]["values"]) for r in d["gap"]["rungs"] if r["parts"])'
expect_json 'len(d["gap"]["decomposition"]) == 9 and abs(sum(p["seconds"] or 0 for p in d["gap"]["decomposition"]) - d["gap"]["total_seconds"]) < 1e-6'
expect_json '{p["part"]: p["label"] for p in d["gap"]["decomposition"]} == {"per-item indexing": "removed", "stacking": "removed", "shuffle\u0027s cache and TLB misses": "removed", "page faults": "priced", "transport": "stamped", "pinning": "stamped", "copies": "stamped", "start-up": "stamped", "closure": "closure"}'
expect_json 'd["gap"]["blocks"] == 2 and all(p["low"] is None and p["high"] is None for p in d["gap"]["decomposition"]) and d["gap"]["total_low"] is None'
expect_json 'd["gap"]["python"]["torch"] and d["gap"]["python"]["path"] in d["gap"]["text"]'
expect_json 'all(r["os"]["process"]["cpu_ns"] > 0 and r["os"]["copy_calls"]["count"] == 14 for r in d["gap"]["rungs"] if r["status"] == "ok")'
expect_json 'sum(t["own_process"] for r in d["gap"]["rungs"] if r["rung"] == "torch-dataloader-workers" for t in r["os"]["threads"]) == d["config"]["gap.workers"]'
run "$dlbench" report results/torch
expect_exit 0
expect_out 'torch-dataloader .*torch-direct'
expect_no_out '(nan|inf)\b'

finish
