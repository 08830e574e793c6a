#!/usr/bin/env bash
# A rank that cannot begin, a cell that is killed, signals to all: the job ends in time, names who, keeps what was measured, and leaves
# no process.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi

# Rank 2 has a TMPDIR that is not there; or it is the first of a machine whose program has no module beside it.
mkdir -p alone
cp "$dlbench" alone/dlbench
cat >on_ranks <<EOF
#!/bin/sh
program=$dlbench
case "\$SPOILT-\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" in
    tmpdir-2) export TMPDIR=/there/is/none ;;
    module-2) program=alone/dlbench MPI_LOCALRANKID=0 OMPI_COMM_WORLD_LOCAL_RANK=0 && export MPI_LOCALRANKID OMPI_COMM_WORLD_LOCAL_RANK ;;
esac
exec "\$program" "\$@"
EOF
chmod 755 on_ranks

for mpi in "${implementations[@]}"; do
    # --- a rank that cannot begin ends the job, and is named with the reason
    launcher "$mpi" "$n_ranks"
    start_s=$SECONDS
    SPOILT=tmpdir run "${launch[@]}" ./on_ranks run "${brief[@]}" --run-name tmpdir
    expect [ "$code" -ne 0 ]
    expect [ $((SECONDS - start_s)) -le 10 ]
    expect_err 'rank 2 on .*E_RANK_LOST'
    expect_err '/there/is/none'
    last="${launch[*]} run module" # MPICH's launcher waits for that rank until it is interrupted
    SPOILT=module setsid "${launch[@]}" ./on_ranks run "${brief[@]}" --run-name module >"$out" 2>"$err" </dev/null &
    pid=$!
    await_err 10 'rank 2 on .*E_RANKS_NO_MODULE'
    sleep 1
    kill -INT "$pid" 2>/dev/null
    expect_end 10 module
    expect_no_file results/module

    # --- a cell is killed: that repetition fails on all ranks, and says where; the run has ended, so that nothing is left to go on with
    for rank in 0 1; do
        start_ranks "$mpi" cell
        kill_cell cell $rank
        expect_end 10 cell
        expect_err "rank $rank on .*SIGKILL.*E_CELL_KILLED"
        launcher "$mpi" "$n_ranks"
        run "${launch[@]}" "$dlbench" run --resume results/cell
        expect [ "$code" -ne 0 ]
        expect_code E_RESUME_NOTHING
        rm -rf results/cell
    done

    # --- Ctrl-C: a partial result, with which --resume goes on
    start_measured "$mpi" ctrl-c
    kill -INT "$pid"
    expect_end 10 ctrl-c launcher
    expect [ "$(json_get results/ctrl-c/summary.json '(d["partial"], len(d["ranks"]))')" = '(True, 4)' ]
    launcher "$mpi" 3
    run "${launch[@]}" "$dlbench" run --resume results/ctrl-c
    expect_err 'E_RANKS_SETTINGS' # on another number of ranks
    run "$dlbench" run --resume results/ctrl-c
    expect_exit 2
    expect_err 'E_RANKS_SETTINGS' # without a launcher: one rank's share is not a repetition
    expect_resumed "$mpi" ctrl-c

    # --- the scheduler's SIGTERM, to the launcher
    start_ranks "$mpi" term
    kill -TERM "$pid"
    expect_end 10 term launcher
    expect [ "$(json_get results/term/summary.json '(d["partial"], len(d["ranks"]))')" = '(True, 4)' ]
    rm -rf results/term

    # --- ... and to each process of the job: cells first
    start_measured "$mpi" term-all
    # shellcheck disable=SC2046 # several numbers
    kill -TERM $(cells_of term-all | sort -rn) $(both_of term-all | sort -rn)
    expect_end 10 term-all
    expect_no_err 'E_RANK_LOST|E_CELL_KILLED'
    expect [ "$(json_get results/term-all/summary.json '(d["partial"], d["interrupted"], len(d["ranks"]))')" = '(True, True, 4)' ]
    expect_resumed "$mpi" term-all

    # --- ... and to those of one rank alone
    start_measured "$mpi" term-one
    # shellcheck disable=SC2046
    kill -TERM $(cell_of_rank term-one 2) $(runner_of_rank term-one 2)
    expect_end 10 term-one
    expect_no_err 'E_RANK_LOST|E_CELL_KILLED'
    expect [ "$(json_get results/term-one/summary.json '(d["partial"], d["interrupted"], len(d["ranks"]))')" = '(True, True, 4)' ]
    expect_resumed "$mpi" term-one
done
finish
