#!/usr/bin/env bash
# From a folder of data to an answer: `dlbench PATH`, init, and what inspect says of data that are odd.
. "$(dirname "$0")/lib.sh"

run "$dlbench" gen --set dataset.path=d --set dataset.codec=raw --set generate.samples=64 --set generate.sample_bytes=3000
expect_exit 0

# init prints a configuration; a sweep takes it as it stands, from any folder.
run "$dlbench" init d
expect_exit 0
expect_err_empty
expect_out '^# dlbench init: d$'
expect_out '^path = "/.*/d"$'
expect_out '^# step_ms = 100 ' # raw bytes: no network is known
cp "$out" printed.toml
run "$dlbench" init d --write my.toml
expect_exit 0
expect_out_empty
expect_err 'dlbench sweep --config my\.toml'
expect [ "$(sed 's/my\.toml/FILE/' my.toml)" = "$(cat printed.toml)" ]
mkdir -p elsewhere
run sh -c "cd elsewhere && '$dlbench' sweep --config ../my.toml --dry-run --json"
expect_exit 0
expect_json 'sum(c["status"] == "planned" for c in d["cells"]) >= 3'
run "$dlbench" schema
cp "$out" schema.json
run python3 "$DLB_SOURCE_DIR/tests/support/fits_schema.py" schema.json my.toml
expect_exit 0

# It replaces nothing silently, and with --overwrite only what it wrote.
cp my.toml before.toml
expect_error E_TARGET_EXISTS 2 "$dlbench" init d --write my.toml
expect cmp -s my.toml before.toml
run "$dlbench" init d --write my.toml --overwrite
expect_exit 0
echo 'mine = 1' >mine.toml
expect_error E_TARGET_FOREIGN 2 "$dlbench" init d --write mine.toml --overwrite
expect grep -q '^mine = 1$' mine.toml
ln -s nowhere link.toml
expect_error E_TARGET_EXISTS 2 "$dlbench" init d --write link.toml
expect [ -L link.toml ]
ln -s my.toml mine-too.toml
expect_error E_TARGET_FOREIGN 2 "$dlbench" init d --write mine-too.toml --overwrite
expect [ -L mine-too.toml ]
expect_error E_NOT_A_FOLDER 3 "$dlbench" init d --write mine.toml/below.toml # no folder, so that nothing exists there
expect_error E_USAGE_FLAG_VALUE 2 "$dlbench" init d --write ''
expect_error E_NOT_FOUND 3 "$dlbench" init missing --write other.toml
expect_no_file other.toml

# `dlbench PATH` inspects, shows the plan, and sweeps.
run "$dlbench" ./d --dry-run
expect_exit 0
expect_out '^  format +files'
expect_out '^sweep, not run: '
expect_no_file results
run "$dlbench" d --dry-run # without a slash: there is a folder, and no command of that name
expect_exit 0
expect_out '^  format +files'
run "$dlbench" ./d --exhaustive --set run.repeats=1 --set 'sweep.loader.num_workers=[0, 1]' --set device.step_ms=1 --run-name first
expect_exit 0
expect_out '^  format +files'
expect_out '^sweep, not run: '
expect_file results/first/summary.json
run "$dlbench" report results/first --json
expect_json 'd["command"] == "sweep" and len([c for c in d["cells"] if c["status"] == "ok"]) == 3'
run "$dlbench" ./d --json --exhaustive --set run.repeats=1 --set 'sweep.loader.num_workers=[0]' --set device.step_ms=1
expect_exit 0
expect_json 'd["command"] == "sweep"'

# What the user sets wins over what is proposed, in a file as well.
printf '[loader]\nbatch_size = 5\nnum_workers = 1\n' >own.toml
run "$dlbench" try d --config own.toml --dry-run --json --sweep.max_minutes 3
expect_exit 0
expect_json 'd["cells"] and all("loader.num_workers" not in c["config"] for c in d["cells"])'
expect_json 'd["cells"][0]["epoch_batches"] == 12'

run bash -c '"$1" try d --config <(cat own.toml) --dry-run --json' - "$dlbench" # read once
expect_exit 0
expect_json 'd["cells"][0]["epoch_batches"] == 12'
printf '[sweep]\nloader.batch_size = [4, 8]\n' >lists.toml
run "$dlbench" try d --config lists.toml --dry-run --json
expect_exit 0
expect_json '{c["epoch_batches"] for c in d["cells"] if c["status"] == "planned"} == {16, 8}'

# A folder that is called as a command is reached by a slash.
cp -r d doctor
run "$dlbench" doctor --json
expect_json 'd["command"] == "doctor"'
run "$dlbench" ./doctor --dry-run
expect_exit 0
expect_out '^  samples +64'
expect_error E_NOT_FOUND 3 "$dlbench" ./missing

