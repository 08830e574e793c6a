#!/usr/bin/env bash
# PyTorch's cells with data of the user's own, with a stand-in for torch: the length of epochs, and what is pasted for iterable data.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

command -v python3 >/dev/null || skip "no python3"
limit_s=300 # two cells and their ceilings, each with an interpreter of its own
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
cat >own.py <<'PY'
import torch
from torch.utils.data import IterableDataset


class Stream(IterableDataset):
    def __init__(self, n=64):
        self.n = n

    def __iter__(self):
        return (torch.zeros(8) for _ in range(self.n))


class Once(IterableDataset):
    def __init__(self):
        self.samples = (torch.zeros(8) for _ in range(64))

    def __iter__(self):
        return self.samples


class Batches:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return (torch.zeros(8, 8) for _ in range(self.n))


def make_batches(batch_size, n=8):
    return Batches(n)


def make_generator(batch_size):
    for _ in range(8):
        yield torch.zeros(batch_size, 8)
PY

torch=(--set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set loader.batch_size=8
    --set loader.num_workers=0 --set device.step_ms=1 --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1
    --set python.samples=64 --set python.sample_bytes=8 --results results --overwrite)
codes='[n["code"] for n in d["notes"]]'

# --- what is pasted for iterable data runs: DataLoader refuses to shuffle it, and it is no other's order either
run "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Stream --set python.iterable=true --set loader.shuffle=true --set run.epochs=2 --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["python"]["iterable_dataset"]'
expect_json "'PYTHON_EPOCH_DIFFERS' not in $codes"
json_get "$out" 'd["pytorch"]' >pasted
run python3 - <<'PY'
from own import Stream
from torch.utils.data import DataLoader

dataset = Stream()
assert len(list(eval(open("pasted").read()))) == 8
PY
expect_exit 0

# --- epochs of another length are noted, of iterable data and of a loader of the user's own
for what in "dataset=own.py:Stream [32, 64]" "loader=own.py:make_batches [16, 8]"; do
    run "$dlbench" sweep "${torch[@]}" --set "python.${what%% *}" --set "sweep.python.args.n=${what#* }" --set sweep.exhaustive=true \
        --set python.iterable=true --set run.epochs=2 --json
    expect_exit 0
    expect_json "[[e['samples'] for e in c['epochs']] for c in d['cells']] == [[n, n] for n in ($([ "${what%%=*}" = loader ] && echo 128 || echo 32), 64)]"
    expect_json '[n["text"][:7] for n in d["notes"] if n["code"] == "PYTHON_EPOCH_DIFFERS"] == ["cell 0:"]'
done

# --- what can be iterated once has no second epoch, and the cell says so
for what in loader=own.py:make_generator dataset=own.py:Once; do
    run "$dlbench" run "${torch[@]}" --set "python.$what" --set python.iterable=true --set run.epochs=3
    expect_code E_PYTHON_ONE_EPOCH
done

finish
