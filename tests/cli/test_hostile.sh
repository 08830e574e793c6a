#!/usr/bin/env bash
# Paths that are not files, files that crash the library that reads them, and storage that does not answer: an error each time,
# with the path.
. "$(dirname "$0")/lib.sh"
limit_s=20
run_on=(--set loader.num_workers=1 --set loader.batch_size=2 --set device.step_ms=0 --set run.epochs=4)

# No process writes to these pipes.
mkfifo a.h5 a.npz a.tar a.bin a.tfrecord a.mdb
mkdir lm sh
mkfifo lm/data.mdb sh/000.tar
for what in hdf5:a.h5 npz:a.npz webdataset:a.tar webdataset:sh tokens:a.bin tfrecord:a.tfrecord lmdb:a.mdb lmdb:lm files:a.bin; do
    format=${what%%:*} path=${what#*:}
    run "$dlbench" run --set dataset.format="$format" --set dataset.codec=raw --set dataset.path="$path" \
        "${run_on[@]}" --results out
    [ "$code" -eq 2 ] || [ "$code" -eq 3 ] || failed "$what: exit code 2 or 3 expected"
    has_module format "$format" && expect_err "$path" || expect_code E_MISSING
    expect_error "$([ -d "$path" ] && echo E_INSPECT_UNKNOWN || echo E_INSPECT_SPECIAL_FILE)" 3 "$dlbench" inspect "$path"
    expect_err "$path"
    run "$dlbench" convert "$path" to.part --from "$format" --format files
    [ "$code" -eq 2 ] || [ "$code" -eq 3 ] || failed "$what: exit code 2 or 3 expected"
    has_module format "$format" && expect_err "$path" || expect_code E_MISSING
done
mkdir old && mkfifo old/summary.json
expect_error E_NOT_A_FILE 3 "$dlbench" report old
expect_err '^dlbench: old/summary\.json'
run "$dlbench" inspect old
expect [ "$code" -ne 124 ]

# Damaged trees crash liblmdb: in a child.
if has_module format lmdb; then
    run "$dlbench" gen --set dataset.format=lmdb --set dataset.path=db --set dataset.codec=raw \
        --set generate.samples=500 --set generate.sample_bytes=100
    expect_exit 0
    python3 - <<'PY'
data = bytearray(open("db/data.mdb", "rb").read())
for page in range(2 * 4096, len(data), 4096):
    data[page + 16:page + 60] = b"\xff" * 44
open("db/data.mdb", "wb").write(data)
PY
    for verb in "run --set dataset.format=lmdb --set dataset.path=db --set dataset.codec=raw --results out ${run_on[*]}" \
        "run --set dataset.format=lmdb --set dataset.path=db --set dataset.codec=raw --results out --set loader.kind=threads ${run_on[*]}" \
        "inspect db" "convert db db2 --format files"; do
        # shellcheck disable=SC2086
        run "$dlbench" $verb
        expect_exit 3
        expect_code 'E_CHILD_CRASHED|E_CHILD_GAVE_UP|E_LMDB_DAMAGED'
        expect_err 'db/data.mdb'
    done
    expect_no_file db2
fi

# Reasons, with the path: more than memory holds, files that end early, a limit of file sizes.
# (sanitizers end a process that asks for so much, unless told not to)
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:allocator_may_return_null=1" TSAN_OPTIONS="${TSAN_OPTIONS:-}:allocator_may_return_null=1"
mkdir big && truncate -s 200G big/a.jpg
for verb in "inspect big" "convert big bigger --format webdataset" "run --set dataset.path=big --results out ${run_on[*]}"; do
    [ "${verb%% *}" = convert ] && ! has_module format webdataset && continue
    [ "${verb%% *}" = run ] && ! has_module codec jpeg && continue
    # shellcheck disable=SC2086
    run "$dlbench" $verb
    expect_exit 3
    expect_err 'big/a\.jpg: .*214748364800'
    [ "${verb%% *}" = run ] || expect_code E_NOMEM
done
run "$dlbench" gen --set dataset.path=src --set dataset.codec=raw --set generate.samples=100 --set generate.sample_bytes=30000
expect_exit 0
for format in lmdb hdf5 webdataset; do
    has_module format $format || continue
    run bash -c "ulimit -f 1000; exec '$dlbench' convert src to_$format --format $format"
    expect_failed E_IO 3
    expect_err "^dlbench: .*to_$format"
    expect [ "$(wc -l <"$err")" -eq 2 ]
    expect_no_file "to_$format"
done
# libhdf5 gives back nothing of a file that it could not write.
for format in files webdataset tfrecord hdf5 lmdb npz tokens; do
    leaks=1 && [ "$format" = hdf5 ] && leaks=0
    run bash -c "ulimit -f 50; ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=$leaks exec '$dlbench' gen --set dataset.format=$format --set dataset.path=over_$format \
        --set dataset.codec=raw --set generate.samples=40 --set generate.sample_bytes=60000"
    if has_code E_MISSING; then continue; fi
    expect_failed E_IO 3
    expect_err "^dlbench: over_$format"
done
if has_module format hdf5; then
    run "$dlbench" convert src cut.h5 --format hdf5
    expect_exit 0
    truncate -s 1000000 "$(find cut.h5 -type f)"
    expect_error E_HDF5_READ_FAILED 3 "$dlbench" inspect cut.h5
    expect_err '^dlbench: cut\.h5'
fi

# Storage that does not answer: an interrupt ends the wait for it.
slowfs=${DLB_BUILD_DIR:-}/tests/slowfs
if [ -x "$slowfs" ]; then
    coproc SLOWFS { exec "$slowfs" 1 1 100000 60000000 0 0 2>"$tmp/slowfs.err"; }
    slowfs_pid=$SLOWFS_PID slowfs_in=${SLOWFS[1]}
    if read -r mounted <&"${SLOWFS[0]}"; then
        file=$(find "$mounted" -type f | head -n 1)
        last="run on a file that does not answer, interrupted"
        "$dlbench" run --set dataset.format=tfrecord --set dataset.codec=raw --set dataset.path="$file" --results out \
            "${run_on[@]}" >"$out" 2>"$err" &
        pid=$!
        for _ in $(seq 100); do grep -q "^run: .*$file" "$err" && break; sleep 0.2; done # it waits, and says for what
        kill -INT $pid
        SECONDS=0
        wait $pid
        code=$?
        expect_exit 130
        expect_err "^run: .*$file"
        expect_err "^dlbench: $file: .*\\[E_CANCELLED\\]"
        expect [ "$SECONDS" -lt 30 ]
        eval "exec $slowfs_in>&-"
        wait "$slowfs_pid" 2>/dev/null
    fi
fi

finish
