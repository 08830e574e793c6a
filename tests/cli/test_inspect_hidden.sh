#!/usr/bin/env bash
# inspect hides nothing: what no reader reaches is named as odd, and what a manifest says is not believed blindly.
# The manifests are written anew again and again.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "python3 is not installed"
odd() { expect_json "d['n_odd'] >= 1 and any(re.search(r'$1', x) for x in d['odd'])"; }

if has_module format webdataset; then
    python3 - <<'PY'
import gzip, io, os, tarfile
def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()
def write(name, data):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)
samples = [m for k in "abcd" for m in ((k + ".bin", b"image"), (k + ".cls", b"1"))]
one = tar(samples)
write("padded.tar", one)
write("one.tar", one)
write("joined.tar", one + tar([("e.bin", b"image")]))
write("joined.tar.gz", gzip.compress(one + tar([("e.bin", b"image")])))
write("blocks.tar", one + bytes((512 << 10) - len(one)))
half = one[:4096]
write("hole.tar", half + bytes(2 << 20) + one[4096:])
write("near.tar", half + bytes(512 << 10) + one[4096:])
write("zeros.tar", half + bytes(8 << 20))
write("hole.tar.gz", gzip.compress(half + bytes(2 << 20) + one[4096:]))
write("zeros.tar.gz", gzip.compress(half + bytes(8 << 20)))
write("nameless.tar", tar(samples + [("folder/README", b"text"), (".hidden", b"x"), ("LICENSE", b"text")]))
write("background.tar", tar([(f"__background__/{i:03}.jpg", b"x") for i in range(5)]))
write("meta.tar", tar([("__meta__", b"x"), ("__index__/a", b"x")] + samples))
write("apart.tar", tar(samples[::2] + samples[1::2]))
labels = {"a": b"99999999999", "b": b"1\n", "c": b"\x1b[2Jcat", "d": b"-1"}
write("unfit.tar", tar([m for k, label in labels.items() for m in ((k + ".bin", b"image"), (k + ".cls", label))]))
PY
    run "$dlbench" inspect padded.tar --json # 10 KiB, as tar writes it
    expect_json 'd["samples"] == 4 and d["n_odd"] == 0'
    run "$dlbench" inspect blocks.tar --json # the largest records that tar makes
    expect_json 'd["samples"] == 4 and d["n_odd"] == 0'
    run "$dlbench" inspect meta.tar --json # webdataset skips names such as its own
    expect_json 'd["samples"] == 4 and d["n_odd"] == 1'
    odd '^2 .*"__meta__".*\bmeta\.tar'
    run "$dlbench" convert meta.tar meta.out --format files
    expect_exit 0
    expect_err 'odd: 2 .*"__meta__".*\bmeta\.tar'
    expect_error E_DATASET_EMPTY 3 "$dlbench" inspect background.tar
    expect_err 'background\.tar: .*"__background__/000\.jpg"'

    # Behind the end mark: where, in the archive.
    run "$dlbench" inspect joined.tar --json
    expect_exit 0
    expect_json 'd["samples"] == 4'
    odd '^1 .*\bjoined\.tar @ 10240$'
    run "$dlbench" inspect joined.tar.gz --json
    expect_json 'd["samples"] == 4'
    odd '^1 .*\bjoined\.tar\.gz @ 10240$'

    # A hole, as a download into a file of the final size leaves; what lies behind is seen within 1 MiB of it, or when unpacked.
    for hole in "hole.tar $((2 << 20 | 6144))" "zeros.tar $((8 << 20))" "zeros.tar.gz $((8 << 20))"; do
        run "$dlbench" inspect ${hole% *} --json
        expect_json 'd["samples"] == 2'
        odd "^1 .*\\b${hole% *}, .*\\b${hole#* } bytes"
        run "$dlbench" convert ${hole% *} hole.out --format files --overwrite
        expect_err "odd: 1 .*\\b${hole% *}\\b"
    done
    run "$dlbench" inspect near.tar --json
    odd "^1 .*\\bnear\\.tar @ $((4096 + (512 << 10)))\$"
    run "$dlbench" inspect hole.tar.gz --json
    odd "^1 .*\\bhole\\.tar\\.gz @ $((4096 + (2 << 20)))\$"

    # Members that belong to no sample.
    run "$dlbench" inspect nameless.tar --json
    expect_json 'd["samples"] == 4'
    odd '^3 .*"folder/README".*\bnameless\.tar'

    # Members of a sample that are apart.
    run "$dlbench" inspect apart.tar --json
    expect_json 'd["samples"] == 8'
    odd '^4 .*"a".*\bapart\.tar'

    # Labels that are no class numbers.
    run "$dlbench" inspect unfit.tar --json
    expect_json 'd["samples"] == 4 and d["n_odd"] == 1'
    odd '^3 of 4 .*"cls".*"99999999999"'

    # Many shards that cannot be read are one thing among others.
    mkdir cut
    for i in $(seq 10 39); do head -c 1000 one.tar >cut/$i.tar; done
    cp nameless.tar cut/00.tar
    : >cut/01.tar
    run "$dlbench" inspect cut --json
    expect_json 'd["samples"] == 4 and d["n_odd"] == 2'
    odd '^31 .*\bcut/01\.tar'
    odd '^3 .*"folder/README".*\bcut/00\.tar'
    run "$dlbench" convert cut cut.out --format files --set dataset.on_error=skip
    expect_exit 0
    expect_err 'odd: 31 .*\bcut/01\.tar'
    expect_err 'odd: 3 .*"folder/README"'

    # Manifests that lie: the shard is counted.
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=w --set dataset.codec=raw \
        --set generate.samples=30 --set generate.sample_bytes=3000 --set webdataset.shard_samples=10
    expect_exit 0
    run "$dlbench" inspect w --json
    expect_json 'd["samples"] == 30 and d["bytes"] >= 90000 and d["n_odd"] == 0'
    cp w/.dlbench-manifest.json good.json
    lies() { # Python that changes the first shard's entry, s, or the parameters, p
        python3 - "$1" <<'PY'
import json, sys
m = json.load(open("good.json"))
s, p = m["shards"]["shard-000000.tar"], m["params"]
exec(sys.argv[1])
json.dump(m, open("w/.dlbench-manifest.json", "w"))
PY
        run "$dlbench" inspect w --json
        expect_exit 0
        expect_json 'd["samples"] == 30 and 90000 <= d["bytes"] < 100000 and 3000 <= d["max_sample_bytes"] < 3100'
        odd manifest
    }
    for lie in 's["samples"] = -1' 's["samples"] = 2**63 - 1' 's["samples"] = 8 * 10**18; s["bytes"] = 8 * 10**18' \
        's["bytes"] = -5' 's["bytes"] = 2**62' 's["max_sample_bytes"] = 2**62' 's["max_sample_bytes"] = 1' \
        's["max_sample_bytes"] = 0' 's["samples"] = 0' 's["samples"] = 10.0' 's["bytes"] = "many"' 'del s["samples"]'; do
        lies "$lie"
        odd '\bw/shard-000000\.tar'
        expect_json 'd["classes"] == 100'
    done
    for lie in 's["samples"] = 11' 's["samples"] = 9; s["bytes"] = 27100; s["max_sample_bytes"] = 3020' \
        's["bytes"] = 200; s["max_sample_bytes"] = 20' 's["bytes"] += 1' 's["max_sample_bytes"] += 1'; do # possible, but not so
        lies "$lie"
        odd '\bw/\.dlbench-manifest\.json: .*\bshard-000000\.tar\b'
        expect_json 'd["looked_at"]["bad"] == 0 and d["looked_at"]["samples"] == 30'
        run "$dlbench" run --set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=w --set loader.batch_size=2 \
            --set device.step_ms=0 --set run.repeats=1 --set run.warmup_batches=0 --overwrite --json
        expect_exit 0
        expect_json 'any(n["code"] == "DATA_ODD" and "w/.dlbench-manifest.json" in n["text"] for n in d["notes"])'
    done
    # Where opening does not look, reading finds out.
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=x --set dataset.codec=raw \
        --set generate.samples=30 --set generate.sample_bytes=3000 --set webdataset.shard_samples=1
    expect_exit 0
    cp x/.dlbench-manifest.json good.x.json
    for lie in 'bytes=20, max_sample_bytes=20' 'samples=2'; do
        python3 - "$lie" <<'PY'
