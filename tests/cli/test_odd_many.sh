#!/usr/bin/env bash
# A data set with more odd things than are named: inspect, convert and a run name 16, and say how many more there are.
. "$(dirname "$0")/lib.sh"
has_module format webdataset || skip "this build does not read webdataset"

run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=d --set dataset.codec=raw --set generate.samples=30 \
    --set generate.sample_bytes=300 --set webdataset.shard_samples=10
expect_exit 0
python3 - <<'PY'
import gzip, io, json, os, tarfile
def tar(members, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "x"
            file.addfile(info)
    return out.getvalue()
def write(name, data):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)
samples = [m for k in "abcd" for m in ((k + ".bin", b"image"), (k + ".cls", b"1"))]
one = tar(samples)
for name in ".hidden.tar", "part.tar.part", "below/b.tar", "t-00001-of-00002.tar", "left.tar.xz", "unlisted.tar":
    write("d/" + name, one)
os.makedirs("d/folder.tar")
os.makedirs("d/e/e/e/e/e")
write("d/bad.tar", b"")
write("d/behind.tar", one + one)
write("d/padded.tar", one + bytes(2 << 20))
write("d/again.tar", tar(samples[::2] + samples[1::2]))
write("d/names.tar", tar(samples + [("README", b"x"), ("__meta__/a.bin", b"x")], ["link"]))
write("d/endless.tar", one[:8192])
write("d/packed.tar.gz", gzip.compress(one))
os.remove("d/shard-000001.tar")
m = json.load(open("d/.dlbench-manifest.json"))
m["params"]["generate.classes"] = -1
m["shards"]["shard-000000.tar"]["samples"] = -1
json.dump(m, open("d/.dlbench-manifest.json", "w"))
PY
run "$dlbench" inspect d --json
expect_exit 0
expect_json 'd["n_odd"] >= 19 and len(d["odd"]) == 16 and len(set(d["odd"])) == 16'
more=$(json_get "$out" 'd["n_odd"] - 16')
run "$dlbench" inspect d
expect_exit 0
expect [ "$(grep -c '^  odd ' "$out")" -eq 17 ]
expect_out "^  odd +$more more "
run "$dlbench" convert d out --format files --set dataset.on_error=skip # its samples of one key are refused
expect [ "$(grep -c '^convert: odd: ' "$err")" -eq 17 ]
expect_err "^convert: odd: $more more "
run "$dlbench" run --set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=d --set dataset.on_error=skip \
    --set device.step_ms=0 --set run.repeats=1 --set run.warmup_batches=0 --json
expect_exit 0
expect_json "len([n for n in d['notes'] if n['code'] == 'DATA_ODD']) == 17"
expect_json "any(n['code'] == 'DATA_ODD' and re.search(r'\\b$more more ', n['text']) for n in d['notes'])"
finish
