#!/usr/bin/env bash
# Only what dlbench wrote is replaced or removed in a results folder: everything else is the user's, whatever its name.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

one=("${quick[@]}" --set run.repeats=1)
kept() { [ "$(cat "$1")" = "$2" ] || failed "$1 was touched"; }

# --- names that begin as scratch does
mkdir -p results/a/.cellsbiology/data results/a/.cells-12x results/a/.cells- results/b
echo thesis >results/a/.cellsbiology/data/thesis.txt
expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name a
kept results/a/.cellsbiology/data/thesis.txt thesis
run "$dlbench" run "${one[@]}" --run-name b
expect_exit 0
mkdir results/b/.cellsbiology
echo thesis >results/b/.cellsbiology/thesis.txt
echo mine >results/b/.cells-77 # a file, and scratch is a folder
run "$dlbench" run "${one[@]}" --run-name b --overwrite
expect_exit 0
kept results/b/.cellsbiology/thesis.txt thesis
kept results/b/.cells-77 mine

# --- names of a result's files, with what others wrote in them
for name in summary.txt environment.json summary.json; do
    mkdir -p "results/own-$name"
    for text in 'my own notes' '{"schema_version": "my own format"}' '{"schema_version": 2}' '[]' ''; do
        printf '%s' "$text" >"results/own-$name/$name"
        for more in '' --overwrite; do
            expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name "own-$name" $more
            kept "results/own-$name/$name" "$text"
        done
    done
done
mkfifo results/own-summary.txt/environment.json
expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name own-summary.txt
run "$dlbench" run "${one[@]}" --run-name mixed
expect_exit 0
before=$(sha256sum <results/mixed/summary.json)
echo 'my own notes' >results/mixed/summary.txt
expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name mixed --overwrite
kept results/mixed/summary.txt 'my own notes'
expect [ "$(sha256sum <results/mixed/summary.json)" = "$before" ]

# --- what is interrupted goes beside the result, but not into a folder of the user's
run "$dlbench" run "${one[@]}" --run-name c
expect_exit 0
mkdir results/c.partial
echo thesis >results/c.partial/summary.txt
for aside in c.partial-2 c.partial-2; do # the second time it is replaced: it is ours
    start_long results/c --run-name c --overwrite
    kill -INT "$pid"
    end_long
    expect_exit 130
    expect_err " results/$aside\$"
    valid_summary "results/$aside/summary.json"
done
kept results/c.partial/summary.txt thesis
expect_no_file results/c.partial/summary.json
expect_no_file results/c.partial-3

# --- scratch of killed runs with names that were chosen for them goes with the next run
start_long killed/gone --results killed --run-name gone
kill -9 "$pid"
end_long
expect [ -n "$(find killed -name '.cells-*')" ]
mkdir -p killed/user/.cells-1
echo thesis >killed/user/thesis.txt
touch killed/user/.cells-1/thesis.txt
run "$dlbench" run "${one[@]}" --results killed --run-name next
expect_exit 0
expect [ "$(find killed -name '.cells-*')" = killed/user/.cells-1 ]
expect_file killed/user/.cells-1/thesis.txt

# --- a name is used as it is, or refused
for n in 240 300; do
    expect_error E_USAGE_RUN_NAME 2 "$dlbench" run "${one[@]}" --run-name "$(printf "%0${n}d" 1)"
done
run "$dlbench" run "${one[@]}" --run-name "$(printf '%0239d' 1)"
expect_exit 0
expect_file "results/$(printf '%0239d' 1)/summary.json"

# --- a full disk: all files are new, or all are old
mkdir small
if mount -t tmpfs -o size=2m dlb-small small 2>/dev/null; then
    trap 'umount -l "$tmp/small"; rm -rf "$tmp"' EXIT
    run "$dlbench" run "${one[@]}" --results small --run-name full
    expect_exit 0
    before=$(cat small/full/* | sha256sum)
    free=$(df --output=avail -k small | tail -1)
    # scratch of a cell needs some of it while the cell runs, and gives it back
    for left in 8 16 24 32 40 48; do
        head -c $(((free - left) * 1024)) /dev/zero >small/fill
        run "$dlbench" run "${one[@]}" --results small --run-name full --overwrite
        rm -f small/fill
        if [ "$code" -ne 0 ]; then
            expect [ "$(cat small/full/* | sha256sum)" = "$before" ]
        else
            before=$(cat small/full/* | sha256sum)
            break
        fi
    done
    expect_exit 0
    expect [ "$(find small/full -mindepth 1 | wc -l)" -eq 3 ]
else
    echo "no tmpfs can be mounted here: the full disk is left out (unit/test_io has the write that fails)"
fi
finish
