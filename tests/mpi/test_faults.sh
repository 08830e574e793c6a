#!/usr/bin/env bash
# A rank that dies or hangs: the job ends in time and names it, keeps what was measured, and leaves no process.
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
    expect [ "$code" -ne 0 ]
    expect_no_file results/module

    # --- a runner is killed: what was measured is kept, and --resume goes on with it
    start_ranks "$mpi" runner --set generate.samples=12800 --set run.repeats=8
    sleep 5
    kill -9 "$(runner_of_rank runner 2)"
    expect_end 10 runner
    expect [ "$code" -ne 0 ]
    expect_err 'rank 2 on .*SIGKILL.*E_RANK_LOST'
    n_before=$(json_get results/runner/summary.json 'd["cells"][0]["repeats"]')
    launcher "$mpi" "$n_ranks"
    run "${launch[@]}" "$dlbench" run --resume results/runner
    expect_exit 0
    expect [ "$(json_get results/runner/summary.json "(d['partial'], d['cells'][0]['repeats'] > $n_before)")" = '(False, True)' ]
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
    kill -9 "$(speaker_of_rank speaker 3)"
    expect_end 10 speaker
    expect [ "$code" -ne 0 ]
    expect grep -Eq 'signal 9' "$out" "$err" # by the launcher
    rm -rf results/speaker

    # --- a cell is killed: that repetition fails on all ranks, and says where
    start_ranks "$mpi" cell
    kill -9 "$(cell_of_rank cell 1)"
    expect_end 20 cell
    expect [ "$code" -ne 0 ]
    expect_err 'rank 1 on .*SIGKILL.*E_CELL_KILLED'
    rm -rf results/cell

    # --- Ctrl-C: a partial result, with which --resume goes on
    start_ranks "$mpi" ctrl-c --set generate.samples=12800 --set run.repeats=8
    sleep 5
    kill -INT "$pid"
    expect_end 10 ctrl-c
    expect [ "$(json_get results/ctrl-c/summary.json '(d["partial"], len(d["ranks"]))')" = '(True, 4)' ]
    n_before=$(json_get results/ctrl-c/summary.json 'd["cells"][0]["repeats"]')
    launcher "$mpi" 3
    run "${launch[@]}" "$dlbench" run --resume results/ctrl-c
    expect_err 'E_RANKS_SETTINGS' # on another number of ranks
    run "$dlbench" run --resume results/ctrl-c
    expect_exit 2
    expect_err 'E_RANKS_SETTINGS' # without a launcher: one rank's share is not a repetition
    launcher "$mpi" "$n_ranks"
    run "${launch[@]}" "$dlbench" run --resume results/ctrl-c
    expect_exit 0
    expect [ "$(json_get results/ctrl-c/summary.json "(d['partial'], d['cells'][0]['repeats'] > $n_before)")" = '(False, True)' ]
    rm -rf results/ctrl-c

    # --- the scheduler's SIGTERM
    start_ranks "$mpi" term
    kill -TERM "$pid"
    expect_end 10 term
    expect [ "$code" -ne 0 ]
    expect [ "$(json_get results/term/summary.json '(d["partial"], len(d["ranks"]))')" = '(True, 4)' ]
    rm -rf results/term
done
finish
