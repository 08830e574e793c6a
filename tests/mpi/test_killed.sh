#!/usr/bin/env bash
# `kill -9` of a process of a rank, or of all: the job ends in time and names it, keeps what was measured, and --resume goes on with it.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi

for mpi in "${implementations[@]}"; do
    # --- a runner
    start_measured "$mpi" runner
    kill -9 "$(runner_of_rank runner 2)"
    expect_end 10 runner
    expect_err 'rank 2 on .*SIGKILL.*E_RANK_LOST'
    expect [ "$(json_get results/runner/summary.json 'd["partial"]')" = True ]
    expect_resumed "$mpi" runner

    # --- rank 0's
    start_measured "$mpi" first
    kill -9 "$(runner_of_rank first 0)"
    expect_end 10 first
    expect_err 'rank 0 on .*SIGKILL.*E_RANK_LOST'
    expect_resumed "$mpi" first

    # --- the launcher's own process of a rank: nobody else is blamed. Open MPI's launcher names it; MPICH's names rank 0's, whichever it
    # was.
    for rank in 0 3; do
        start_measured "$mpi" "speaker-$rank"
        kill -9 "$(speaker_of_rank "speaker-$rank" $rank)"
        expect_end 10 "speaker-$rank"
        expect grep -Eq 'signal 9' "$out" "$err"
        [ "$mpi" = mpich ] || expect_err "rank $rank with PID"
        expect [ "$(grep -c 'rank [0-9]* on' "$err")" -eq 0 ]
        expect_resumed "$mpi" "speaker-$rank"
    done

    # --- all processes at once, the launcher, too: the next job on the machine removes what they left
    start_measured "$mpi" all
    # shellcheck disable=SC2046 # several numbers
    kill -9 "$pid" $(both_of all) $(cells_of all)
    wait "$pid"
    sleep 1
    expect [ "$(rank_folders | wc -l)" -eq $((n_ranks - 1)) ]
    expect_resumed "$mpi" all

    # --- a cell: the sweep goes on without it; cut off in the same block, it measures that cell anew
    verb=sweep
    start_ranks "$mpi" sweep --set 'sweep.loader.num_workers=[0, 1]' --set sweep.exhaustive=true --set sweep.confirm=none \
        --set generate.samples=6400
    for _ in $(seq 200); do grep -qs '"is":"repetition"' results/sweep/journal.jsonl && break; sleep 0.1; done
    for _ in 1 2 3; do
        kill_cell sweep 1
        for _ in $(seq 30); do grep -q 'SIGKILL' results/sweep/journal.jsonl && break 2; sleep 0.1; done
    done
    expect grep -q 'rank 1 on .*SIGKILL' results/sweep/journal.jsonl
    kill -9 "$(runner_of_rank sweep 0)"
    expect_end 10 sweep
    resume_ranks "$mpi" sweep
    expect [ "$(json_get results/sweep/summary.json '[c["status"] for c in d["cells"]]')" = "['ok', 'ok']" ]
    rm -rf results/sweep
    verb=run
done
finish
