#!/usr/bin/env bash
# inspect: what lies at a path.
. "$(dirname "$0")/lib.sh"

expect_error E_NOT_FOUND 3 "$dlbench" inspect missing
expect_err '^dlbench: missing: '
mkdir empty
expect_error E_INSPECT_EMPTY_FOLDER 3 "$dlbench" inspect empty
expect_err '^dlbench: empty: '
mkdir -p result own
echo '{"schema_version": 1, "run_name": "r", "dlbench": {}}' >result/summary.json
expect_error E_INSPECT_A_RESULT 3 "$dlbench" inspect result
expect_err '^dlbench: result: .*dlbench report'
echo '{"command": "sweep"}' >own/summary.json # of another program
run "$dlbench" inspect own
expect_exit 0
head -c 5000 /dev/urandom >noise
expect_error E_INSPECT_UNKNOWN 3 "$dlbench" inspect noise --json
expect_json 'd["error"]["path"] == "noise" and "files" in d["error"]["text"]'
expect_error E_INSPECT_SPECIAL_FILE 3 "$dlbench" inspect /dev/null

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
expect_out '^  sizes +3\.00 kB .*3\.00 kB, .*3\.00 kB .*64'
expect_err_empty
run "$dlbench" inspect d --json
expect_exit 0
expect_json 'd["command"] == "inspect" and d["format"] == "files" and d["codec"] == "raw" and not d["iterable"]'
expect_json 'd["samples"] == 300 and d["bytes"] == 900000 and d["classes"] == 7 and d["max_sample_bytes"] == 3000'
expect_json 'd["looked_at"].pop("first")["bytes"] == 3000 and d["looked_at"] == {"samples": 64, "bad": 0, "first_bad": None, "first_bad_code": None, "min_bytes": 3000, "median_bytes": 3000, "max_bytes": 3000}'
# The checksum of a stored sample is what xxhsum prints of its file.
if command -v xxhsum >/dev/null; then
    read -r first xxh64 <<<"$(json_get "$out" 'd["looked_at"]["first"]["path"] + " " + d["looked_at"]["first"]["xxh64"]')"
    expect [ "$(xxhsum -H1 "$first" | cut -d' ' -f1)" = "$xxh64" ]
fi
expect_json 'd["images"] is None and d["n_odd"] == len(d["odd"])'

# A sample that is missing is reported as odd.
rm -f "$(find d -name '*.bin' | head -n 1)"
run "$dlbench" inspect d --json
expect_exit 0
expect_json 'd["samples"] == 299 and d["n_odd"] >= 1 and any("300" in x for x in d["odd"])'

if has_module format webdataset; then
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=w --set dataset.codec=raw \
        --set generate.samples=300 --set generate.sample_bytes=3000
    expect_exit 0
    run "$dlbench" inspect w --json
    expect_exit 0
    expect_json 'd["format"] == "webdataset" and d["iterable"] and d["shards"] >= 1 and d["samples"] == 300'
    expect_json '"cls" in d["fields"] and d["looked_at"]["bad"] == 0'
    # A shard that was cut is named.
    shard=$(find w -name '*.tar' | head -n 1)
    truncate -s 400000 "$shard"
    run "$dlbench" inspect w --json
    expect_exit 0
    expect_json 'd["samples"] < 300 and any(re.search(r"\.tar @ [0-9]+: ", x) for x in d["odd"])'
fi

# Tokens: which layout, and which numbers.
run "$dlbench" gen --set dataset.format=tokens --set dataset.path=t --set dataset.codec=raw --set generate.samples=50 \
    --set tokens.layout=llmc
expect_exit 0
run "$dlbench" inspect t
expect_exit 0
expect_out '^  found .*llmc, 1 file, .* 1025 tokens$'
expect_out '^  numbers +u16$'
run "$dlbench" inspect t --json
expect_json 'd["element"] == "u16" and re.search(r"llmc, 1 file, .* 1025 tokens$", d["about"])'
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
mkdir rows # a folder with one array is one sample; its rows are offered
sed '1s/<u2/|u1/; 1s/(60000, 2), /(60000, 4),/' rows.npy >rows/rows.npy
run "$dlbench" inspect rows
expect_exit 0
expect_out 'dlbench rows/rows\.npy$'

