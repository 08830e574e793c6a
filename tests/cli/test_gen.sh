#!/usr/bin/env bash
# gen: writes, resumes, refuses, reports.
# Thousands of files are synced to their disk.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

raw=(--set dataset.codec=raw --set generate.sample_bytes=2000)

tree_hash() { (cd "$1" && find . -type f ! -name '.dlbench-*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum); }

for format in files webdataset; do
    if ! has_module format $format; then
        expect_error E_MISSING 2 "$dlbench" gen --set dataset.format=$format --set dataset.path=$format "${raw[@]}"
        continue
    fi
    run "$dlbench" gen --set dataset.format=$format --set dataset.path=$format "${raw[@]}" --set generate.samples=500
    expect_exit 0
    expect_out "^$format: 500 samples, 1\.0[0-9] MB"
    expect_err '^gen: starting$'
    before=$(tree_hash $format)

    # A second call finds it there, and says so; as a document it says the same.
    run "$dlbench" gen --set dataset.format=$format --set dataset.path=$format "${raw[@]}" --set generate.samples=500
    expect_exit 0
    expect_out "^$format: already complete"
    run "$dlbench" gen --set dataset.format=$format --set dataset.path=$format "${raw[@]}" --set generate.samples=500 --json
    expect_exit 0
    expect_json 'd["command"] == "gen" and d["path"] == "'$format'" and d["samples"] == 500 and d["written"] == 0'
    expect_json 'd["bytes"] >= 1000000 and d["seconds"] > 0'

    # The same parameters elsewhere give the same bytes; another seed does not.
    run "$dlbench" gen --set dataset.format=$format --set dataset.path=again "${raw[@]}" --set generate.samples=500 --json
    expect_exit 0
    expect_json 'd["written"] == 500'
    expect [ "$(tree_hash again)" = "$before" ]
    rm -rf again
    run "$dlbench" gen --set dataset.format=$format --set dataset.path=again "${raw[@]}" --set generate.samples=500 \
        --set generate.seed=99
    expect_exit 0
    expect [ "$(tree_hash again)" != "$before" ]
    rm -rf again

    # Other parameters over it are refused, and it is untouched.
    expect_error E_TARGET_OTHER_DATA 2 "$dlbench" gen --set dataset.format=$format --set dataset.path=$format "${raw[@]}" \
        --set generate.samples=501
    expect_err "^dlbench: $format"
    expect [ "$(tree_hash $format)" = "$before" ]
done

# What is read back is told, and what cannot be.
for filter in none deflate; do
    has_module format hdf5 || continue
    run "$dlbench" gen --set dataset.format=hdf5 --set dataset.path=back.$filter "${raw[@]}" --set generate.samples=100 \
        --set hdf5.chunk_samples=1 --set hdf5.filter=$filter --json
    has_code E_MISSING && continue # a filter that this build lacks
    expect_exit 0
    expect_json 'd["verified"] == 64'
done
run "$dlbench" gen --set dataset.format=tokens --set dataset.path=back.tokens "${raw[@]}" --set generate.samples=100
expect_exit 0
expect_out '^back\.tokens: not compared'

run "$dlbench" gen --set dataset.path=back.one "${raw[@]}" --set generate.samples=1
expect_out '^back\.one: 1 sample '

# What was complete and is not any more is found by the files' number and lengths, and written anew: only that.
damage() { # format, how many samples are written anew (a pattern), what to do to it...
    local name=$1 count=$2
    shift 2
    "$@"
    run "$dlbench" gen --set dataset.format="$name" --set dataset.path="hurt.$name" "${hurt[@]}"
    expect_exit 0
    expect_err '^gen: [0-9]+ .*damaged'
    expect_out ": 500 samples, .*, ${count}written"
    expect_no_out 'already complete'
    [ "$name" = hdf5 ] || expect [ "$(tree_hash "hurt.$name")" = "$hash" ] # that library notes the time
    run "$dlbench" gen --set dataset.format="$name" --set dataset.path="hurt.$name" "${hurt[@]}"
    expect_out 'already complete'
}
for format in files webdataset tfrecord tokens npz lmdb hdf5; do
    hurt=("${raw[@]}" --set generate.samples=500 --set generate.classes=10)
    case $format in
    webdataset | tfrecord) hurt+=(--set "$format.shard_samples=100") ;;
    tokens) hurt+=(--set tokens.seq_len=64) ;;
    esac
    has_module format $format || continue
    run "$dlbench" gen --set dataset.format=$format --set dataset.path=hurt.$format "${hurt[@]}"
    expect_exit 0
    hash=$(tree_hash hurt.$format)
    case $format in
    files)
        damage $format '50 of them ' find hurt.files/class_0007 -type f -delete
        damage $format '50 of them ' rm -r hurt.files/class_0003
        damage $format '1 of them ' truncate -s 1000 "$(find hurt.files/class_0001 -type f | LC_ALL=C sort | head -1)"
        ;;
    webdataset | tfrecord)
        damage $format '100 of them ' rm "$(find hurt.$format -name 'shard-000003*')"
        damage $format '100 of them ' truncate -s 5000 "$(find hurt.$format -name 'shard-000001*')"
        ;;
    *)
        damage $format '' truncate -s 5000 "$(find hurt.$format -type f ! -name '.*' ! -name 'lock*')"
        ;;
    esac
    rm -rf hurt.$format
