#!/usr/bin/env bash
# Bad input: an error with path and code on stderr, the right exit code, nothing on stdout, no hang, nothing half-written.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

no_results() { expect [ -z "$(ls -A results 2>/dev/null)" ]; } # nothing was measured, so no folder stays

# --- usage and configuration: 2
printf '[loader]\nbatch_size = 4\nnum_wokers = 2\n' >typo.toml
printf '[loader]\nbatch_size = 0\n' >range.toml
printf '[loader\n' >syntax.toml
for verb in run sweep; do
    expect_error E_CONFIG_UNREADABLE 2 "$dlbench" $verb --config nowhere.toml
    expect_err '^dlbench: nowhere\.toml: '
    expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" $verb --config typo.toml
    expect_err '^dlbench: typo\.toml:3: .*num_wokers.*"loader\.num_workers"'
    expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" $verb --config range.toml
    expect_err '^dlbench: range\.toml:2: .*batch_size'
    expect_error E_CONFIG_NOT_TOML 2 "$dlbench" $verb --config syntax.toml
    expect_err '^dlbench: syntax\.toml:1'
    expect_error E_CONFIG_WRONG_TYPE 2 "$dlbench" $verb "${quick[@]}" --set loader.num_workers=many
    expect_err 'num_workers.*many'
    expect_error E_RANK_OUTSIDE_WORLD 2 "$dlbench" $verb "${quick[@]}" --set run.rank=3
    expect_err 'run\.world'
    expect_error E_DATASET_PATH_NOT_SET 2 "$dlbench" $verb --set dataset.codec=raw
    expect_err 'dataset\.path'
    expect_error E_USAGE_RUN_NAME 2 "$dlbench" $verb "${quick[@]}" --run-name ../up
done
expect_error E_CONFIG_BAD_AXIS 2 "$dlbench" sweep "${quick[@]}" --set sweep.loader.num_workers=[]
expect_err 'sweep\.loader\.num_workers'
expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" sweep "${quick[@]}" --set sweep.loader.num_wokers=[1]
expect_err '"sweep\.loader\.num_workers"'
expect_error E_LOADER_WORKERS_CONTRADICT 2 "$dlbench" run "${quick[@]}" --set loader.kind=threads --set loader.num_workers=0
expect_err 'threads'
expect_no_file results/../up
no_results

# --- with --json the error is a document, too
expect_error E_USAGE_UNKNOWN_FLAG 2 "$dlbench" run --jsn --json
expect_json 'd["error"]["path"] is None and d["error"]["offset"] is None and "--jsn" in d["error"]["text"]'
expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" run --config typo.toml --json
expect_json 'd["error"]["path"] == "typo.toml:3"'
for verb in inspect report; do
    expect_error E_NOT_FOUND 3 "$dlbench" $verb nowhere --json
    expect_json 'd["error"]["path"].startswith("nowhere") and d["error"]["offset"] is None'
done

# --- data that is not there, or no data: 3
files=(--set dataset.codec=raw --set loader.batch_size=4 --set device.step_ms=0.1 --set run.repeats=1)
expect_error E_NOT_FOUND 3 "$dlbench" run "${files[@]}" --set dataset.path=nowhere
expect_err '^dlbench: nowhere: '
expect_error E_NOT_FOUND 3 "$dlbench" run "${files[@]}" --set dataset.path=nowhere/at/all
expect_err '^dlbench: nowhere/at/all: .*dlbench gen'
mkdir empty
for verb in run sweep; do
    expect_error E_DATASET_EMPTY 3 "$dlbench" $verb "${files[@]}" --set dataset.path=empty
    expect_err '^dlbench: empty: '
done
expect_error E_DATASET_NOT_A_FOLDER 3 "$dlbench" run "${files[@]}" --set dataset.path=/etc/passwd
expect_err '^dlbench: /etc/passwd: '
no_results

# --- JPEGs: corrupt and truncated; fail, or skip and name
if ! has_module codec jpeg; then
    echo "no JPEG in this build: those checks are left out"
else
    run "$dlbench" gen --set dataset.path=jpegs --set generate.samples=24 --set generate.sample_bytes=20000
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
        expect_json 'any(n["code"] == "SAMPLES_SKIPPED" and "2 of 24 samples" in n["text"] for n in d["notes"])'
    done
