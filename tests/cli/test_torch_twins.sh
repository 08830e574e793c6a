#!/usr/bin/env bash
# Data sets of loaders/torch/dlbench_twins.py by themselves, with torch itself: they have the samples that dlbench reads.
. "$(dirname "$0")/lib.sh"

find_torch
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/loaders/torch

twin_holds() { # PACKAGE; what a Python program, which is read, asserts of made(SETTINGS)
    "$python" -c "import $1" 2>/dev/null || { echo "left out: $1"; return; }
    run "$python" -c "
import dlbench_twins

def made(settings, **setup):
    return dlbench_twins.make(dict({'settings': settings, 'world': 1, 'rank': 0, 'seed': 7, 'samples': 0}, **setup), RuntimeError)[0]
$(cat)"
    expect_exit 0
}

# --- tokens: types by dlbench's names, layouts by the files' heads, rows of their own length, and which windows auto takes
twin_holds numpy <<'PY'
import numpy

def tokens(path, **more):
    own = {"layout": "auto", "dtype": "auto", "sampling": "auto", "seq_len": 128, **more}
    return made({"dataset.format": "tokens", "dataset.path": path, "dataset.codec": "tokens", **{"tokens." + key: own[key] for key in own}})

def llmc(path, magic, version, dtype):
    head = numpy.zeros(256, "<i4")
    head[:3] = magic, version, 641
    with open(path, "wb") as file:
        file.write(head.tobytes() + numpy.arange(641).astype(dtype).tobytes())

def in_order(one):
    return [one[i][0][0].item() for i in range(len(one))] == [0, 128, 256, 384, 512]

for name, dtype in ("u8", "u1"), ("u16", "<u2"), ("u32", "<u4"), ("i32", "<i4"), ("i64", "<i8"):
    (numpy.arange(641) % 101).astype(dtype).tofile("raw.bin")
    one = tokens("raw.bin", dtype=name, sampling="contiguous")
    assert len(one) == 5 and one[1][1][5].item() == (128 + 6) % 101, name
numpy.arange(641).astype("<u2").tofile("raw.bin")
assert len(tokens("raw.bin")) == 5 and not in_order(tokens("raw.bin"))  # random
open("raw.idx", "w").close()
assert len(tokens("raw.bin", layout="raw")) == 5
llmc("gpt2.bin", 20240520, 1, "<u2")
llmc("llama3.bin", 20240801, 7, "<u4")
numpy.save("flat.npy", numpy.arange(641, dtype="<u2"))
for path, layout in ("gpt2.bin", "llmc"), ("llama3.bin", "llmc"), ("flat.npy", "npy"):
    for asked in "auto", layout:
        one = tokens(path, layout=asked)
        assert len(one) == 5 and in_order(one), (path, asked)
numpy.save("rows.npy", numpy.arange(64 * 33, dtype="<u2").reshape(64, 33))
one = tokens("rows.npy")
x, y = one[2]
assert len(one) == 64 and (len(x), len(y), x[0].item(), y[-1].item()) == (32, 32, 66, 98)
PY

# --- shards: in a new order in each epoch, in whatever process
"$dlbench" gen --dataset.format webdataset --dataset.codec raw --dataset.path shards --generate.samples 24 --generate.sample_bytes 64 \
    --set webdataset.shard_samples=3 >/dev/null
cat >epochs.py <<'PY'
import sys
import dlbench_twins
import torch

if __name__ == "__main__":
    settings = {"dataset.format": "webdataset", "dataset.path": "shards", "dataset.codec": "raw", "loader.shuffle": True}
    data, more = dlbench_twins.make({"settings": settings, "world": 1, "rank": 0, "seed": 7, "samples": 24}, RuntimeError)
    workers = int(sys.argv[1])
    for persistent in (False, True)[: 1 + (workers > 0)]:
        generator = torch.Generator()
        generator.manual_seed(7)
        loader = torch.utils.data.DataLoader(data, 1, num_workers=workers, persistent_workers=persistent, generator=generator)
        epochs = [[bytes(batch[0][0].tolist()) for batch in loader] for _ in range(3)]
        assert all(sorted(epoch) == sorted(epochs[0]) and len(set(epoch)) == 24 for epoch in epochs)
        assert len(set(map(tuple, epochs))) > 1, (workers, persistent)
PY
if "$python" -c 'import webdataset' 2>/dev/null; then
    for workers in 0 1; do
        run "$python" epochs.py $workers
        expect_exit 0
    done
fi

# --- a folder of images without classes has its hidden ones
twin_holds torchvision <<'PY'
import os
import dlbench_twins

os.mkdir("flat")
for name in "a.jpg", ".b.JPG", "c.txt", ".d":
    open("flat/" + name, "w").close()
def files(codec):
    settings = {"dataset.format": "files", "dataset.path": "flat", "dataset.codec": codec}
    return [os.path.basename(path) for path in made(settings).paths]
assert files("jpeg") == [".b.JPG", "a.jpg"] and files("raw") == ["a.jpg", "c.txt"]
PY

finish