done

# Without the notes of an older data set every unit is looked for, and a killed repair is no complete data set.
run "$dlbench" gen --set dataset.path=old "${raw[@]}" --set generate.samples=50
rm "old/.dlbench-files" "$(find old -name '00000013.bin')"
run "$dlbench" gen --set dataset.path=old "${raw[@]}" --set generate.samples=50 --json
expect_exit 0
expect_json 'd["samples"] == 50 and d["written"] == 1'
victim=$(find old -name '00000017.bin')
truncate -s 3 "$victim"
printf '{"params": %s}' "$(json_get old/.dlbench-manifest.json 'json.dumps(d["params"])')" >old/.dlbench-incomplete
run "$dlbench" gen --set dataset.path=old "${raw[@]}" --set generate.samples=50
expect_exit 0
expect [ "$(stat -c %s "$victim")" -eq 2000 ]
rm -rf old

# Interrupted, it passes for nothing, and resumes to the same bytes as an undisturbed one. The signal comes when the first
# file is there; on a machine that finishes first, the attempt is repeated with more samples.
interrupted=
for samples in 10000 80000 320000; do
    rm -rf killed
    "$dlbench" gen --set dataset.path=killed "${raw[@]}" --set generate.samples="$samples" >"$out" 2>"$err" </dev/null &
    pid=$!
    for _ in $(seq 400); do
        [ -n "$(find killed -type f -name '*.bin' -print -quit 2>/dev/null)" ] && break
        sleep 0.02
    done
    kill -INT $pid 2>/dev/null
    wait $pid
    code=$? last="gen, interrupted at $samples samples"
    [ $code -ne 0 ] && interrupted=yes && break
done
if [ -n "$interrupted" ]; then
    expect_exit 130
    expect_code E_CANCELLED
    expect_error E_DATASET_INCOMPLETE 3 "$dlbench" inspect killed
    expect_err '^dlbench: killed'
    run "$dlbench" gen --set dataset.path=killed "${raw[@]}" --set generate.samples="$samples" --json
    expect_exit 0
    expect_err '^gen: resuming'
    expect_json "d['samples'] == $samples and 0 < d['written'] < $samples"
    run "$dlbench" gen --set dataset.path=whole "${raw[@]}" --set generate.samples="$samples"
    expect_exit 0
    expect [ "$(tree_hash killed)" = "$(tree_hash whole)" ]
else
    echo "not shown: gen was too fast to interrupt"
fi
rm -rf killed whole

# It never writes into a folder that holds other files.
mkdir mine && echo precious >mine/file
expect_error E_TARGET_FOREIGN 2 "$dlbench" gen --set dataset.path=mine "${raw[@]}" --set generate.samples=5
expect grep -q precious mine/file
expect [ "$(find mine -type f | wc -l)" -eq 1 ]
expect_error E_DATASET_PATH_NOT_SET 2 "$dlbench" gen "${raw[@]}" --set generate.samples=5
expect_err 'dataset\.path'
run "$dlbench" gen --set dataset.path="$out" "${raw[@]}" --set generate.samples=5 # a file
expect [ "$code" -eq 2 -o "$code" -eq 3 ]

# Nothing to write is no error.
run "$dlbench" gen --set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=5 --json
expect_exit 0
expect_json 'd["samples"] == 5 and d["written"] == d["verified"] == 0'

mkdir locked && chmod 555 locked
expect_unprivileged_error E_PERMISSION 3 "$dlbench" gen --set dataset.path="$tmp/locked/x" "${raw[@]}" --set generate.samples=5
expect_err "^dlbench: $tmp/locked"

# A disk that is full, on a file system of its own.
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    expect_error E_NO_SPACE 3 "$dlbench" gen --set dataset.path=small/x "${raw[@]}" --set generate.samples=2000
    expect_err '^dlbench: small/x'
    umount small
else
    echo "not shown: a full disk (no right to mount one)"
fi

finish
