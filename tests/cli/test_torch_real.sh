#!/usr/bin/env bash
# loader.kind = "torch" with torch itself: the data sets that PyTorch's users write, and each way to start workers.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
limit_s=900 # a busy machine measures each cell four times

torch=(--set loader.kind=torch --set "python.interpreter=$python" --set loader.batch_size=16 --set device.step_ms=1
    --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1 --set loader.pin_memory=false --set run.epochs=2)

# --- each sample once; a shuffled epoch too
for format in files/jpeg webdataset/jpeg hdf5/raw tokens/tokens lmdb/jpeg npz/raw; do
    codec=${format#*/} format=${format%/*}
    needs=torch
    case $format in
    files | lmdb) needs=torchvision ;;
    webdataset) needs=webdataset ;;
    hdf5) needs=h5py ;;
    esac
    "$python" -c "import torchvision, $needs, ${format/#[!l]*/json}" 2>/dev/null || { echo "left out: $format"; continue; }
    run "$dlbench" gen --dataset.format $format --dataset.codec "$codec" --dataset.path "data/$format" --generate.samples 48 \
        --generate.sample_bytes 4096 --set webdataset.shard_samples=12
    expect_exit 0
    for workers in 0 2; do
        run "$dlbench" run "${torch[@]}" --dataset.format $format --dataset.codec "$codec" --dataset.path "data/$format" \
            --set loader.num_workers=$workers --set loader.shuffle=true --run-name "$format-$workers" --json
        expect_exit 0
        expect_json 'all(e["samples"] == e["expected"] == 48 for e in d["cells"][0]["epochs"])'
    done
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
PY
for method in fork forkserver spawn; do
    run "$dlbench" run "${torch[@]}" --dataset.format python --set python.dataset=train.py:Mine --set loader.num_workers=2 \
        --set python.start_method=$method --run-name $method --json
    expect_exit 0
    expect_json 'all(e["samples"] == e["expected"] == 32 for e in d["cells"][0]["epochs"])'
done
run "$dlbench" run "${torch[@]}" --dataset.format python --set python.dataset=train.py:Bad --set loader.num_workers=2 \
    --set loader.batch_size=32 --set python.samples=32 --run-name bad
expect_code E_PYTHON_RAISED
expect_err "$tmp/train.py:[0-9]+"

finish