# Commands that are offered can be pasted, whatever the name of the folder is.
name=$'"q" it\'s\n\\x41'
cp -r d "$name"
mkdir "'none"
run "$dlbench" inspect "$name"
expect_exit 0
sed -n 's/^To measure it: dlbench \(.*\)/exec "$1" \1 --dry-run/p' "$out" >offered
run bash -c '. ./offered' - "$dlbench"
expect_exit 0
run "$dlbench" init d --write "$name/it's.toml"
sed -n 's/.*next: dlbench \(.*\)/exec "$1" \1 --dry-run/p' "$err" >offered
run bash -c '. ./offered' - "$dlbench"
expect_exit 0
# Below a folder whose name is not UTF-8 the path is that which was given.
latin=$'caf\xe9'
mkdir "$latin"
cp -r d "$latin/d"
run env -C "$latin/d" "$dlbench" init .
expect_exit 0
expect_out '^path = "\."$'
run env -C "$latin" "$dlbench" d --dry-run
expect_exit 0
expect_error E_INSPECT_EMPTY_FOLDER 3 "$dlbench" inspect "'none"
sed -n 's/.*`dlbench \(gen .*\)`.*/exec "$1" \1 --set dataset.codec=raw --set generate.samples=4/p' "$err" >offered
run bash -c '. ./offered' - "$dlbench"
expect_exit 0
expect [ "$(find "'none" -type f | wc -l)" -ge 4 ]

# What would have been read as something else, or not at all.
python3 - <<'PY'
import io, tarfile
header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (50, 8, 8, 3), }".ljust(117) + b"\n"
open("images.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(range(192)) * 50)
with tarfile.open("nodot.tar", "w") as tar:
    for i in range(10):
        info = tarfile.TarInfo(f"sample{i}")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"hello"))
PY
run "$dlbench" inspect images.npy --json
expect_exit 0
expect_json 'd["format"] == "npz" and d["samples"] == 50 and d["max_sample_bytes"] == 192 and d["element"] == "u8"'
expect_json 'd["looked_at"]["bad"] == 0 and d["kinds"] == []'
run "$dlbench" run --dataset.format npz --dataset.codec raw --dataset.path images.npy --loader.batch_size 5 \
    --device.step_ms 1 --set run.checksum=true --json
expect_exit 0
expect_json 'd["cells"][0]["status"] == "ok"'
truncate -s 5000 images.npy
expect_error 'E_[A-Z_]+' 3 "$dlbench" inspect images.npy
if has_module format webdataset; then
    expect_error E_DATASET_EMPTY 3 "$dlbench" inspect nodot.tar
    expect_err 'nodot\.tar.*"sample0"'
fi
for path in s3://bucket/train gs://bucket/train https://host/train.tar; do
    expect_error E_REMOTE_PATH 3 "$dlbench" inspect $path
    expect_error E_REMOTE_PATH 3 "$dlbench" $path
    expect_error E_REMOTE_PATH 2 "$dlbench" run --dataset.path $path
done

# Chunks that libhdf5 cannot keep.
if has_module format hdf5; then
    for chunk in 1 512; do
        run "$dlbench" gen --set dataset.format=hdf5 --set dataset.codec=raw --set dataset.path=h$chunk --set generate.samples=2000 \
            --set generate.sample_bytes=4000 --set hdf5.chunk_samples=$chunk
        expect_exit 0
    done
    run "$dlbench" inspect h512
    expect_out '^  odd .*512.*rdcc_nbytes=8192000'
    run "$dlbench" inspect h1
    expect_no_out 'rdcc_nbytes'
fi

# A folder of several kinds: each is counted, and has a command.
mkdir -p mixed/a && printf x >mixed/readme.md
for i in 1 2 3; do printf '\211PNG' >mixed/a/$i.jpg; done
make_shard mixed/shard.tar
run "$dlbench" inspect mixed
expect_exit 0
expect_out '^  kinds +images 3, tar shards 1, other files 1'
expect_out 'dlbench mixed --dataset\.format files --dataset\.codec image$'
expect_out 'dlbench mixed --dataset\.format webdataset$'
run "$dlbench" mixed --dataset.format webdataset --dry-run
expect_exit 0
expect_out '^  format +webdataset'
expect_out '^  samples +10,'
expect_out '^  codec +raw'
run "$dlbench" inspect mixed --json
expect_json '[(k["kind"], k["files"]) for k in d["kinds"]] == [("images", 3), ("tar shards", 1)]'

# A damaged sample: the command leaves it out, and a run that ends at it says how.
if has_module codec jpeg; then
    run "$dlbench" gen --set dataset.path=j --set generate.samples=20 --set generate.sample_bytes=20kB
    expect_exit 0
    truncate -s 1500 "$(find j -name '*.jpg' | LC_ALL=C sort | sed -n 5p)"
    run "$dlbench" inspect j
    expect_out '--set dataset\.on_error=skip '
    run "$dlbench" init j
    expect_out '^on_error = "skip" '
    step='"%s %s" % (d["config"]["device.step_ms"], "MLPerf" in d["config"]["device.step_source"])'
    # Its step is that of the batch; a step of the user's is not called MLPerf's.
    run "$dlbench" try j --exhaustive --set run.repeats=1 --set 'sweep.loader.num_workers=[0]' --loader.batch_size 10 --run-name step
    expect_exit 0
    expect [ "$(json_get results/step/summary.json "$step")" = '5.6 True' ]
    run "$dlbench" try j --exhaustive --set run.repeats=1 --set 'sweep.loader.num_workers=[0]' --device.step_ms 2 --run-name own
    expect_exit 0
    expect [ "$(json_get results/own/summary.json "$step")" = '2.0 False' ]
    run "$dlbench" run --dataset.path j --device.step_ms 1
    expect_exit 3
    expect_err 'dataset\.on_error.*\[E_JPEG_'
fi

# An error names the command that helps.
expect_error E_CONFIG_UNREADABLE 2 "$dlbench" sweep --config missing.toml
expect_err 'dlbench init '
expect_error E_DATASET_PATH_NOT_SET 2 "$dlbench" sweep
expect_err 'dlbench init '
expect_error E_DATASET_EMPTY 3 "$dlbench" run --dataset.format webdataset --dataset.path d
expect_err 'dlbench inspect d'

finish