fi

# --- a truncated tar
if ! has_module format webdataset; then
    echo "no tar in this build: those checks are left out"
else
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=tars --set dataset.codec=raw --set generate.samples=60 \
        --set generate.sample_bytes=4000
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
        expect_json 'd["cells"][0]["skipped_frac"] is None and d["verdict"]["severity"] != "ok"'
        expect_json 'not any(e["whole"] for e in d["cells"][0]["epochs"])'
        expect_json "'$(basename "$shard")' in d['cells'][0]['skipped'][0]"
        expect_json 'any(n["code"] == "SAMPLES_SKIPPED" and "shard" in n["text"] for n in d["notes"])'
    done
fi

# --- results that cannot be written: before anything is measured
mkdir locked && chmod 555 locked
expect_unprivileged_error E_PERMISSION 3 "$dlbench" run "${quick[@]}" --results locked/results
expect_err '^dlbench: locked/results: '
expect_unprivileged_error E_NOT_FOUND 3 "$dlbench" run "${quick[@]}" --results /proc/nothing
expect_err '^dlbench: /proc/nothing: '
touch file
expect_error E_NOT_A_FOLDER 3 "$dlbench" run "${quick[@]}" --results file
expect_err '^dlbench: file: '
expect_error E_NOT_A_FOLDER 3 "$dlbench" run --set dataset.format=synthetic --results file/a/b # the part that is wrong is named
expect_err '^dlbench: file/a: '
run bash -c "cd / && exec '$dlbench' run --set dataset.format=synthetic --results ''"
expect_failed E_RESULT_PATH 2

# --- a full disk: every write past the limit fails, as it does there (a real one where it can be mounted)
last='run with a limit on file sizes'
(ulimit -f 1 && exec timeout 60 "$dlbench" run "${quick[@]}" --set device.step_ms=600000 --run-name limit >/dev/null 2>stderr </dev/null)
code=$?
cp stderr "$err" && : >"$out"
expect_failed E_IO 3
expect_err '^dlbench: results/limit/'
expect_no_err 'run\.repeats' # the note on how long it takes: nothing is begun
expect [ -z "$(find results -name ".cells*")" ]
mkdir -p small
if unshare -m true 2>/dev/null && unshare -m mount -t tmpfs -o size=24k none small 2>/dev/null; then
    last='run on a full disk'
    unshare -m sh -c 'mount -t tmpfs -o size=24k none small && exec "$0" "$@"' "$dlbench" run "${quick[@]}" --results small \
        --run-name full >"$out" 2>"$err" </dev/null
    code=$?
    expect_exit 3
    expect_code E_NO_SPACE
    expect [ "$(grep -c 'E_NO_SPACE' "$err")" -eq 1 ] # one cause, told once
fi

# --- a result that cannot be shown
expect_error E_NOT_FOUND 3 "$dlbench" report nowhere
expect_err '^dlbench: nowhere'
echo '{"schema_version": 2}' >bad.json
expect_error E_SUMMARY_FIELD_MISSING 3 "$dlbench" report bad.json
expect_err '^dlbench: bad\.json.*command'
expect_error E_USAGE_MISSING_ARGUMENT 2 "$dlbench" report
expect_error E_NOT_FOUND 3 "$dlbench" cell --spec nowhere.json --result x.json
expect_err '^dlbench: nowhere\.json: '
echo '{"dataset.format": "synthetic", "dataset.codec": "raw", "generate.samples": 64, "generate.sample_bytes": 64,
  "loader.batch_size": 16, "device.step_ms": 0}' >spec.json
run "$dlbench" cell --spec spec.json --result x.json --trace nowhere/t # what was measured counts without its timeline
expect_exit 0
expect [ "$(json_get x.json 'd["status"]')" = ok ]
expect_error E_SPEC_INVALID 2 "$dlbench" cell --spec file --result x.json
expect_error E_USAGE_MISSING_ARGUMENT 2 "$dlbench" cell --spec nowhere.json
expect_error E_USAGE_UNKNOWN_FLAG 2 "$dlbench" rung --nonsense x

finish
