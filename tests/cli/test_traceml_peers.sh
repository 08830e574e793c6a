#!/usr/bin/env bash
# TraceML itself (PyPI: traceml-ai) takes what `run --traceml` writes, and dlbench takes what TraceML writes of a real training.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

for python in "${PYTHON:-}" python3; do
    [ -n "$python" ] && "$python" -c 'import traceml_ai, torch' 2>/dev/null && break
    python=
done
[ -n "$python" ] || skip "neither \$PYTHON nor python3 can import traceml_ai and torch"
traceml=("$python" -c 'from traceml_ai.launcher.cli import main; main()')

# One worker that sleeps for its samples, and one that does not: steps of about 20 ms and of 5 ms.
some=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=5000 --set generate.sample_bytes=256
    --set loader.batch_size=4 --set loader.num_workers=1 --set device.step_ms=5 --set run.max_batches=40 --set run.repeats=1)
run "$dlbench" run "${some[@]}" --set loader.sample_sleep_us=5000 --run-name slow --traceml slow.json
expect_exit 0
run "$dlbench" run "${some[@]}" --run-name fast --traceml fast.json
expect_exit 0
expect_error E_EXPORT_PATH 2 "$dlbench" run "${some[@]}" --run-name never --traceml results

# --- its own checks of a section's shape, its card, its page
cat >look.py <<'PY'
import json, sys
from traceml_ai.reporting.compare.io import load_summary_json
from traceml_ai.reporting.html import render_html_report_from_file
from traceml_ai.reporting.primary_diagnosis import build_primary_diagnosis
from traceml_ai.reporting.schema import _validate_group_contract, _validate_metric_sets
from traceml_ai.reporting.terminal_card.card import build_card_from_payload, card_to_plain
d = load_summary_json(sys.argv[1])
sections = {name: d[name] for name in ("system", "process", "step_time", "step_memory")}
for section in sections.values():
    _validate_metric_sets(metadata=section["metadata"], global_summary=section["global"])
    _validate_group_contract(metadata=section["metadata"], global_summary=section["global"], groups=section["groups"])
primary = build_primary_diagnosis(**{name + "_summary": section for name, section in sections.items()})
assert primary["kind"] == d["primary_diagnosis"]["kind"], primary
mean = d["step_time"]["global"]["average"]
parts = sum(mean[k] for k in ("input_wait_ms", "h2d_ms", "compute_ms", "residual_ms"))
assert abs(parts - mean["step_time_ms"]) < 1e-6 * parts and mean["forward_ms"] is None, mean
card = card_to_plain(build_card_from_payload(d, profile="run"))
assert "Input Wait" in card, card
print(json.dumps({"kind": primary["kind"], "step": mean["step_time_ms"], "page": len(str(render_html_report_from_file(sys.argv[1])))}))
PY
run "$python" look.py slow.json
expect_exit 0
expect_json 'd["kind"] == "INPUT_BOUND" and d["step"] > 19 and d["page"] > 0'
run "$python" look.py fast.json
expect_exit 0
expect_json 'd["kind"] != "INPUT_BOUND" or d["step"] < 19'
run "${traceml[@]}" view slow.json
expect_exit 0
expect_out 'INPUT-BOUND'

# --- its comparison. Without GPU memory it decides nothing, as of its own runs on a CPU; the figures are there.
run "${traceml[@]}" compare fast.json slow.json --output both
expect_exit 0
expect [ "$(json_get both.json '(d["sections"]["step_time"]["metrics"]["step_time_ms"]["delta"] > 10, d["sections"]["step_time"]["comparison_clock"], d["warnings"])')" = "(True, 'cpu', [])" ]
run "$dlbench" compare fast.json slow.json --json
expect_json 'd["compare"]["overall"]["change_frac"] < -0.5'
ours=$(json_get "$out" 'd["compare"]["cells"][0]["b"] / d["compare"]["cells"][0]["a"] - 1')
expect [ "$(json_get both.json "abs(d['sections']['step_time']['metrics']['step_time_ms']['pct_change'] / 100 - $ours) < 0.01")" = True ]

# --- what TraceML writes of a training
cat >train.py <<'PY'
import torch, traceml_ai
from torch.utils.data import DataLoader, TensorDataset
traceml_ai.init(mode="auto")
model = torch.nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in DataLoader(TensorDataset(torch.randn(1000, 64), torch.randint(0, 10, (1000,))), batch_size=20):
    with traceml_ai.trace_step(model):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
PY
run "${traceml[@]}" run train.py
theirs=$(find logs -name final_summary.json | head -n 1)
expect [ -n "$theirs" ]
run "$dlbench" compare "$theirs" "$theirs" --json
expect_exit 0
expect_json 'd["compare"]["a"]["command"] == "traceml" and d["compare"]["overall"]["change_frac"] == 0 and len(d["compare"]["cells"]) >= 3'
run "$dlbench" compare "$theirs" slow.json
expect_exit 0
expect_error E_COMPARE_KIND 2 "$dlbench" compare "$theirs" results/slow

finish
