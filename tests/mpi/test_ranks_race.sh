#!/usr/bin/env bash
# A race on 64 ranks is decided as by one process: the same cell, of a sweep whose answer is known, after as many runs.
#
# Three blocks run all cells. Then the cell of four workers is certain, and runs afresh in pairs with its rival. There are 6 to 8 pairs, as
# many as the scatter of the rates asks for (core/measure/race.c), so the number is the machine's and not always that of the other process:
# each race has 3 runs of the first cell, and 9 to 11 of both others.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi
limit_s=500

# W workers deliver W batches of 4 samples in 200 ms, and a step takes 10 ms.
race=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=100000 --set generate.sample_bytes=64
    --set loader.batch_size=4 --set loader.sample_sleep_us=50000 --set device.step_ms=10 --set run.max_batches=16
    --set run.warmup_batches=4 --set 'sweep.loader.num_workers=[1, 2, 4]' --set sweep.confirm=none --set sweep.max_minutes=0)
decision='(d["cells"][d["recommended_cell"]]["config"]["loader.num_workers"], d["recommendation_detail"]["stopped"])'
runs='(lambda n: (n[0], n[1] == n[2], 9 <= n[1] <= 11))([c["repeats"] for c in d["cells"]])'
run "$dlbench" sweep "${race[@]}" --run-name alone
expect_exit 0
expect [ "$(json_get results/alone/summary.json "$decision")" = "(4, 'decided')" ]
expect [ "$(json_get results/alone/summary.json "$runs")" = '(3, True, True)' ]

for mpi in "${implementations[@]}"; do
    launcher "$mpi" 64
    run "${launch[@]}" "$dlbench" sweep "${race[@]}" --run-name many
    expect_exit 0
    valid_summary results/many/summary.json
    expect [ "$(json_get results/many/summary.json "$decision")" = "(4, 'decided')" ]
    expect [ "$(json_get results/many/summary.json "$runs")" = '(3, True, True)' ]
    expect [ "$(json_get results/many/summary.json '(d["world"], {len(c["ranks"]["ranks"]) for c in d["cells"]})')" = '(64, {64})' ]
    json_get results/many/summary.json '(d["ranks_traffic"], [c["repeats"] for c in d["cells"]])'
    rm -r results/many
done
finish
