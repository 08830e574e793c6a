#!/usr/bin/env bash
# Bad input: a clear message on stderr, the right exit code, nothing on stdout, no hang, nothing half-written.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

refused() { # exit code, pattern on stderr
    expect_exit "$1"
    expect_err "$2"
    expect_err '^dlbench: '
    expect_out_empty
}

# --- usage and configuration: 2
for verb in run sweep; do
    run "$dlbench" $verb --config nowhere.toml
    refused 2 'nowhere.toml: .*No such file'
    printf '[loader]\nbatch_size = 4\nnum_wokers = 2\n' >typo.toml
    run "$dlbench" $verb --config typo.toml
    refused 2 'typo.toml:3.*num_wokers.*did you mean "loader.num_workers"'
    printf '[loader]\nbatch_size = 0\n' >range.toml
    run "$dlbench" $verb --config range.toml
    refused 2 'range.toml:2.*batch_size'
    printf '[loader\n' >syntax.toml
    run "$dlbench" $verb --config syntax.toml
    refused 2 'syntax.toml:1'
    run "$dlbench" $verb "${quick[@]}" --set loader.num_workers=many
    refused 2 'num_workers.*many'
    run "$dlbench" $verb "${quick[@]}" --set run.rank=3
    refused 2 'run.world'
    run "$dlbench" $verb --set dataset.codec=raw
    refused 2 'dataset.path is not set'
    run "$dlbench" $verb "${quick[@]}" --run-name ../up
    refused 2 'cannot name a folder'
done
run "$dlbench" sweep "${quick[@]}" --set sweep.loader.num_workers=[]
refused 2 'empty'
run "$dlbench" sweep "${quick[@]}" --set sweep.loader.num_wokers=[1]
refused 2 'did you mean "sweep.loader.num_workers"'
run "$dlbench" run "${quick[@]}" --set loader.kind=threads --set loader.num_workers=0
refused 2 'threads'
expect_no_file results/../up
expect [ -z "$(ls -A results 2>/dev/null)" ] # nothing was measured, so no folder stays

# --- data that is not there, or no data: 3
files=(--set dataset.codec=raw --set loader.batch_size=4 --set device.step_ms=0.1 --set run.repeats=1)
run "$dlbench" run "${files[@]}" --set dataset.path=nowhere
refused 3 'nowhere.*No such file'
mkdir empty
run "$dlbench" run "${files[@]}" --set dataset.path=empty
refused 3 'empty.*no samples'
run "$dlbench" sweep "${files[@]}" --set dataset.path=empty
refused 3 'empty.*no samples'
run "$dlbench" run "${files[@]}" --set dataset.path=/etc/passwd
refused 3 '/etc/passwd'
expect [ -z "$(ls -A results 2>/dev/null)" ]

# --- JPEGs: corrupt and truncated; fail, or skip and name
run "$dlbench" gen --set dataset.path=jpegs --set generate.samples=24 --set generate.sample_bytes=20000
if grep -q 'built without' "$err"; then
    echo "no JPEG in this build: those checks are left out"
else
    expect_exit 0
    mapfile -t images < <(find jpegs -name '*.jpg' | sort)
    head -c 3000 "${images[5]}" >cut && mv cut "${images[5]}"
    head -c 9000 /dev/urandom >"${images[9]}"
    jpeg=(--set dataset.path=jpegs --set loader.batch_size=4 --set device.step_ms=0.1 --set run.repeats=1)
    for workers in 0 2; do
        run "$dlbench" run "${jpeg[@]}" --set loader.num_workers=$workers --run-name bad --overwrite
        expect_exit 3
        expect_err "$(basename "${images[5]}")|$(basename "${images[9]}")"
        valid_summary results/bad/summary.json
        run "$dlbench" run "${jpeg[@]}" --set loader.num_workers=$workers --set dataset.on_error=skip --run-name skip --overwrite --json
        expect_exit 0
        valid_summary "$out"
        expect_json 'd["cells"][0]["skipped_samples"] == 2 and len(d["cells"][0]["skipped"]) == 2'
        expect_json 'd["cells"][0]["epochs"][0]["samples"] == 22 and d["cells"][0]["epochs"][0]["expected"] == 24'
        expect_json "any('$(basename "${images[5]}")' in s for s in d['cells'][0]['skipped'])"
        expect_json 'any("2 samples" in n for n in d["notes"])'
    done
