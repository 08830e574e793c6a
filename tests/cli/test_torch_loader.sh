#!/usr/bin/env bash
# python.loader with a stand-in for torch: the settings that it is given, workers of its own, and what counts a batch.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_train.sh"

export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double

# --- workers that a loader of the user's own has beyond the setting, each of which gives all samples: it says how many, or they are there,
# processes or threads; without end they are found out too
cat >crowd.py <<'PY'
import itertools, multiprocessing, threading, time
import torch


class Said:
    def __init__(self, n, n_batches):
        self.num_workers, self.n_batches = n, n_batches

    def __iter__(self):
        return (torch.zeros(8, 8) for _ in range(self.n_batches))


class Seen:
    def __init__(self, kind):
        self.kind = kind

    def __iter__(self):
        workers = [self.kind(target=time.sleep, args=(30,), daemon=True) for _ in range(4)]
        for one in workers:
            one.start()
        return (torch.zeros(8, 8) for _ in range(4 * 8))


def said(n, n_batches):
    return Said(n, n_batches)


def processes(n, n_batches):
    return Seen(multiprocessing.get_context("fork").Process)


def threads(n, n_batches):
    return Seen(threading.Thread)


def endless(n, n_batches):
    return (torch.zeros(8, 8) for _ in itertools.count())
PY
crowd=("${torch[@]}" --set python.samples=64 --set python.sample_bytes=8 --set python.iterable=true --set python.args.n=4
    --set sweep.exhaustive=true --overwrite --run-name crowd --json)
run "$dlbench" sweep "${crowd[@]}" --set python.args.n_batches=32 \
    --set 'sweep.python.loader=["crowd.py:said", "crowd.py:processes", "crowd.py:threads", "crowd.py:endless"]'
expect_exit 0
expect_json '[(c["status"], c["code"]) for c in d["cells"]] == [("ok", None)] * 3 + [("failed", "E_PYTHON_ENDLESS")]'
expect_json '[c["epochs"][0]["samples"] for c in d["cells"][:3]] == [256] * 3'
expect_no_process
# 5 times the samples, as 4 workers and a share to spare may give; and a batch more
run "$dlbench" sweep "${crowd[@]}" --set python.loader=crowd.py:said --set 'sweep.python.args.n_batches=[40, 41]'
expect_exit 0
expect_json '[(c["status"], c["code"]) for c in d["cells"]] == [("ok", None), ("failed", "E_PYTHON_ENDLESS")]'

# --- a loader of the user's own is given the settings that it has parameters for; **kwargs are DataLoader's; what no worker needs is
# given where it must be
own_loader=("${torch[@]}" --set python.args.samples=40 --set python.samples=40 --set python.sample_bytes=4 --set python.iterable=true)
run "$dlbench" sweep "${own_loader[@]}" --set 'sweep.python.loader=["train.py:others", "train.py:strict"]' --set sweep.exhaustive=true \
    --run-name accepted --json
expect_exit 0
expect_json 'd["cells"][0]["python"]["accepted"] == ["batch_size", "drop_last", "num_workers", "pin_memory", "shuffle"]'
expect_json 'd["cells"][1]["python"]["accepted"] == ["batch_size", "persistent_workers", "prefetch_factor", "seed", "timeout"]'
run "$dlbench" run "${torch[@]}" --set python.loader=train.py:loader --set python.args.samples=40 --set python.samples=40 \
    --set python.iterable=true --run-name loader --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 40'
expect_json 'd["cells"][0]["python"]["given"] == [] and d["cells"][0]["python"]["accepted"] == ["batch_size"]'

# --- what counts a batch without a tensor
refused E_PYTHON_BATCH_UNKNOWN "${torch[@]}" --set python.loader=train.py:words --set python.samples=14
run "$dlbench" run "${torch[@]}" --set python.loader=train.py:words --set python.count=train.py:count --set python.samples=14 \
    --set python.iterable=true --run-name words --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 14'

finish