import json, sys
m = json.load(open("good.x.json"))
m["shards"]["shard-000029.tar"].update(eval(f"dict({sys.argv[1]})"))
json.dump(m, open("x/.dlbench-manifest.json", "w"))
PY
        run "$dlbench" run --set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=x --set loader.batch_size=2 \
            --set device.step_ms=0 --set run.repeats=1 --set run.warmup_batches=0 --overwrite
        expect_exit 3
        expect_err 'x/\.dlbench-manifest\.json: .*\bshard-000029\.tar\b.*E_SOURCE_CHANGED'
        expect_no_err on_error
    done
    for lie in 'p["generate.classes"] = -1' 'p["generate.classes"] = 2**62' 'p["generate.classes"] = 2**32 + 1' \
        'p["generate.classes"] = "x"'; do
        lies "$lie"
        expect_json 'd["classes"] == 0'
    done
fi

# The number of files that a manifest gives.
run "$dlbench" gen --set dataset.path=f --set dataset.codec=raw --set generate.samples=30 --set generate.sample_bytes=300
expect_exit 0
cp f/.dlbench-manifest.json good.json
for n in -1 '"x"' 30.5 8500000000000000000 1e30 99999999999999999999 '{'; do # the last two are not JSON that jansson reads
    sed -E "s/\"samples\": 30/\"samples\": $n/" good.json >f/.dlbench-manifest.json
    run "$dlbench" inspect f --json
    expect_exit 0
    expect_json 'd["samples"] == 30 and len(d["odd"]) == 1'
    odd manifest
