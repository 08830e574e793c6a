#!/usr/bin/env bash
# A result's folder: one process at a time writes into it, and an earlier result is never lost.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

one=("${brief[@]}")
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
expect_err '^dlbench: interrupted.* results/first .* results/first\.partial$'
same interrupt
valid_summary results/first.partial/summary.json
expect [ "$(json_get results/first.partial/summary.json '(d["partial"], d["interrupted"], d["cells"][0]["samples_per_s"]["median"] > 0)')" = '(True, True, True)' ]
run "$dlbench" run "${one[@]}" --set loader.num_workers=1 --set loader.sample_sleep_us=500000 --set loader.timeout_s=0.1 --run-name first --overwrite
expect_exit 3
expect_code E_RESULT_KEPT
expect_err '^dlbench: results/first: '
same 'a run without a result'
run "$dlbench" run "${one[@]}" --run-name first --overwrite
expect_exit 0
valid_summary results/first/summary.json
expect [ "$(sha256sum <results/first/summary.json)" != "$before" ]
expect [ -z "$(find results/first -name '.cells*')" ]

# --- two at a time: the second is refused, and the first is not disturbed
start_long results/twice --run-name twice
held=$pid
for more in '' --overwrite; do
    expect_error E_RESULT_LOCKED 2 "$dlbench" run "${one[@]}" --run-name twice $more
    expect_err "^dlbench: results/twice: .*pid $held\\)"
done
expect [ -n "$(find results/twice -name spec.json)" ]

# --- killed before its end: what is left is no result, and the next run may use the folder
kill -9 "$held"
pid=$held
end_long
rm -f results/twice/summary.* # of the blocks that were whole by then
expect_file results/twice/environment.json
expect_error E_SUMMARY_NOT_WRITTEN 3 "$dlbench" report results/twice
expect_err '^dlbench: results/twice: '
echo old >"results/twice/.cells-$held/result.json.$held.tmp"
echo '{"sche' >"results/twice/summary.json.$held.tmp" # half a file
run "$dlbench" run "${one[@]}" --run-name twice
expect_exit 0
expect_err '^dlbench: note: results/twice '
valid_summary results/twice/summary.json
expect [ -z "$(find results/twice -name '.cells*' -o -name '*.tmp')" ]

# --- a process that inherited the folder's descriptor does not hold the lock
sleep 60 9<results/twice &
run "$dlbench" run "${one[@]}" --run-name twice --overwrite
expect_exit 0
kill $! && wait $! 2>/dev/null

# --- folders that hold no result are left alone
mkdir -p results/data/class_0001 && echo x >results/data/class_0001/1.jpg
for more in '' --overwrite; do
    expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name data $more
    expect_err '^dlbench: results/data: .*"class_0001"'
    expect [ "$(find results/data | LC_ALL=C sort | tr '\n' ' ')" = 'results/data results/data/class_0001 results/data/class_0001/1.jpg ' ]
done
mkdir results/theirs && echo '{"mine": 1}' >results/theirs/summary.json
expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name theirs --overwrite
expect_err '^dlbench: results/theirs: .*"summary\.json"'
expect grep -q mine results/theirs/summary.json
mkdir results/empty
run "$dlbench" run "${one[@]}" --run-name empty
expect_exit 0
expect_no_err 'results/empty'

finish
