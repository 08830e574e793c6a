#!/usr/bin/env bash
# loader.kind = "torch" with torch itself: the data sets that PyTorch's users write, and each way to start workers.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
limit_s=900 # a busy machine measures each cell four times

torch=(--set loader.kind=torch --set "python.interpreter=$python" --set loader.batch_size=16 --set device.step_ms=1
    --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1 --set loader.pin_memory=false --set run.epochs=2)

# --- each sample once; a shuffled epoch too
for format in files/jpeg files/audio webdataset/jpeg webdataset/audio hdf5/raw tokens/tokens lmdb/jpeg npz/raw; do
    codec=${format#*/} format=${format%/*}
    needs=torch
    case $format in
    files | lmdb) needs=torchvision ;;
    webdataset) needs=webdataset ;;
    hdf5) needs=h5py ;;
    esac
    [ "$codec" = audio ] && needs=$needs,soundfile
    "$python" -c "import torchvision, $needs, ${format/#[!l]*/json}" 2>/dev/null || { echo "left out: $format"; continue; }
    run "$dlbench" gen --dataset.format $format --dataset.codec "$codec" --dataset.path "data/$format-$codec" --generate.samples 48 \
        --generate.sample_bytes 4096 --set webdataset.shard_samples=12
    expect_exit 0
    for workers in 0 2; do
        run "$dlbench" run "${torch[@]}" --dataset.format $format --dataset.codec "$codec" --dataset.path "data/$format-$codec" \
            --set loader.num_workers=$workers --set loader.shuffle=true --run-name "$format-$codec-$workers" --json
        expect_exit 0
        expect_json 'all(e["samples"] == e["expected"] == 48 for e in d["cells"][0]["epochs"])'
    done
done

# --- rows in memory; of tokens, a file that is too short for a window beside one that is not
for workers in 0 2; do
    run "$dlbench" run "${torch[@]}" --dataset.format memory --dataset.codec raw --set generate.samples=48 \
        --set loader.num_workers=$workers --set loader.shuffle=true --run-name memory-$workers --json
    expect_exit 0
    expect_json 'all(e["samples"] == e["expected"] == 48 for e in d["cells"][0]["epochs"])'
done
mkdir -p data/short
head -c 20 /dev/zero >data/short/a.bin
head -c 20000 /dev/zero >data/short/b.bin
if "$python" -c "import numpy" 2>/dev/null; then
    run "$dlbench" run "${torch[@]}" --dataset.format tokens --dataset.codec tokens --dataset.path data/short --set tokens.seq_len=64 \
        --set tokens.sampling=random --set loader.num_workers=0 --run-name short --json
    expect_exit 0
    expect_json 'all(e["samples"] == e["expected"] == 156 for e in d["cells"][0]["epochs"])'
fi

# --- what is pasted for samples of different sizes runs as it is, whoever loaded them
mkdir -p data/ragged/a
for i in 1 2 3 4 5 6 7 8; do head -c $((100 * i)) /dev/zero >data/ragged/a/$i.bin; done
for kind in inline torch; do
    "$python" -c "import torchvision" 2>/dev/null || break
    run "$dlbench" run "${torch[@]}" --set loader.kind=$kind --dataset.format files --dataset.codec raw --dataset.path data/ragged \
        --set loader.batch_size=4 --set loader.num_workers=0 --run-name ragged-$kind --json
    expect_exit 0
    json_get "$out" 'd["pytorch"]' >pasted
    run "$python" - <<'PY'
import torch
from torch.utils.data import DataLoader

line = open("pasted").read().strip()
dataset = [(torch.zeros(100 * i, dtype=torch.uint8), i) for i in range(8)]
exec(line.partition("  # ")[2])
images, labels = next(iter(eval(line)))
assert [len(one) for one in images] == [100 * label for label in labels.tolist()] and len(images) == 4, line
PY
    expect_exit 0
done

# --- classes of the user's module are found in workers however these start
cat >train.py <<'PY'
import torch