fi

# --- a truncated tar
run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=tars --set dataset.codec=raw --set generate.samples=60 \
    --set generate.sample_bytes=4000
if grep -q 'built without' "$err"; then
    echo "no tar in this build: those checks are left out"
else
    expect_exit 0
    shard=$(find tars -name '*.tar' | sort | head -n 1)
    size=$(stat -c %s "$shard")
    truncate -s $((size / 2 + 700)) "$shard"
    for workers in 0 2; do
        run "$dlbench" run "${files[@]}" --set dataset.format=webdataset --set dataset.path=tars \
            --set loader.num_workers=$workers --run-name tar --overwrite
        expect_exit 3
        expect_err "$(basename "$shard")"
        run "$dlbench" run "${files[@]}" --set dataset.format=webdataset --set dataset.path=tars --set dataset.on_error=skip \
            --set loader.num_workers=$workers --run-name tar --overwrite --json
        expect_exit 0
        expect_json 'd["cells"][0]["skipped_samples"] == 0 and d["cells"][0]["cut_shards"] >= 1'
        expect_json "'$(basename "$shard")' in d['cells'][0]['skipped'][0]"
        expect_json 'any("the rest of a shard" in n for n in d["notes"])'
    done
fi

# --- results that cannot be written: before anything is measured
mkdir locked && chmod 555 locked
run_unprivileged "$dlbench" run "${quick[@]}" --results locked/results
refused 3 'locked/results.*Permission denied'
run_unprivileged "$dlbench" run "${quick[@]}" --results /proc/nothing
refused 3 '/proc/nothing'
touch file
run "$dlbench" run "${quick[@]}" --results file
refused 3 'file'

# --- a full disk: every write past the limit fails, as it does there (a real one where it can be mounted)
last='run with a limit on file sizes'
(ulimit -f 1 && exec timeout 60 "$dlbench" run "${quick[@]}" --set device.step_ms=600000 --run-name limit >/dev/null 2>stderr </dev/null)
code=$?
cp stderr "$err" && : >"$out"
refused 3 'results/limit.*(File too large|No space)'
expect_no_err 'note: this takes' # nothing is begun
expect [ -z "$(find results/limit -name ".cells*")" ]
mkdir -p small
if unshare -m true 2>/dev/null && unshare -m mount -t tmpfs -o size=24k none small 2>/dev/null; then
    last='run on a full disk'
    unshare -m sh -c 'mount -t tmpfs -o size=24k none small && exec "$0" "$@"' "$dlbench" run "${quick[@]}" --results small \
        --run-name full >"$out" 2>"$err" </dev/null
    code=$?
    expect_exit 3
    expect_err 'No space left'
    expect [ "$(grep -c 'No space left' "$err")" -eq 1 ] # one cause, told once
fi

# --- a result that cannot be shown
run "$dlbench" report nowhere
refused 3 'nowhere.*No such file'
echo '{"schema_version": 1}' >bad.json
run "$dlbench" report bad.json
refused 3 'bad.json: .* command is missing'
run "$dlbench" report
refused 2 'PATH is missing'
run "$dlbench" cell --spec nowhere.json --result x.json
refused 3 'nowhere.json'

# --- a results folder below something that is no folder: the part that is wrong is named
touch plain
run "$dlbench" run --set dataset.format=synthetic --results plain/a/b
refused 3 'plain/a: cannot make the results folder: Not a directory'
run "$dlbench" run --set dataset.codec=raw --set dataset.path=nowhere/at/all
refused 3 'nowhere/at/all: No such file or folder: check dataset.path, or write the data with .dlbench gen'

finish
