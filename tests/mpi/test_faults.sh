#!/usr/bin/env bash
# A rank that dies or hangs: the job ends in time and names it, keeps what was measured, and leaves no process.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi

rank_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p'; }
runner_of_rank() { # name, rank
    for p in $(runners_of "$1"); do
        [ "$(rank_of "$(ps -o ppid= -p "$p" | tr -d ' ')")" = "$2" ] && echo "$p"
    done
}

for mpi in "${implementations[@]}"; do
    # --- a runner is killed
    start_ranks "$mpi" runner
    kill -9 "$(runner_of_rank runner 2)"
    expect_end 10 runner
    expect [ "$code" -ne 0 ]
    expect_err 'rank 2 on .*SIGKILL.*E_RANK_LOST'
    rm -rf results/runner

    # --- rank 0's runner is killed
    start_ranks "$mpi" first
    kill -9 "$(runner_of_rank first 0)"
    expect_end 10 first
    expect [ "$code" -ne 0 ]
    expect_err 'rank 0 on .*SIGKILL'
    rm -rf results/first

    # --- the launcher's own process of a rank is killed
    start_ranks "$mpi" speaker
    kill -9 "$(ps -o ppid= -p "$(runner_of_rank speaker 3)" | tr -d ' ')"
    expect_end 10 speaker
    expect [ "$code" -ne 0 ]
    rm -rf results/speaker

    # --- a cell is killed: that repetition fails on all ranks, and says where
    start_ranks "$mpi" cell
    victim=$(runner_of_rank cell 1)
    kill -9 "$(pgrep -P "$victim" -f 'dlbench cell')"
    expect_end 20 cell
    expect [ "$code" -ne 0 ]
    expect_err 'rank 1 on .*SIGKILL.*E_CELL_KILLED'
    rm -rf results/cell

    # --- Ctrl-C
    start_ranks "$mpi" ctrl-c
    kill -INT "$pid"
    expect_end 10 ctrl-c
    expect [ "$code" -ne 0 ]
    rm -rf results/ctrl-c
done
finish