class Mine(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        if i == 40:
            raise ValueError(i)
        return torch.full((4,), i), i


class Bad(Mine):
    def __getitem__(self, i):
        return super().__getitem__(i + 10)


class Compose:
    def __init__(self):
        self.transforms = [torch.neg]

    def __call__(self, sample):
        for one in self.transforms:
            sample = one(sample)
        return sample


class Negative(Mine):
    def __init__(self):
        self.transform = Compose()

    def __getitem__(self, i):
        return self.transform(torch.full((4,), i))


class Nested(torch.utils.data.IterableDataset):
    def __init__(self):
        self.inner = torch.utils.data.DataLoader(Negative(), batch_size=8, num_workers=2)

    def __iter__(self):
        return (one for batch in self.inner for one in batch)
PY
cat >shards.py <<'PY'
import torch
from torch.utils.data import IterableDataset, get_worker_info


class Shards(IterableDataset):
    """Of two: all of it for a worker that was not told which."""

    shard = None

    def __iter__(self):
        assert get_worker_info().dataset is self
        for i in range(32):
            if self.shard in (None, i % 2):
                yield torch.full((4,), i)


def worker_init_fn(worker):
    get_worker_info().dataset.shard = worker
PY
cp train.py train.v2.py
own=("${torch[@]}" --dataset.format python --set python.samples=32 --set python.sample_bytes=32 --set loader.batch_size=4)
for method in fork forkserver spawn; do
    run "$dlbench" run "${torch[@]}" --dataset.format python --set python.dataset=train.v2.py:Mine --set loader.num_workers=2 \
        --set python.start_method=$method --run-name $method --json
    expect_exit 0
    expect_json 'all(e["samples"] == e["expected"] == 32 for e in d["cells"][0]["epochs"])'
    run "$dlbench" run "${own[@]}" --set python.dataset=shards.py:Shards --set python.iterable=true --set loader.num_workers=2 \
        --set python.start_method=$method --run-name "shards-$method" --json
    expect_exit 0
    expect_json '[e["samples"] for e in d["cells"][0]["epochs"]] == [32, 32]'
    expect_json '[s["count"] > 0 for s in d["cells"][0]["python"]["stages"] if s["name"] in ("getitem", "collate", "next")] == [True] * 3'
done

# --- workers of a loader within the data are not the cell's: what they stamp counts nowhere
run "$dlbench" run "${own[@]}" --set python.dataset=train.py:Nested --set python.iterable=true --set loader.num_workers=0 \
    --run-name nested --json
expect_exit 0
expect_json '[e["samples"] for e in d["cells"][0]["epochs"]] == [32, 32]'
expect_json '"neg" not in [s["name"] for s in d["cells"][0]["python"]["stages"]]'

# --- arrays and tensors of all kinds are counted and copied, and the copy is the batch
cat >batches.py <<'PY'
import numpy
import torch
from dlbench_batches import Batches

batches = Batches(torch, None)
image = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
rows = torch.zeros(8, 4)
batch = {
    "image": image.to(memory_format=torch.channels_last),
    "number": torch.tensor(7),
    "flag": torch.ones(3, dtype=torch.bool),
    "wide": rows[:, :1].expand(8, 100),
    "none": torch.zeros(0, 5),
    "grad": torch.ones(2, requires_grad=True),
    "complex": torch.ones(2, dtype=torch.complex64),
    "back": numpy.arange(6.0)[::-1],
    "order": numpy.arange(4, dtype=">i4"),
    "long": numpy.zeros((2, 3), dtype=numpy.longdouble),
    "text": numpy.array(["a", "b"]),
    "time": numpy.zeros(2, dtype="datetime64[s]"),
}
for _ in range(2):
    blocks, n_samples, n_bytes = batches.measure(batch)
    long_bytes = 6 * numpy.dtype(numpy.longdouble).itemsize
    assert (n_samples, n_bytes) == (2, 480 + 8 + 3 + 3200 + 0 + 8 + 16 + 48 + 16 + long_bytes), (n_samples, n_bytes)
    batches.copy(blocks)
for one, kept in zip(blocks, batches.kept):
    assert torch.equal(kept.view, one) and kept.view.dtype == one.dtype and kept.view.data_ptr() == kept.memory.data_ptr()
assert batches.kept[0].view.stride() == blocks[0].stride()

sparse = torch.eye(6)
for one, n_bytes in ((sparse.to_sparse(), 6 * (16 + 4)), (sparse.to_sparse_csr(), 7 * 8 + 6 * (8 + 4)), (sparse.to_sparse_csc(), 7 * 8 + 6 * (8 + 4))):
    blocks, n_samples, found = batches.measure((one, rows))
    assert (n_samples, found) == (6, n_bytes + rows.numel() * rows.element_size()), (one.layout, n_samples, found)
    batches.copy(blocks)
blocks, n_samples, n_bytes = batches.measure([torch.nested.nested_tensor([torch.zeros(3), torch.zeros(5)])])
assert (n_samples, n_bytes) == (2, 32)
batches.copy(blocks)

shapes = Batches(torch, None)
for n in (1000, 1200, 1000, 1300, 900, 1350):
    shapes.copy([torch.ones(8, n)])
    where = shapes.kept[0].memory.data_ptr()
    assert n == 1000 or n == 1200 or where == last, n
    last = where
PY
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/loaders/torch run "$python" -W ignore batches.py
expect_exit 0
run "$dlbench" run "${torch[@]}" --dataset.format python --set python.dataset=train.py:Bad --set loader.num_workers=2 \
    --set loader.batch_size=32 --set python.samples=32 --run-name bad
expect_code E_PYTHON_RAISED
expect_err "$tmp/train.py:[0-9]+"

finish
