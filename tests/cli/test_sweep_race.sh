#!/usr/bin/env bash
# dlbench sweep as a race: what it recommends where the rates are known, and when it ends. test_sweep_race_cut.sh has what ends it early.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

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
expect_json 'all(abs(c["samples_per_s"]["median"] / w / 100 - 1) < 0.01 for c, w in zip(d["cells"], (7, 8)))'
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

finish
