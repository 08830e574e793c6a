#!/usr/bin/env bash
# A result's folder: who writes into it, and what is never lost in it.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

one=("${quick[@]}" --set run.repeats=1)
same() { [ "$(sha256sum <results/first/summary.json)" = "$before" ] || failed "the result that was there changed: $1"; }

run "$dlbench" run "${one[@]}" --run-name first
expect_exit 0
before=$(sha256sum <results/first/summary.json)

# --- results without a name have one each, however many begin in the same second
pids=()
for i in 1 2 3 4; do
    "$dlbench" run "${one[@]}" --results unnamed >"unnamed.$i" 2>&1 </dev/null &
    pids+=($!)
done
last='four runs without a name'
for pid in "${pids[@]}"; do
    wait "$pid" || failed "one of them failed: $(cat unnamed.*)"
done
expect [ "$(find unnamed -mindepth 2 -name summary.json | wc -l)" -eq 4 ]

# --- it is kept until another is whole: through a kill, an interrupt, and a run that fails
start_long results/first --run-name first --overwrite
kill -9 "$pid"
end_long
same 'kill -9'
run "$dlbench" report results/first
expect_exit 0
start_long results/first --run-name first --overwrite
kill -INT "$pid"
end_long
expect_exit 130
expect_err 'results/first is kept as it was; what was measured until then is in results/first.partial'
same interrupt
valid_summary results/first.partial/summary.json
expect [ "$(json_get results/first.partial/summary.json '(d["partial"], d["interrupted"], d["cells"][0]["samples_per_s"]["median"] > 0)')" = '(True, True, True)' ]
run "$dlbench" run "${one[@]}" --set generate.samples=48 --run-name first --overwrite
expect_exit 2
expect_err 'results/first: the result that was there is kept'
same 'a run without a result'
run "$dlbench" run "${one[@]}" --run-name first --overwrite
expect_exit 0
valid_summary results/first/summary.json
expect [ "$(sha256sum <results/first/summary.json)" != "$before" ]
expect [ -z "$(find results/first -name '.cells*')" ]

# --- two at a time: the second is refused, and the first is not disturbed
start_long results/twice --run-name twice
held=$pid
run "$dlbench" run "${one[@]}" --run-name twice --overwrite
expect_exit 2
expect_err "results/twice: another dlbench writes there \\(pid $held\\)"
run "$dlbench" run "${one[@]}" --run-name twice
expect_exit 2
expect_err "another dlbench writes there \\(pid $held\\)"
expect [ -n "$(find results/twice -name spec.json)" ]

# --- killed before its end: what is left is no result, and in nobody's way
kill -9 "$held"
pid=$held
end_long
rm -f results/twice/summary.* # of the blocks that were whole by then
expect_file results/twice/environment.json
run "$dlbench" report results/twice
expect_exit 3
expect_err 'results/twice: no summary there: the run was killed before its end'
mkdir -p results/twice/.cells-1 && echo old >results/twice/.cells-1/result.json
run "$dlbench" run "${one[@]}" --run-name twice
expect_exit 0
expect_err 'note: results/twice has no summary, only what a run left that was killed'
valid_summary results/twice/summary.json
expect [ -z "$(find results/twice -name '.cells*')" ]

# --- a process that the killed one left behind holds nothing
sleep 60 9<results/twice &
run "$dlbench" run "${one[@]}" --run-name twice --overwrite
expect_exit 0
kill $! && wait $! 2>/dev/null

# --- what is no result is left alone
mkdir -p results/data/class_0001 && echo x >results/data/class_0001/1.jpg
for more in '' --overwrite; do
    run "$dlbench" run "${one[@]}" --run-name data $more
    expect_exit 2
    expect_err 'results/data: holds "class_0001" and no result: it is left alone'
    expect [ "$(find results/data | LC_ALL=C sort | tr '\n' ' ')" = 'results/data results/data/class_0001 results/data/class_0001/1.jpg ' ]
done
mkdir results/theirs && echo '{"mine": 1}' >results/theirs/summary.json
run "$dlbench" run "${one[@]}" --run-name theirs --overwrite
expect_exit 2
expect_err 'holds "summary.json" and no result'
expect grep -q mine results/theirs/summary.json
mkdir results/empty
run "$dlbench" run "${one[@]}" --run-name empty
expect_exit 0
expect_no_err "no summary"

finish
