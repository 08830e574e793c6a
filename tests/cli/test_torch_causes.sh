#!/usr/bin/env bash
# loader.kind = "torch" with torch itself and data of the user's own: what is blamed is what takes the time, samples are those of the
# data set whatever a batch looks like, and stamps change nothing for code that asks what its transforms are.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

find_torch
limit_s=300
cp "$DLB_SOURCE_DIR/tests/support/compose.py" .
cat >own.py <<'PY'
import time

import torch
from compose import Compose
from torch.utils.data import Dataset


class Fetch:
    def __call__(self, sample):
        time.sleep(0.01)
        return sample


class Mine(Dataset):
    def __len__(self):
        return 96


class Waits(Mine):
    def __init__(self):
        self.transform = Compose([Fetch()])

    def __getitem__(self, i):
        return self.transform(torch.zeros(8))


def fetch(path):
    time.sleep(0.01)
    return torch.zeros(8)


class Opens(Mine):
    def __init__(self):
        self.loader = fetch

    def __getitem__(self, i):
        return self.loader(i)


class Many(Mine):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        return {"x%d" % k: torch.zeros(1) for k in range(60)}


class Small(Mine):
    def __getitem__(self, i):
        return torch.zeros(50, 16)


class Transform:
    pass


class Load(Transform):
    def __call__(self, sample):
        if isinstance(sample, torch.Tensor):
            raise ValueError("loaded already")
        return torch.zeros(8)


class Cached(Mine):
    """Applies what is not random once, and asks for that what its transforms are."""

    def __init__(self):
        self.transform, self.kept = Compose([Load(), Fetch()]), {}

    def __getitem__(self, i):
        if i not in self.kept:
            self.kept[i] = self.transform.transforms[0]("path")
        sample = self.kept[i]
        for one in self.transform.transforms:
            if not isinstance(one, Transform):
                sample = one(sample)
        return sample
PY
cat >time_first.py <<'PY'
import torch
from own import Small


def collate_fn(samples):
    return torch.stack(samples, dim=1)
PY
cat >of_numpy.py <<'PY'
import numpy
from own import Small

sampler = numpy.random.permutation(96)
PY
cat >no_length.py <<'PY'
import torch

sampler = list(range(96))


class Endless(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return torch.zeros(8)
PY
cat >of_torch.py <<'PY'
import torch
from own import Small

sampler = torch.randperm(96)
PY
torch=(--set loader.kind=torch --set dataset.format=python --set "python.interpreter=$python" --set loader.batch_size=8
    --set loader.num_workers=2 --set device.step_ms=1 --set run.warmup_batches=4 --set run.epochs=2 --set run.repeats=1
    --set loader.pin_memory=false --results results --overwrite)
own() { # MODULE:NAME OPTIONS...
    run "$dlbench" run "${torch[@]}" --set "python.dataset=$1" "${@:2}" --json
    expect_exit 0
}

# --- a transform that waits, and a `loader` that opens no image: waiting needs no CPU, and is no decoding
own own.py:Waits
expect_json 'd["verdict"]["code"] == "INPUT_BOUND_TRANSFORM" and d["cells"][0]["python"]["computing_frac"] < 0.3'
expect_json '"Fetch" in d["verdict"]["text"] and "more CPUs" not in d["verdict"]["text"]'
own own.py:Opens
expect_json 'd["verdict"]["code"] == "INPUT_BOUND_TRANSFORM" and "fetch" in d["verdict"]["text"]'
expect_json 'not any(s["part"] == "decode" for s in d["cells"][0]["python"]["stages"])'

# --- many small tensors: each is handed over by itself
own own.py:Many --set loader.batch_size=32 --set loader.persistent_workers=true
expect_json 'd["verdict"]["code"] in ("INPUT_BOUND_TRANSPORT", "INPUT_BOUND_CPU", "INPUT_BOUND_ORDER")'
stages='{s["name"]: s["sum_ns"] for s in d["cells"][0]["python"]["stages"]}'
expect_json "(lambda s: s['transport'] > s['getitem'] + s['collate'] or d['verdict']['code'] != 'INPUT_BOUND_TRANSPORT')($stages)"

# --- a batch has the samples that it was made of, with time stamps and without
for stamps in true false; do
    own time_first.py:Small --set python.stamps=$stamps
    expect_json 'all(e["samples"] == 96 for e in d["cells"][0]["epochs"])'
done

# --- a sampler of numpy's integers asks for each sample once, and one that is a tensor is one
for module in of_numpy of_torch; do
    own $module.py:Small --set loader.shuffle=false
    expect_json 'not any(n["code"] == "PYTHON_NOT_ONCE" for n in d["notes"])'
    expect_json 'd["cells"][0]["python"]["once"] == {"epochs": 2, "more": 0, "fewer": 0}'
done

# --- with a sampler a data set needs no length
own no_length.py:Endless --set loader.shuffle=false
expect_json 'd["dataset"]["samples"] == 96'

# --- code that asks for a transform's class is told it
own own.py:Cached
expect_json '[s["count"] > 0 for s in d["cells"][0]["python"]["stages"] if s["name"] == "Fetch"] == [True]'

finish
