#!/usr/bin/env bash
# loader.io and loader.direct from the command line: the same samples, their own table of times, and refusals.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

# More samples a batch than loader.io_depth below, but few: without a step, copying them is what the ceilings do.
files=(--set dataset.path=data --set dataset.codec=raw --set generate.samples=400 --set generate.sample_bytes=5000
    --set run.warmup_batches=0 --set loader.batch_size=12 --set loader.shuffle=true --set device.step_ms=0 --set run.repeats=1 --set run.checksum=true)
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
    --set run.warmup_batches=0 --set loader.batch_size=32 --set device.step_ms=0 --set run.repeats=1)
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
