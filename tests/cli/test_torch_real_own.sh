#!/usr/bin/env bash
# loader.kind = "torch" with torch itself and data of the user's own: what is pasted runs, transforms that only the code names are timed
# in workers that are spawned, and what a worker raises is told with its sample.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
limit_s=300
cp "$DLB_SOURCE_DIR/tests/support/compose.py" .
cat >own.py <<'PY'
import sys
import time

import torch
from compose import Compose
from torch.utils.data import Dataset, IterableDataset


def crunch(sample):
    end = time.monotonic() + 0.003
    while time.monotonic() < end:
        sum(range(500))
    return sample


TF = Compose([torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Identity()), crunch])


class Stream(IterableDataset):
    def __init__(self, n=64):
        self.n = n

    def __iter__(self):
        return (torch.zeros(8) for _ in range(self.n))


class Mine(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return TF(torch.zeros(8))


class Bad(Mine):
    def __init__(self, how):
        self.how = how

    def __getitem__(self, i):
        if i == 37 and self.how == "lines":
            raise ValueError("FIRST\nSECOND")
        if i == 37 and self.how == "stop":
            raise StopIteration
        return torch.zeros(8)
PY
cat >collates.py <<'PY'
import sys
from own import Mine


def collate_fn(samples):
    sys.exit(3)
PY
torch=(--set loader.kind=torch --set dataset.format=python --set "python.interpreter=$python" --set loader.batch_size=8
    --set device.step_ms=1 --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1 --set loader.pin_memory=false
    --set python.samples=64 --set python.sample_bytes=32 --results results --overwrite)

# --- DataLoader takes the line that is pasted for iterable data
run "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Stream --set python.iterable=true --set loader.shuffle=true \
    --set loader.num_workers=0 --json
expect_exit 0
json_get "$out" 'd["pytorch"]' >pasted
run "$python" - <<'PY'
from own import Stream
from torch.utils.data import DataLoader

assert len(list(eval(open("pasted").read(), {"DataLoader": DataLoader, "dataset": Stream()}))) == 8
PY
expect_exit 0

# --- transforms at the level of the module, in modules of torch.nn, too: a worker that is spawned has stamps
run "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Mine --set loader.num_workers=1 --set python.start_method=spawn --json
expect_exit 0
expect_json '{"ReLU", "Identity", "crunch"} <= {s["name"] for s in d["cells"][0]["python"]["stages"] if s["count"] > 16}'
expect_json 'd["cells"][0]["worker_stages"]["transform"]["sum_ns"] > 4 * d["cells"][0]["worker_stages"]["read"]["sum_ns"]'

# --- what a worker raises, and one that ends
for how in lines stop; do
    run "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Bad --set python.args.how=$how --set loader.num_workers=2 --set loader.shuffle=false
    expect_code E_PYTHON_RAISED
    expect_err "sample 37: .*own.py:[0-9]+ in __getitem__"
    expect_no_err 'fetch.py|worker.py'
    [ $how = stop ] || expect_err 'FIRST \| SECOND'
done
run "$dlbench" run "${torch[@]}" --set python.dataset=collates.py:Mine --set loader.num_workers=1
expect_code E_PYTHON_RAISED
expect_err '[Ww]orker'
expect_no_err 'FileNotFoundError.*SocketClient'

finish
