#!/usr/bin/env bash
# loader.io and loader.direct from the command line: the same samples, their own table of times, and refusals.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

# More samples a batch than loader.io_depth below, and a short step: without one, a ceiling copies and hashes them as often as it can.
files=(--set dataset.path=data --set dataset.codec=raw --set generate.samples=400 --set generate.sample_bytes=5000
    --set run.warmup_batches=0 --set loader.batch_size=12 --set loader.shuffle=true --set device.step_ms=0.5 --set run.repeats=1 --set run.checksum=true)
uring=(--set loader.io=io_uring)
without=$DLB_BUILD_DIR/tests/unit_test_uring # runs a command to which io_uring is refused
io='d["cells"][0]["io"]'
run "$dlbench" gen "${files[@]}"
expect_exit 0

run "$dlbench" run "${files[@]}" --run-name sync --json
expect_exit 0
valid_summary "$out"
expect_json "${io}['asked'] == ${io}['used'] == 'sync' and ${io}['requests'] is None and ${io}['reason'] is None"
reads='d["cells"][0]["reads"]'
expect_json "${reads}['of'] == 'requests' and ${reads}['count'] == 400" # a file each
json_get "$out" 'd["cells"][0]["epochs"][0]["seq_checksum"]' >sync

# --- requests to the kernel are counted where they are made: of a map there are none, of shards fewer than samples
tokens=(--set dataset.format=tokens --set dataset.path=flat --set dataset.codec=raw --set generate.samples=400
    --set run.warmup_batches=0 --set loader.batch_size=32 --set device.step_ms=0.5 --set run.repeats=1)
run "$dlbench" gen "${tokens[@]}"
expect_exit 0
for access in mmap:samples pread:requests; do
    run "$dlbench" run "${tokens[@]}" --set dataset.access=${access%:*} --run-name tokens --overwrite --json
    expect_exit 0
    expect_json "${reads}['of'] == '${access#*:}' and ${reads}['count'] == 400"
done
if has_module format webdataset; then
    run "$dlbench" gen "${files[@]}" --set dataset.format=webdataset --set dataset.path=shards
    expect_exit 0
    run "$dlbench" run "${files[@]}" --set dataset.format=webdataset --set dataset.path=shards --run-name shards --json
    expect_exit 0
    expect_json "${reads}['of'] == 'requests' and 0 < ${reads}['count'] < 100"
fi

# --- a build without the library says so
run "$dlbench" run "${files[@]}" "${uring[@]}" --run-name probe --json
if [ "$code" -eq 2 ] && grep -q liburing "$err"; then
    expect_exit 2
    finish
fi
expect_exit 0
usable=$(json_get "$out" "${io}['used']") # sync: the kernel refuses

# --- the same samples in the same order, with each read's own time; or, where the kernel refuses, the reason
for kind in inline threads processes; do
    workers=2
    [ "$kind" = inline ] && workers=0
    for refused in "" "$without"; do
        run $refused "$dlbench" run "${files[@]}" "${uring[@]}" --set loader.kind=$kind --set loader.num_workers=$workers \
            --set loader.io_depth=9 --run-name "$kind" --overwrite --json
        expect_exit 0
        valid_summary "$out"
        json_get "$out" 'd["cells"][0]["epochs"][0]["seq_checksum"]' >same
        expect cmp -s sync same
        expect_json "${io}['asked'] == 'io_uring'"
        if [ -n "$refused" ]; then
            expect_json "${io}['used'] == 'sync' and ${io}['reason'] and ${io}['p50_ns'] is None"
            expect_json 'any(n["code"] == "IO_NOT_AS_ASKED" for n in d["notes"])'
        elif [ "$(json_get "$out" "${io}['used']")" = io_uring ]; then
            expect_json "${io}['requests'] == 400 and ${io}['bytes'] == 2000000 and 1 <= ${io}['max_in_flight'] <= 9"
            # No notes, but what is said of the machine.
            expect_json "0 < ${io}['p50_ns'] <= ${io}['p99_ns'] <= ${io}['max_ns'] and [n for n in d['notes'] if n['code'] not in ('STEAL', 'DISTURBED', 'WINDOW_BIAS', 'DRAINING', 'NOT_STATIONARY')] == []"
        fi
    done
