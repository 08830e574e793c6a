#!/usr/bin/env bash
# A run on four ranks by each MPI: the same samples as one process, one result; what is refused.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi

work=("${brief[@]}" --set run.epochs=2 --set run.checksum=true --set loader.shuffle=true --set generate.samples=320)
sums='[(e["samples"], e["unique"], e["expected"], e["bytes"], e["set_checksum"]) for e in d["cells"][0]["epochs"]]'
run "$dlbench" run "${work[@]}" --run-name one --json
expect_exit 0
json_get "$out" "$sums" >one.sums

for mpi in "${implementations[@]}"; do
    launcher "$mpi" "$n_ranks"
    run "${launch[@]}" "$dlbench" run "${work[@]}" --run-name "$mpi"
    expect_exit 0
    valid_summary "results/$mpi/summary.json"
    json_get "results/$mpi/summary.json" "$sums" >many.sums
    expect cmp -s one.sums many.sums
    expect [ "$(json_get "results/$mpi/summary.json" '(d["world"], [r["rank"] for r in d["ranks"]], d["first_done_s"] <= d["last_done_s"],
        d["barrier_us"], sum(n["ranks"] for n in d["nodes"]), d["clock_offset_us"]["error"] >= 0, d["cells"][0]["accelerators"]["count"])')" \
        = '(4, [0, 1, 2, 3], True, None, 4, True, 4)' ]
    expect [ "$(ls results)" = "$(printf '%s\n' "$mpi" one | sort)" ] # no rank wrote a result of its own
    rm -r "results/$mpi"

    # --- each step ends on all ranks before the next begins: no rank has more steps in its window than another
    run "${launch[@]}" "$dlbench" run "${quick[@]}" --set run.repeats=1 --set accelerators.barrier=true --set device.step_ms=10 \
        --set run.checksum=true --run-name barrier
    expect_exit 0
    valid_summary results/barrier/summary.json
    expect [ "$(json_get results/barrier/summary.json '(len(d["ranks"]), 0 < d["barrier_us"]["p50"] <= d["barrier_us"]["p99"],
        [(e["samples"], e["unique"]) for e in d["cells"][0]["epochs"]] == [(328, 328)],
        len({s["steps"] for s in d["cells"][0]["accelerators"]["each"]}))')" = '(4, True, True, 1)' ]
    rm -r results/barrier

    # --- a race on all ranks, decided by one: one result
    run "${launch[@]}" "$dlbench" sweep "${brief[@]}" --set 'sweep.loader.num_workers=[0, 1]' --set sweep.exhaustive=true --run-name sweep
    expect_exit 0
    valid_summary results/sweep/summary.json
    expect [ "$(json_get results/sweep/summary.json '[len(c["ranks"]["ranks"]) for c in d["cells"]]')" = '[4, 4]' ]
    rm -r results/sweep

    # --- one rank is a run of one
    launcher "$mpi" 1
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --run-name single
    expect_exit 0
    expect [ "$(json_get results/single/summary.json '(d["world"], len(d["ranks"]))')" = '(1, 1)' ]
    rm -r results/single

    # --- other commands run once
    launcher "$mpi" "$n_ranks"
    run "${launch[@]}" "$dlbench" --version
    expect_exit 0
    expect [ "$(wc -l <"$out")" -eq "$("$dlbench" --version | wc -l)" ]

    # --- refused: the launcher's numbers set by hand; a program without its module; another program
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --set run.world=4 --run-name by-hand
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_SETTINGS'
    expect_no_file results/by-hand
    mkdir -p alone other
    cp "$dlbench" alone/dlbench
    run "${launch[@]}" alone/dlbench run "${brief[@]}" --run-name silent
    expect [ "$code" -ne 0 ]
    expect [ "$(grep -c 'E_RANKS_NO_MODULE' "$err")" -eq 1 ]
    expect_no_file results/silent
    { cat "$dlbench" && echo; } >other/dlbench
    chmod 755 other/dlbench
    cp "$(dirname "$dlbench")/dlbench-mpi-$mpi.so" other
    launcher "$mpi" 2
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --run-name mixed : -np 1 other/dlbench run "${brief[@]}" --run-name mixed
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_PROGRAM'
    expect_no_file results/mixed

    # --- refused: ranks with other data
    mkdir -p here there
    for place in here/100 there/101; do
        "$dlbench" gen --dataset.format files --dataset.codec raw --dataset.path "${place%/*}/data" --generate.samples 64 \
            --generate.sample_bytes "${place#*/}" >/dev/null 2>&1
    done
    stored=(--set dataset.format=files --set dataset.codec=raw --set dataset.path=data --set loader.batch_size=8 --set run.repeats=1
        --set device.step_ms=0 --run-name data)
    launcher "$mpi" 1
    run "${launch[@]}" -wdir "$PWD/here" "$dlbench" run "${stored[@]}" : -np 1 -wdir "$PWD/there" "$dlbench" run "${stored[@]}"
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_DATA'
    rm -rf here there
done
finish
