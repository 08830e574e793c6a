# shellcheck shell=bash
# Shared by the tests of ranks; sourced after tests/cli/lib.sh and tests/cli/measure.sh.
. "$(dirname "${BASH_SOURCE[0]}")/launchers.sh"
n_ranks=4 verb=run
through=() # a program that starts each rank, with its arguments

# The implementations that this build has a module for, and whose launcher is there.
find_mpi() {
    implementations=()
    for mpi in openmpi mpich; do
        [ -e "$(dirname "$dlbench")/dlbench-mpi-$mpi.so" ] && command -v "mpirun.$mpi" >/dev/null && implementations+=("$mpi")
    done
    [ ${#implementations[@]} -gt 0 ] || skip "neither Open MPI nor MPICH with its mpirun"
    [ "${CI-}" != true ] || [ ${#implementations[@]} -eq 2 ] || failed "in CI both Open MPI and MPICH are tested, not only ${implementations[*]}"
}

# A run of minutes: pid, and the result's folder in results/NAME.
start_ranks() { # implementation, name, further arguments
    local mpi=$1 name=$2
    shift 2
    launcher "$mpi" "$n_ranks"
    last="${launch[*]} $verb $name"
    mkdir -p ranks # for folders of the ranks, and of no other program
    TMPDIR=$PWD/ranks setsid "${launch[@]}" "${through[@]}" "$dlbench" "$verb" "${quick[@]}" --set generate.samples=400000 --set device.step_ms=20 --set run.epochs=1 \
        --set run.repeats=3 --run-name "$name" "$@" >"$out" 2>"$err" </dev/null &
    pid=$!
    for _ in $(seq 200); do
        [ "$(cells_of "$name" | wc -l)" -ge "$n_ranks" ] && break
        sleep 0.1
    done
    sleep 1
}

# As start_ranks, of three repetitions of 2 s; until the first block is in the journal and the next one runs.
start_measured() { # implementation, name, further arguments
    start_ranks "$@" --set generate.samples=6400 --set run.repeats=3
    for _ in $(seq 300); do grep -qs '"is":"block"' "results/$2/journal.jsonl" && break; sleep 0.1; done
    for _ in $(seq 100); do [ "$(cells_of "$2" | wc -l)" -ge "$n_ranks" ] && break; sleep 0.1; done
    sleep 0.5
}

# --resume goes on with it, to the end.
resume_ranks() { # implementation, name
    local result=results/$2/summary.json
    launcher "$1" "$n_ranks"
    TMPDIR=$PWD/ranks run "${launch[@]}" "$dlbench" "$verb" --resume "results/$2"
    expect_exit 0
    valid_summary "$result"
    expect [ "$(json_get "$result" '(d["partial"], d["resumed"]["times"], len(d["ranks"]))')" = "(False, 1, $n_ranks)" ]
    expect [ "$(find "results/$2" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ')" = \
        'environment.json report.html summary.json summary.txt ' ]
    expect [ -z "$(rank_folders)" ]
}

# The same of start_measured: with what was measured before.
expect_resumed() { # implementation, name
    expect [ "$(grep -c '"is":"block"' "results/$2/journal.jsonl")" -ge 1 ]
    resume_ranks "$1" "$2"
    expect [ "$(json_get "results/$2/summary.json" 'd["cells"][0]["repeats"]')" -eq 3 ]
    rm -rf "results/$2"
}

# The processes of such a run: the launcher's, the runners, each a child of one of those, and the runners' cells.
both_of() { pgrep -f "^[^ ]*dlbench $verb .*--run-name $1( |\$)"; }
parent_of() { ps -o ppid= -p "$1" | tr -d ' '; }
runners_of() { for p in $(both_of "$1"); do both_of "$1" | grep -qx "$(parent_of "$p")" && echo "$p"; done; }
speakers_of() { for p in $(runners_of "$1"); do parent_of "$p"; done; }
cells_of() { for p in $(runners_of "$1"); do pgrep -P "$p" -f 'dlbench cell'; done; }

# The launcher ends within so many seconds, with an error; soon after no process of the run is left, nor a folder of a rank. After a signal
# to the launcher the exit code is its own: MPICH's has 0 at times.
expect_end() { # seconds, name, after a signal to the launcher: launcher
    local start=$SECONDS left="run-name $2( |\$)|^[^ ]*dlbench cell .*(results/$2|$PWD/ranks)/" # a cell's files are there
    while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - start)) -le "$1" ]; do sleep 0.1; done
    kill -0 "$pid" 2>/dev/null && { failed "the launcher should end within $1 s"; kill -9 "$pid"; }
    wait "$pid"
    code=$?
    [[ ${3-} = launcher && ${launch[*]} = *mpich* ]] || expect [ "$code" -ne 0 ]
    for _ in $(seq 50); do [ -z "$(pgrep -f "$left")" ] && break; sleep 0.1; done
    [ -z "$(pgrep -f "$left")" ] || failed "processes are left: $(pgrep -af "$left")"
    expect [ -z "$(rank_folders)" ]
}
rank_folders() { find ranks -maxdepth 1 -name 'dlbench-*' 2>/dev/null; }

rank_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p'; }
speaker_of_rank() { for p in $(speakers_of "$1"); do [ "$(rank_of "$p")" = "$2" ] && echo "$p"; done; } # name, rank
runner_of_rank() { for p in $(runners_of "$1"); do [ "$(rank_of "$(parent_of "$p")")" = "$2" ] && echo "$p"; done; }
cell_of_rank() { pgrep -P "$(runner_of_rank "$1" "$2")" -f 'dlbench cell'; }

# One may just have ended.
kill_cell() { # name, rank
    for _ in $(seq 50); do kill -9 "$(cell_of_rank "$1" "$2")" 2>/dev/null && return; sleep 0.1; done
    failed "rank $2 of $1 should have a cell"
}

# Waits until stderr has a line that matches.
await_err() { # seconds, regex
    for _ in $(seq $(($1 * 10))); do grep -Eq -- "$2" "$err" && return; sleep 0.1; done
    failed "within $1 s stderr should match: $2"
}