# Photographs: the codec is found out, and their dimensions.
if has_module codec jpeg; then
    run "$dlbench" gen --set dataset.path=j --set generate.samples=80 --set generate.sample_bytes=20kB
    expect_exit 0
    run "$dlbench" inspect j --json
    expect_exit 0
    expect_json 'd["codec"] == "jpeg" and d["images"]["samples"] == 64 and d["looked_at"]["bad"] == 0'
    expect_json '0 < d["images"]["width"][0] <= d["images"]["width"][1] <= d["images"]["width"][2]'
    # The command that it prints measures against a step that is some network's.
    run "$dlbench" inspect j
    expect_out 'loader\.shuffle=true --set loader\.drop_last=true --set transform\.pixels=f32 '
    expect_out ' dlbench sweep .* --set loader\.batch_size=8 --set device\.step_ms=4\.48$'
    command=$(sed -n 's/^To measure it: dlbench //p' "$out")
    run sh -c "'$dlbench' $command --exhaustive --set sweep.loader.num_workers=[0,1] --set run.repeats=1 --json"
    expect_exit 0
    expect_json 'len(d["cells"]) == 2 and not any(n["code"] in ("STEP_ASSUMED", "TOO_SHORT") for n in d["notes"])'
    # A shell takes it as it is, whatever the folder is called.
    cp -r j "it's my photos"
    run "$dlbench" inspect "it's my photos"
    command=$(sed -n 's/^To measure it: dlbench sweep //p' "$out")
    run sh -c "'$dlbench' run $command --set run.max_batches=2 --set run.warmup_batches=1 --json"
    expect_exit 0
    # Files that are left out are reported; hidden folders are classes, as ImageFolder has them.
    mkdir -p m/a m/.b
    find j -name '*.jpg' | head -n 10 | xargs -I{} cp {} m/a/
    cp "$(find j -name '*.jpg' | head -n 1)" m/.b/
    ln -s nowhere m/a/gone.jpg && mkfifo m/a/pipe.jpg
    run "$dlbench" inspect m --json
    expect_exit 0
    expect_json 'd["classes"] == 2 and d["samples"] == 11'
    expect_json 'd["n_odd"] > 0 and any(x.startswith("2 ") for x in d["odd"])'
    touch d/.DS_Store
    run "$dlbench" inspect d
    expect_out '^  odd +1 hidden'
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
        if has_module format webdataset; then
            run "$dlbench" inspect links.tar
            expect_exit 0
            expect_out '^  odd +3 '
            run "$dlbench" inspect bare.tar --json
            expect_exit 0
            expect_json 'd["looked_at"]["bad"] == 1 and re.search(r"bare\.tar @ \d+: .*\"cls\"", d["looked_at"]["first_bad"])'
            expect_json 'd["looked_at"]["first_bad_code"] == "E_SAMPLE_NO_IMAGE"'
        fi
    fi
    # All but a few still decode: it stays jpeg, and the bad ones are counted.
    mkdir -p k/a && find j -name '*.jpg' | head -n 10 | xargs -I{} cp {} k/a/
    truncate -s 5000 "$(find k -name '*.jpg' | LC_ALL=C sort | tail -n 1)"
    run "$dlbench" inspect k
    expect_exit 0
    expect_out '^  codec +jpeg'
    expect_out '^  bad +1 .*k/a/.*\[E_[A-Z0-9_]+\]$'
fi

# A folder that this user cannot read.
mkdir -p secret/a && cp -r d/* secret/ 2>/dev/null && chmod 000 secret
expect_unprivileged_error E_PERMISSION 3 "$dlbench" inspect "$tmp/secret"
expect_err "^dlbench: $tmp/secret"
chmod 755 secret

finish
