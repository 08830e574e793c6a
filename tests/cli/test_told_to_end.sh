#!/usr/bin/env bash
# A signal to the process of one cell, which dlbench did not send, leaves no result that looks whole.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

for signal in TERM INT HUP; do
    start_long "results/$signal" --run-name "$signal" --json
    kill -"$signal" "$(child_of "$pid")"
    end_long
    expect_exit 3
    summary=results/$signal/summary.json
    valid_summary "$summary"
    expect [ "$(json_get "$summary" '(d["partial"], d["interrupted"], d["cells"][0]["status"], d["cells"][0]["code"])')" = \
        "(True, False, 'failed', 'E_CELL_KILLED')" ]
    expect_code E_CELL_KILLED
done
finish
