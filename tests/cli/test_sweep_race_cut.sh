#!/usr/bin/env bash
# dlbench sweep as a race that ends before it decides: by its time, by Ctrl-C, and where there is nothing to race. No rate is looked at.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

detail='d["recommendation_detail"]'

# --- time for one block: nothing is decided, nothing is known of any cell, and nothing is offered to paste
run "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[2, 4, 8]' --set run.max_batches=8 --set sweep.max_minutes=0.01 \
    --run-name short --json
expect_exit 0
valid_summary "$out"
expect_json "${detail}['stopped'] == 'budget' and ${detail}['blocks'] == 1 and ${detail}['cell'] is None and ${detail}['loss_frac'] is None"
expect_json 'd["recommended_cell"] is None and not d["separable"] and all(c["race"]["probability"] is None for c in d["cells"])'
expect_json 'd["not_separable"] == [] and not d["pytorch"]'

# --- a block that would take far longer than the time is cut off, 15 s after it: three cells of 5.3 s later
run "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[1, 2, 3]' --set run.max_batches=66 --set sweep.max_minutes=0.01 \
    --set device.step_ms=80 --run-name cut --json
expect_exit 0
valid_summary "$out"
expect_json "${detail}['stopped'] == 'budget' and ${detail}['blocks'] == 1 and d['recommended_cell'] is None"
expect_json '0 < sum(c["status"] == "ok" for c in d["cells"]) < 3 and sum(c["status"] == "skipped" for c in d["cells"]) > 0'

# --- no race: cells of other work, one cell, and --exhaustive
for how in "--set sweep.run.seed=[1,2]" "--set sweep.loader.num_workers=[1]" "--set sweep.loader.num_workers=[1,2] --exhaustive"; do
    # shellcheck disable=SC2086 # words
    run "$dlbench" sweep "${brief[@]}" --set run.repeats=2 $how --run-name none --overwrite --json
    expect_exit 0
    valid_summary "$out"
    expect_json "all(${detail}[k] is None for k in ('stopped', 'probability', 'loss_frac', 'loss_level', 'blocks_more')) and ${detail}['blocks'] == 2"
    expect_json "${detail}['no_difference'] == ${detail}['left_out'] == [] and all(c['race'] is None and c['repeats'] == 2 for c in d['cells'])"
    expect_no_err 'run\.repeats'
done

# --- Ctrl-C
interrupt_sweep stopped "${planted[@]}" --set 'sweep.loader.num_workers=[7, 8]'
expect [ "$(json_get results/stopped/summary.json "(d['partial'], ${detail}['stopped'], d['recommended_cell'], sorted(d['not_separable']))")" = "(True, 'interrupted', None, [])" ]

finish
