#!/usr/bin/env bash
# inspect: what lies at a path.
. "$(dirname "$0")/lib.sh"

run "$dlbench" inspect missing
expect_exit 3
expect_err '^dlbench: missing: .*No such file'
mkdir empty
run "$dlbench" inspect empty
expect_exit 3
expect_err 'empty folder'
mkdir -p result && echo '{"command": "sweep"}' >result/summary.json
run "$dlbench" inspect result
expect_exit 3
expect_err 'dlbench report'
expect_out_empty
head -c 5000 /dev/urandom >noise
run "$dlbench" inspect noise --json
expect_exit 3
expect_err 'tried: .*files'
expect_out_empty

# Generated data: what was asked for is what is found.
run "$dlbench" gen --set dataset.path=d --set dataset.codec=raw --set generate.samples=300 \
    --set generate.sample_bytes=3000 --set generate.classes=7
expect_exit 0
run "$dlbench" inspect d
expect_exit 0
expect_out '^  format +files'
expect_out '^  codec +raw'
expect_out '^  samples +300'
expect_out '^  classes +7$'
expect_out '^  sizes +3\.00 kB to 3\.00 kB, median 3\.00 kB \(of 64 samples'
expect_err_empty
run "$dlbench" inspect d --json
expect_exit 0
expect_json 'd["command"] == "inspect" and d["format"] == "files" and d["codec"] == "raw" and not d["iterable"]'
expect_json 'd["samples"] == 300 and d["bytes"] == 900000 and d["classes"] == 7 and d["max_sample_bytes"] == 3000'
expect_json 'd["looked_at"] == {"samples": 64, "bad": 0, "first_bad": None, "min_bytes": 3000, "median_bytes": 3000, "max_bytes": 3000}'
expect_json 'd["images"] is None and d["n_odd"] == len(d["odd"])'

# What was lost since is odd.
rm -f "$(find d -name '*.bin' | head -n 1)"
run "$dlbench" inspect d --json
expect_exit 0
expect_json 'd["samples"] == 299 and d["n_odd"] >= 1 and any("300" in x for x in d["odd"])'

run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=w --set dataset.codec=raw \
    --set generate.samples=300 --set generate.sample_bytes=3000
if [ "$code" -eq 0 ]; then
    run "$dlbench" inspect w --json
    expect_exit 0
    expect_json 'd["format"] == "webdataset" and d["iterable"] and d["shards"] >= 1 and d["samples"] == 300'
    expect_json '"cls" in d["fields"] and d["looked_at"]["bad"] == 0'
    # Cut in the middle: it is named, with the shard.
    shard=$(find w -name '*.tar' | head -n 1)
    truncate -s 400000 "$shard"
    run "$dlbench" inspect w --json
    if [ "$code" -eq 0 ]; then
        expect_json 'd["n_odd"] >= 1 or d["looked_at"]["bad"] >= 1'
    else
        expect_exit 3
        expect_err '\.tar'
    fi
else
    expect_err 'built without libarchive'
fi

# Tokens: which layout, and which numbers.
run "$dlbench" gen --set dataset.format=tokens --set dataset.path=t --set dataset.codec=raw --set generate.samples=50 \
    --set tokens.layout=llmc
expect_exit 0
run "$dlbench" inspect t
expect_exit 0
expect_out '^  found +layout llmc, 1 file, samples of [0-9,]+ tokens$'
expect_out '^  numbers +u16$'
run "$dlbench" inspect t --json
expect_json 'd["element"] == "u16" and d["about"].startswith("layout llmc")'
run "$dlbench" inspect d --json
expect_json 'd["element"] is None and d["about"] is None'

