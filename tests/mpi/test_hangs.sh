#!/usr/bin/env bash
# A rank that hangs: MPI does not see it, dlbench names it by a deadline, with what it hangs in, and --resume goes on.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi

for mpi in "${implementations[@]}"; do
    # --- a runner is stopped: the job ends after 20 s
    start_measured "$mpi" runner
    kill -STOP "$(runner_of_rank runner 1)"
    expect_end 30 runner
    expect_err 'rank 1 on .*stopped by a signal.*E_RANK_LOST'
    expect [ "$(json_get results/runner/summary.json 'd["partial"]')" = True ]
    expect_resumed "$mpi" runner

    # --- rank 0's, while its cell runs
    start_measured "$mpi" first
    kill -STOP "$(runner_of_rank first 0)"
    expect_end 30 first
    expect_err 'rank 0 on .*stopped by a signal.*E_RANK_LOST'
    expect_resumed "$mpi" first

    # --- the process that speaks MPI is stopped
    for rank in 0 3; do
        start_measured "$mpi" "speaker-$rank"
        kill -STOP "$(speaker_of_rank "speaker-$rank" $rank)"
        expect_end 35 "speaker-$rank"
        expect_err "rank $rank on .*E_RANK_LOST"
        expect_resumed "$mpi" "speaker-$rank"
    done
done
finish
