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

# --- srun without MPI, where no rank finds the others: each refuses, and the first one says why
for step in '0 run' '0 sweep' '0 storage' '1 run'; do
    read -r rank command <<<"$step"
    run env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID="$rank" "$dlbench" "$command" "${brief[@]}" --run-name srun
    expect [ "$code" -ne 0 ]
    expect [ "$(grep -c 'E_RANKS_NO_MODULE' "$err")" -eq $((1 - rank)) ]
    expect_no_file results/srun
done

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

    # --- a dry run is one of all ranks: each has a fourth of the samples, and a storage feeds as many accelerators on each
    # What MPI itself logs is not on stdout.
    run env UCX_LOG_LEVEL=info "${launch[@]}" "$dlbench" run "${brief[@]}" --set generate.samples=320 --dry-run --json
    expect_exit 0
    expect_json 'd["world"] == 4 and d["cells"][0]["epoch_batches"] == 5'
    eight=(storage --workload resnet50 --path there --set storage.max_accelerators=8 --dry-run --json)
    "$dlbench" "${eight[@]}" >one.json
    run "${launch[@]}" "$dlbench" "${eight[@]}"
    expect_exit 0
    expect_json "(d['accelerators'], d['steps_per_epoch']) == (32, $(json_get one.json 'd["steps_per_epoch"] // 4'))"
    expect_json "d['needed_samples'] >= 500 * 32 * 400 and d['ram_bytes'] == $(json_get one.json 'd["ram_bytes"]')" # one machine's
    for command in run storage; do
        run "${launch[@]}" "$dlbench" "$command" "${brief[@]}" --set run.world=4 --dry-run
        expect [ "$code" -ne 0 ]
        expect_err 'E_RANKS_SETTINGS'
    done

    # --- a launcher that does not number the ranks of a machine: each has a GPU of its own
    # shellcheck disable=SC2034 # of mpi.sh
    through=(env -u OMPI_COMM_WORLD_LOCAL_RANK -u OMPI_COMM_WORLD_LOCAL_SIZE -u MPI_LOCALRANKID -u MPI_LOCALNRANKS
        'CUDA_VISIBLE_DEVICES=4,5,6,7')
    start_ranks "$mpi" gpus
    # shellcheck disable=SC2034
    through=()
    gpus=$(for p in $(cells_of gpus); do tr '\0' '\n' <"/proc/$p/environ" | sed -n 's/^CUDA_VISIBLE_DEVICES=//p'; done | sort)
    expect [ "$(tr '\n' ' ' <<<"$gpus")" = '4 5 6 7 ' ]
    kill -INT "$pid"
    expect_end 10 gpus launcher
    rm -rf results/gpus

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
