#!/usr/bin/env bash
# run.epoch_samples: the epoch that rates are projected for, whatever the length of the data set's own. Planted sleeps: 4 workers
# deliver 4 batches of 8 samples in 80 ms, and an epoch's last round takes as long as a whole one.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

wanted=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.sample_bytes=256 --set loader.batch_size=8
    --set loader.num_workers=4 --set loader.drop_last=true --set loader.sample_sleep_us=10000 --set device.step_ms=1
    --set run.warmup_batches=4 --set run.epochs=8 --set run.epoch_samples=200 --set run.repeats=1)

# --- epochs of 4 W, 4 W + 1 and 5 W - 1 batches, which by themselves have 400, 340 and 380 samples/s; 25 batches take 7 rounds: 357
truth='200 / (7 * 0.08)'
cell='d["cells"][0]'
for n_samples in 128 136 152; do
    run_until "${cell}['verdict']['class'] == 'INPUT-BOUND' and abs(${cell}['epoch_samples_per_s']['median'] / ($truth) - 1) < 0.01" \
        "$dlbench" run "${wanted[@]}" --set "generate.samples=$n_samples" --set run.max_batches=28 --run-name "epochs-$n_samples" --overwrite --json
    expect_exit 0
    valid_summary "$out"
    expect_json "${cell}['config']['run.epoch_samples'] == 200 and d['ranked_by'] == 'epoch_samples_per_s'"
    expect_json "abs(${cell}['epoch_samples_per_s']['median'] / ($truth) - 1) < 0.01" # so the three are within 2% of each other
    expect_json "abs(${cell}['within_epoch_samples_per_s']['median'] / 400 - 1) < 0.02 and abs(${cell}['epoch_border_ms']) < 20"
    expect_json "${cell}['verdict']['class'] == 'INPUT-BOUND'"
done

# --- without a border nothing is projected, and cells are compared by the rate within an epoch
run "$dlbench" run "${wanted[@]}" --set generate.samples=100000 --set run.max_batches=12 --run-name inside --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["epoch_samples_per_s"]["median"] is None and d["cells"][0]["epoch_border_ms"] is None'
expect_json 'd["ranked_by"] == "within_epoch_samples_per_s" and d["cells"][0]["within_epoch_samples_per_s"]["median"] > 0'

finish
