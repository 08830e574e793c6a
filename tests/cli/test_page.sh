#!/usr/bin/env bash
# report.html of a small sweep in a headless Chromium: it opens without an error, and shows what summary.json has. cli/test_pages
# looks at every kind of result.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
export PYTHONDONTWRITEBYTECODE=1
pages=$DLB_SOURCE_DIR/tests/support/pages.py

run "$dlbench" sweep "${brief[@]}" --set device.step_ms=1 --set run.repeats=2 --set sweep.exhaustive=true \
    --set 'sweep.loader.num_workers=[0, 1]' --run-name sweep
expect_exit 0
run python3 "$pages" --quick results/sweep/report.html results/sweep/summary.json
[ "$code" -ne 77 ] || skip "no Chromium"
expect_exit 0

# --- the lanes of a timeline
run "$dlbench" run "${brief[@]}" --set device.step_ms=1 --loader.num_workers 1 --run-name traced --trace traced.json
expect_exit 0
run python3 "$pages" --quick results/traced/report.html results/traced/summary.json
expect_exit 0

finish