done

# Hidden files count, but for dlbench's own, which are known by their whole names and lie beside the data.
cp good.json f/.dlbench-manifest.json
for own in files.123.tmp manifest.json.123-4.tmp incomplete.123.tmp speed-123; do echo own >f/.dlbench-$own; done
run "$dlbench" inspect f --json
expect_json 'd["samples"] == 30 and d["n_odd"] == 0'
mkdir f/.dlbench-cls f/.dlbench-files.9.tmp
class=$(dirname "$(find f -name 00000001.bin)")
for mine in .dlbench-user.txt .dlbench-cls/1.bin .dlbench-files.bak .dlbench-files.x.tmp "${class#f/}/.dlbench-files"; do
    echo mine >"f/$mine"
done
run "$dlbench" inspect f --json
expect_json 'd["samples"] == 30 and d["n_odd"] == 1'
odd '^6 hidden'

# Where all images are cut short, inspect says so and names the first.
if has_module codec jpeg; then
    run "$dlbench" gen --set dataset.path=j --set generate.samples=20 --set generate.sample_bytes=20kB
    expect_exit 0
    find j -name '*.jpg' -exec truncate -s 5000 {} +
    run "$dlbench" inspect j --json
    expect_exit 0
    expect_json 'd["codec"] == "raw"'
    first=$(find j -name '*.jpg' | LC_ALL=C sort | head -n 1)
    odd "^8 .*\\b8\\b.*\\bjpeg\\b.*$first: "
    find j -name '*.jpg' -exec truncate -s 0 {} +
    run "$dlbench" inspect j --json
    expect_exit 0
    odd "\\bjpeg\\b.*$first: "
    run "$dlbench" inspect f --json # files of another name are not suspected
    expect_json 'd["codec"] == "raw" and not any("jpeg" in x for x in d["odd"])'
fi

# The largest label is a class like the others.
if has_module format lmdb && python3 -c 'import lmdb' 2>/dev/null; then
    python3 - <<'PY'
import lmdb
env = lmdb.open("labels.lmdb", map_size=1 << 20)
with env.begin(write=True) as txn:
    for i in range(3):
        txn.put(b"%08d" % i, b"sample")
    txn.put(b"__labels__", b"".join(n.to_bytes(4, "little") for n in (0, 2**32 - 1, 5)))
PY
    run "$dlbench" inspect labels.lmdb --json
    expect_exit 0
    expect_json 'd["samples"] == 3 and d["classes"] == 2**32'
    odd '\b__labels__\b.*\b4294967295\b.*\b__labels_type__\b' # which another program may have meant otherwise
fi
if has_module format hdf5 && has_module format webdataset; then
    python3 - <<'PY'
import io, tarfile
with tarfile.open("labels.tar", "w") as file:
    for member, data in ("a.bin", b"x"), ("a.cls", b"4294967295"), ("b.bin", b"y"), ("b.cls", b"3"):
        info = tarfile.TarInfo(member)
        info.size = len(data)
        file.addfile(info, io.BytesIO(data))
PY
    for format in hdf5 lmdb; do
        has_module format $format || continue
        rm -rf labels.made
        run "$dlbench" convert labels.tar labels.made --format $format
        expect_exit 0
        run "$dlbench" inspect labels.made --json
        expect_json 'd["samples"] == 2 and d["classes"] == 2**32 and d["n_odd"] == 0'
    done
fi

finish
