#!/usr/bin/env bash
# Only what dlbench wrote is replaced or removed in a results folder: everything else is the user's, whatever its name.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

one=("${brief[@]}")
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

# --- nor into a finished result, even of such a name
run "$dlbench" run "${one[@]}" --run-name e
run "$dlbench" run "${one[@]}" --run-name e.partial
expect_exit 0
before=$(sha256sum <results/e.partial/summary.json)
start_long results/e --run-name e --overwrite
kill -INT "$pid"
end_long
expect_exit 130
expect_err ' results/e.partial-2$'
expect [ "$(sha256sum <results/e.partial/summary.json)" = "$before" ]

# --- its own report is known, whatever the name of the run
for name in 'a  b' ' a ' $'tab\there'; do
    run "$dlbench" run "${one[@]}" --run-name "$name"
    expect_exit 0
    run "$dlbench" run "${one[@]}" --run-name "$name" --overwrite
    expect_exit 0
done
start_long 'results/c  d' --run-name 'c  d' --set run.max_batches=20 --set run.repeats=12
kill -INT "$pid"
end_long
expect_exit 130
run "$dlbench" run --resume 'results/c  d'
expect_exit 0

# --- a link under the name of one of its files is the user's, wherever it leads
for name in summary.json report.html; do
    mv "results/e/$name" keep
    ln -s ../../keep "results/e/$name"
    expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --run-name e --overwrite
    expect_err "$name"
    expect [ -L "results/e/$name" ]
    rm "results/e/$name"
    mv keep "results/e/$name"
done

# --- the folder is exchanged for another while a run goes on
mkdir elsewhere
echo thesis >elsewhere/summary.txt
for signal in INT CONT; do # interrupted, or by the cell's end
    start_long results/f --run-name f --set run.max_batches=20 --set run.repeats=6
    for _ in $(seq 300); do grep -q '"repetition"' results/f/journal.jsonl && break || sleep 0.1; done
    rm -rf results/moved
    mv results/f results/moved
    ln -s ../elsewhere results/f
    kill -"$signal" "$pid"
    end_long
    expect [ "$code" -ne 0 ]
    expect_err E_JOURNAL_LOST
    expect_no_err '--resume results/f'
    kept elsewhere/summary.txt thesis
    expect [ "$(ls elsewhere)" = summary.txt ]
    rm results/f
    run "$dlbench" run --resume results/moved --json
    expect_json 'd["cells"][0]["status"] == "ok"'
done

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

# --- folders of the user's in --results, and in the folder of the run, that have a scratch folder's name
mark() { printf 'dlbench scratch folder\nprocess %s\nmade 1\nmachine %s\n' "$1" "$2"; }
mkdir -p users/biology/.cells-42/data users/chemistry/.cells-43 users/physics/.cells-44 users/maths/.cells-45/new/data \
    users/links users/history/.cells-47 users/one/.cells-48 users/two/.cells-49
echo thesis >users/biology/.cells-42/data/thesis.txt
echo thesis >users/chemistry/.cells-43/.dlbench # a file of the mark's name
mark 44 "another-$(hostname)" >users/physics/.cells-44/.dlbench
echo thesis >users/physics/.cells-44/spec.json
mark 45 "$(hostname)" >users/maths/.cells-45/.dlbench # a copy of our own, and the user works in it
for name in thesis.txt memo-mine memo-0123456789abcdef.txt spec.json.bak log.txt.2024.tmpx new/thesis.txt new/data/spec.json; do
    echo thesis >"users/maths/.cells-45/$name"
done
ln -s ../maths/.cells-45/thesis.txt users/maths/.cells-45/log.txt
ln -s ../biology/.cells-42 users/links/.cells-46
ln -s biology users/link
mark 99 "$(hostname)" >users/history/.cells-47/.dlbench # of another process: it was renamed
echo thesis >users/history/.cells-47/spec.json
mkdir users/one/.cells-50 # empty
echo thesis >users/one/.cells-48/spec.json # of a run's own names, without a mark
ln -s "$(mark 49 "$(hostname)")" users/two/.cells-49/.dlbench
listed() { find users ! -path 'users/next*' -printf '%p %y %l\n' | LC_ALL=C sort; }
listed >users.before
for i in 1 2; do
    run "$dlbench" run "${one[@]}" --results users --run-name "next$i"
    expect_exit 0
done
listed >users.after
expect cmp users.before users.after
expect [ -z "$(grep -rL --include='*.txt' --include='spec.json*' --include='memo*' '^thesis$' users/[^n]*)" ]
for name in biology chemistry history one two; do
    expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --results users --run-name "$name" --overwrite
