#!/usr/bin/env bash
# dlbench sweep as a race: what it recommends, when it ends, and what an interrupt leaves.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

# W workers deliver W batches of 8 samples in 80 ms: 100 W samples/s.
planted=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=100000 --set generate.sample_bytes=256
    --set loader.batch_size=8 --set loader.sample_sleep_us=10000 --set device.step_ms=1 --set run.max_batches=46
    --set sweep.confirm=none)

# --- two neighbours, of which the smaller loses an eighth; again where the machine was taken away meanwhile
detail='d["recommendation_detail"]'
run_until "${detail}[\"stopped\"] == 'decided' and all(abs(c['samples_per_s']['median'] / w / 100 - 1) < 0.01 for c, w in zip(d['cells'], (7, 8)))" \
    "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[7, 8]' --set run.repeats=4 --run-name two --overwrite --json
expect_exit 0
expect_err '^dlbench: note: run\.repeats \(--set\)'
valid_summary "$out"
expect_json 'd["recommended_cell"] == d["best_cell"] == 1 and d["separable"] and not d["too_busy"] and not d["partial"]'
expect_json "${detail}['cell'] == 1 and ${detail}['stopped'] == 'decided' and ${detail}['probability'] >= 0.95"
expect_json "0 <= ${detail}['loss_frac']['low'] <= ${detail}['loss_frac']['median'] <= ${detail}['loss_frac']['high'] < 0.02 and ${detail}['loss_level'] in (0.95, 0.975)"
expect_json "${detail}['blocks'] == max(c['repeats'] for c in d['cells']) >= 9 and 0 < ${detail}['noise_floor_frac'] < 0.1"
expect_json '[c["race"]["state"] for c in d["cells"]] == ["dropped", "finalist"]'
expect_json 'd["cells"][0]["race"]["loss_frac"]["low"] < 0.135 and d["cells"][0]["race"]["loss_frac"]["high"] > 0.115'
expect_json '"num_workers=8" in d["pytorch"]'
run "$dlbench" report results/two
expect_exit 0
expect_out '^ >\*1 '
expect_out 'race, runs'
expect_out ' dropped [0-9]+ '
expect_out ' finalist [0-9]+ '

# --- what makes no difference is left out of what is pasted; again where time was too short for two blocks
run_until "bool(d['pytorch'])" "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[4, 8]' --set 'sweep.loader.prefetch_factor=[2, 3]' \
    --set sweep.max_minutes=0.3 --run-name same --overwrite --json
expect_exit 0
expect_err 'at most [0-9]+ s '
valid_summary "$out"
expect_json "d['recommended_cell'] in (2, 3, None) and 'loader.num_workers' not in ${detail}['no_difference']"
expect_json "${detail}['stopped'] != 'decided' or 'num_workers=8' in d['pytorch']"
expect_json "set(${detail}['left_out']) <= set(${detail}['no_difference']) <= {'loader.prefetch_factor'}"
expect_json "not d['pytorch'] or ('prefetch_factor' in d['pytorch']) == ('loader.prefetch_factor' not in ${detail}['left_out'])"

# --- time for one block: nothing is decided, nothing is known of any cell, and nothing is offered to paste
run "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[2, 4, 8]' --set run.max_batches=8 --set sweep.max_minutes=0.01 \
    --run-name short --json
expect_exit 0
valid_summary "$out"
expect_json "${detail}['stopped'] == 'budget' and ${detail}['blocks'] == 1 and ${detail}['cell'] is None and ${detail}['loss_frac'] is None"
expect_json 'd["recommended_cell"] is None and not d["separable"] and all(c["race"]["probability"] is None for c in d["cells"])'
expect_json 'd["not_separable"] == [] and not d["pytorch"]'

# --- a block that would take far longer than the time is cut off
run "$dlbench" sweep "${planted[@]}" --set 'sweep.loader.num_workers=[1, 2, 3]' --set run.max_batches=90 --set sweep.max_minutes=0.01 \
    --set device.step_ms=80 --run-name cut --json
expect_exit 0
valid_summary "$out"
expect_json "${detail}['stopped'] == 'budget' and ${detail}['blocks'] == 1 and d['recommended_cell'] is None"
expect_json '0 < sum(c["status"] == "ok" for c in d["cells"]) < 3 and sum(c["status"] == "skipped" for c in d["cells"]) > 0'

# --- no race: cells of other work, one cell, and --exhaustive
for how in "--set sweep.run.seed=[1,2]" "--set sweep.loader.num_workers=[1]" "--set sweep.loader.num_workers=[1,2] --exhaustive"; do
    # shellcheck disable=SC2086 # words
    run "$dlbench" sweep "${quick[@]}" $how --run-name none --overwrite --json
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
