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
        d["barrier_us"], sum(n["ranks"] for n in d["nodes"]), d["clock_offset_us"]["error"] >= 0, d["cells"][0]["accelerators"]["count"],
        {r["data_id"] for r in d["ranks"]} == {d["nodes"][0]["data_id"]} != {None})')" \
        = '(4, [0, 1, 2, 3], True, None, 4, True, 4, True)' ]
    data_id=$(json_get "results/$mpi/summary.json" 'd["nodes"][0]["data_id"]')
    for format in txt md html; do # the machine, the clocks and the traffic
        run "$dlbench" report "results/$mpi" --format "$format"
        expect_out "$data_id"
        expect_out "clocks(:|<)"
        expect_out "MPI(:|<).*[ >]$(json_get "results/$mpi/summary.json" 'd["ranks_traffic"]["calls"]') calls"
    done
    expect [ "$(ls results)" = "$(printf '%s\n' "$mpi" one | sort)" ] # no rank wrote a result of its own
    rm -r "results/$mpi"

    # --- other commands run once
    launcher "$mpi" "$n_ranks"
    run "${launch[@]}" "$dlbench" --version
    expect_exit 0
    expect [ "$(wc -l <"$out")" -eq "$("$dlbench" --version | wc -l)" ]

    # --- refused: the launcher's numbers set by hand; a program without its module
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --set run.world=4 --run-name by-hand
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_SETTINGS'
    expect_no_file results/by-hand
    mkdir -p alone
    cp "$dlbench" alone/dlbench
    run "${launch[@]}" alone/dlbench run "${brief[@]}" --run-name silent
    expect [ "$code" -ne 0 ]
    expect [ "$(grep -c 'E_RANKS_NO_MODULE' "$err")" -eq 1 ]
    expect_no_file results/silent
done
finish