done
listed >users.after
expect cmp users.before users.after
for more in '' --overwrite; do
    run "$dlbench" run "${one[@]}" --results users --run-name maths $more
    expect_exit 0
    for name in thesis.txt memo-mine memo-0123456789abcdef.txt spec.json.bak log.txt.2024.tmpx new/thesis.txt new/data/spec.json; do
        kept "users/maths/.cells-45/$name" thesis
    done
done

# --- what another machine's run left, or still uses, stays beside the new result
run "$dlbench" run "${one[@]}" --results users --run-name physics
expect_exit 0
kept users/physics/.cells-44/spec.json thesis
run "$dlbench" run "${one[@]}" --results users --run-name physics --overwrite
expect_exit 0
kept users/physics/.cells-44/spec.json thesis

# --- names of files that are being written
mkdir -p temporary/new
echo thesis >temporary/new/summary.json.2024.tmp
expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --results temporary --run-name new
kept temporary/new/summary.json.2024.tmp thesis
run "$dlbench" run "${one[@]}" --results temporary --run-name old
expect_exit 0
mkdir temporary/old/.cells-2025
for name in summary.json.2024 environment.json.7 summary.txt.1234567890123 summary.txt.2025 summary.json.2024-1 summary.json.0; do
    echo thesis >"temporary/old/$name.tmp"
done
for i in 1 2; do
    run "$dlbench" run "${one[@]}" --results temporary --run-name old --overwrite
    expect_exit 0
done
for name in summary.json.2024 environment.json.7 summary.txt.1234567890123 summary.txt.2025 summary.json.2024-1 summary.json.0; do
    kept "temporary/old/$name.tmp" thesis
done

# --- a report that is not the result's: there is no result, or its first line is another
mkdir -p reports/notes
for text in 'dlbench notes of mine' 'dlbench run: notes' 'dlbench run: other'; do
    echo "$text" >reports/notes/summary.txt
    expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --results reports --run-name notes
    kept reports/notes/summary.txt "$text"
done
run "$dlbench" run "${one[@]}" --results reports --run-name own
expect_exit 0
for text in 'dlbench notes of mine' 'dlbench run: other' 'dlbench run: o' 'dlbench run: own notes' 'dlbench: own' 'dlbench run own'; do
    echo "$text" >reports/own/summary.txt
    expect_error E_RESULT_FOREIGN 2 "$dlbench" run "${one[@]}" --results reports --run-name own --overwrite
    kept reports/own/summary.txt "$text"
done
rm reports/own/summary.txt
for name in renamed "$(printf 'long name %.0s' {1..20})"; do # ours by any name of the folder
    run "$dlbench" run "${one[@]}" --results reports --run-name "$name"
    expect_exit 0
    mv "reports/$name" reports/moved
    run "$dlbench" run "${one[@]}" --results reports --run-name moved --overwrite
    expect_exit 0
    rm -r reports/moved
done

# --- a name is used as it is, or refused
for n in 240 300; do
    expect_error E_USAGE_RUN_NAME 2 "$dlbench" run "${one[@]}" --run-name "$(printf "%0${n}d" 1)"
done
run "$dlbench" run "${one[@]}" --run-name "$(printf '%0239d' 1)"
expect_exit 0
expect_file "results/$(printf '%0239d' 1)/summary.json"

# --- a full disk: all files are new, or all are old; or all are new but the page, and no old page is beside them
mkdir small
written() { find small/full -type f ! -name journal.jsonl -exec sha256sum {} + | LC_ALL=C sort; } # a journal stays for --resume
if mount -t tmpfs -o size=2m dlb-small small 2>/dev/null; then
    trap 'umount -l "$tmp/small"; rm -rf "$tmp"' EXIT
    run "$dlbench" run "${one[@]}" --results small --run-name full
    expect_exit 0
    expect [ "$(find small/full -mindepth 1 | wc -l)" -eq 4 ]
    before=$(written)
    n_spared=0
    # scratch of a cell needs some of it while the cell runs, and gives it back
    for left in 8 32 64 96 128 160 192 256 512; do
        head -c $((($(df --output=avail -k small | tail -1) - left) * 1024)) /dev/zero >small/fill
        run "$dlbench" run "${one[@]}" --results small --run-name full --overwrite
        rm -f small/fill
        after=$(written)
        [ "$code" -ne 0 ] || break
        expect_exit 3
        if [ "$after" != "$before" ]; then
            n_spared=$((n_spared + 1))
            expect_code E_NO_SPACE
            expect_err '^dlbench: .*/report\.html @ '
            valid_summary small/full/summary.json
            expect_no_file small/full/report.html
            expect [ "$(find small/full -mindepth 1 | wc -l)" -eq 3 ]
        fi
        before=$after
    done
    expect_exit 0
    expect [ "$n_spared" -gt 0 ]
    expect [ "$(find small/full -mindepth 1 | wc -l)" -eq 4 ]
else
    echo "no tmpfs can be mounted here: the full disk is left out (unit/test_io has the write that fails)"
fi
finish