done

# --- past the page cache: the same samples, or the reason; never quietly through it
for way in sync io_uring; do
    run "$dlbench" run "${files[@]}" --set loader.direct=true --set loader.io=$way --run-name direct --overwrite --json
    if [ "$code" -ne 0 ] && grep -Eq 'O_DIRECT|page cache' "$err"; then # this file system refuses
        echo "not shown: reads past the page cache, by loader.io = $way"
    else
        expect_exit 0
        json_get "$out" 'd["cells"][0]["epochs"][0]["seq_checksum"]' >same
        expect cmp -s sync same
    fi
done
expect_error E_DATASET_ACCESS_UNFIT 2 "$dlbench" run "${files[@]}" --set loader.direct=true --set dataset.access=pread --run-name both
expect_err 'loader\.direct.*dataset\.access'

# --- the faster way, as the first batches show it: the same samples, and which it was
for kind in threads processes; do
    run "$dlbench" run "${files[@]}" --set loader.io=auto --set loader.kind=$kind --set loader.num_workers=2 --run-name auto --overwrite --json
    expect_exit 0
    valid_summary "$out"
    json_get "$out" 'd["cells"][0]["epochs"][0]["seq_checksum"]' >same
    expect cmp -s sync same
    expect_json "${io}['asked'] == 'auto' and ${io}['used'] in ('sync', 'mixed', 'io_uring') and ${io}['reason']"
    expect_json 'any(n["code"] == "IO_CHOSEN" for n in d["notes"])'
done
run $without "$dlbench" run "${files[@]}" --set loader.io=auto --run-name refused --json
expect_exit 0
expect_json "${io}['used'] == 'sync' and ${io}['reason']"
run "$dlbench" run "${quick[@]}" --set loader.io=auto --run-name nowhere --json
expect_exit 0
expect_json "${io}['used'] == 'sync' and ${io}['reason']"

# --- reads that wait 20 ms each wait together through io_uring, and that is chosen
slowfs=$DLB_BUILD_DIR/tests/slowfs
if [ -x "$slowfs" ]; then
    coproc SLOWFS { exec "$slowfs" 4 100 5000 20000 0 0 2>"$tmp/slowfs.err"; }
    # shellcheck disable=SC2153 # what coproc sets
    slowfs_pid=$SLOWFS_PID slowfs_in=${SLOWFS[1]}
    mnt=
    read -r mnt <&"${SLOWFS[0]}" || true
    if [ -n "$mnt" ]; then
        run "$dlbench" run "${files[@]}" --set dataset.path="$mnt" --set loader.io=auto --set loader.num_workers=1 --run-name slow --json
        expect_exit 0
        expect_json "${io}['used'] == '$usable' and d['cells'][0]['epochs'][0]['unique'] == 400"
    else
        echo "not shown: storage that waits: $(cat "$tmp/slowfs.err")"
    fi
    eval "exec $slowfs_in>&-"
    wait "$slowfs_pid" 2>/dev/null || true
fi

# --- what has no places for its samples
run "$dlbench" run "${quick[@]}" "${uring[@]}" --run-name synthetic
expect_exit 2
expect_err 'loader\.io.*synthetic'
run "$dlbench" sweep "${files[@]}" --exhaustive --set 'sweep.loader.io=["sync", "io_uring"]' \
    --set 'sweep.dataset.format=["files", "synthetic"]' --run-name swept --json
expect_exit 0
valid_summary "$out"
expect_json '[c["status"] for c in d["cells"]].count("skipped") == 1'
expect_json 'all(c["config"]["loader.io_depth"] is None for c in d["cells"] if c["config"]["loader.io"] == "sync" and c["status"] == "ok")'
finish
