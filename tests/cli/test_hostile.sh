#!/usr/bin/env bash
# What is no file, files that crash the library that reads them, and what cannot be had: an answer each time, with the path.
. "$(dirname "$0")/lib.sh"
limit_s=20
run_on=(--set loader.num_workers=1 --set loader.batch_size=2 --set device.step_ms=0 --set run.epochs=1)

# Nobody writes to these pipes.
mkfifo a.h5 a.npz a.tar a.bin a.tfrecord a.mdb
mkdir lm sh
mkfifo lm/data.mdb sh/000.tar
for what in hdf5:a.h5 npz:a.npz webdataset:a.tar webdataset:sh tokens:a.bin tfrecord:a.tfrecord lmdb:a.mdb lmdb:lm files:a.bin; do
    format=${what%%:*} path=${what#*:}
    run "$dlbench" run --set dataset.format="$format" --set dataset.codec=raw --set dataset.path="$path" \
        "${run_on[@]}" --results out
    [ "$code" -eq 2 ] || [ "$code" -eq 3 ] || failed "$what: exit code 2 or 3 expected"
    expect_err "$path|built without"
    run "$dlbench" inspect "$path"
    expect_exit 3
    expect_err "$path"
    run "$dlbench" convert "$path" to.part --from "$format" --format files
    [ "$code" -eq 2 ] || [ "$code" -eq 3 ] || failed "$what: exit code 2 or 3 expected"
    expect_err "$path|built without"
done
mkdir old && mkfifo old/summary.json
run "$dlbench" report old
expect [ "$code" -ne 124 ]
expect_err 'summary.json.* is a pipe'
run "$dlbench" inspect old
expect [ "$code" -ne 124 ]

# Damaged trees crash liblmdb: in a child.
run "$dlbench" gen --set dataset.format=lmdb --set dataset.path=db --set dataset.codec=raw \
    --set generate.samples=500 --set generate.sample_bytes=100
if [ "$code" -eq 0 ]; then
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
        expect_err 'db/data.mdb'
        expect_err 'liblmdb (crashed|gave up)|damaged'
    done
    expect_no_file db2
fi

finish