# The command that it prints measures a part of what is large, and all of what is not.
run "$dlbench" inspect d
expect_no_out 'run\.max_batches'
python3 - <<'PY'
header = b"{'descr': '<u2', 'fortran_order': False, 'shape': (60000, 2), }".ljust(117) + b"\n"
open("rows.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(240000))
PY
run "$dlbench" inspect rows.npy
expect_exit 0
expect_out 'run\.max_batches=100 --set loader\.batch_size=256 '

# Photographs: the codec is found out, and their dimensions.
run "$dlbench" gen --set dataset.path=j --set generate.samples=80 --set generate.sample_bytes=20kB
if [ "$code" -eq 0 ]; then
    run "$dlbench" inspect j --json
    expect_exit 0
    expect_json 'd["codec"] == "jpeg" and d["images"]["samples"] == 64 and d["looked_at"]["bad"] == 0'
    expect_json '0 < d["images"]["width"][0] <= d["images"]["width"][1] <= d["images"]["width"][2]'
    # The command that it prints measures against a step that is some network's.
    run "$dlbench" inspect j
    expect_out 'loader\.shuffle=true --set loader\.drop_last=true --set transform\.pixels=f32 '
    expect_out '^To measure it: dlbench sweep .* --set loader\.batch_size=8 --set device\.step_ms=4\.48$'
    command=$(sed -n 's/^To measure it: dlbench //p' "$out")
    run sh -c "'$dlbench' $command --set sweep.loader.num_workers=[0,1] --set run.repeats=1 --json"
    expect_exit 0
    expect_json 'len(d["cells"]) == 2 and not any("device.step_ms" in n or "run.max_batches" in n for n in d["notes"])'
    # It is one for the shell, whatever the folder is called.
    cp -r j "it's my photos"
    run "$dlbench" inspect "it's my photos"
    command=$(sed -n 's/^To measure it: dlbench sweep //p' "$out")
    run sh -c "'$dlbench' run $command --set run.max_batches=2 --set run.warmup_batches=1 --json"
    expect_exit 0
    # What is left out is told; hidden folders are classes, as ImageFolder has them.
    mkdir -p m/a m/.b
    find j -name '*.jpg' | head -n 10 | xargs -I{} cp {} m/a/
    cp "$(find j -name '*.jpg' | head -n 1)" m/.b/
    ln -s nowhere m/a/gone.jpg && mkfifo m/a/pipe.jpg
    run "$dlbench" inspect m --json
    expect_exit 0
    expect_json 'd["classes"] == 2 and d["samples"] == 11'
    expect_json 'any("2 links to nowhere, pipes or devices are left out" in x for x in d["odd"])'
    touch d/.DS_Store
    run "$dlbench" inspect d
    expect_out '^  odd +1 hidden file or folder is left out$'
    # A sample of a shard that has a label only is named as that.
    if command -v python3 >/dev/null; then
        python3 - "$(find j -name '*.jpg' | head -n 1)" <<'PY'
import io, sys, tarfile
image = open(sys.argv[1], "rb").read()
with tarfile.open("links.tar", "w") as tar:
    for name, kind in ("a.jpg", b"0"), ("b.jpg", b"1"), ("c.jpg", b"2"), ("d.jpg", b"6"), ("folder", b"5"):
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size = kind, "" if kind == b"0" else "a.jpg", len(image) if kind == b"0" else 0
        tar.addfile(info, io.BytesIO(image) if kind == b"0" else None)
with tarfile.open("bare.tar", "w") as tar:
    for name, data in ("a.jpg", image), ("b.jpg", image), ("hard.cls", b"1"), ("c.jpg", image):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
PY
        run "$dlbench" inspect links.tar
        grep -q 'built without\|not in this build' "$err" ||
            expect_out 'odd +3 members that are links, pipes or devices are left out'
        run "$dlbench" inspect bare.tar
        grep -q 'built without\|not in this build' "$err" ||
            expect_out 'bad +1 of .*bare\.tar @ [0-9]+: the sample that starts here has no image field, only "cls"'
    fi
    # All but a few still decode: it stays jpeg, and the bad ones are counted.
    mkdir -p k/a && find j -name '*.jpg' | head -n 10 | xargs -I{} cp {} k/a/
    truncate -s 5000 "$(find k -name '*.jpg' | LC_ALL=C sort | tail -n 1)"
    run "$dlbench" inspect k
    expect_exit 0
    expect_out '^  codec +jpeg'
    expect_out '^  bad +1 of the samples looked at; the first: .*k/a/'
else
    expect_err 'built without libjpeg'
fi

# A folder of images that nobody generated, unreadable for some.
mkdir -p secret/a && cp -r d/* secret/ 2>/dev/null && chmod 000 secret
run_unprivileged "$dlbench" inspect "$tmp/secret"
expect_exit 3
expect_err 'Permission denied'
chmod 755 secret

finish
