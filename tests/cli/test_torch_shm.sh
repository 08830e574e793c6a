#!/usr/bin/env bash
# What an interpreter leaves in /dev/shm is unlinked: Python's resource tracker does it, and outlives the others until it has.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
[[ -w /dev/shm ]] || skip "/dev/shm cannot be written"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double NAME=dlbench-test-$$
trap 'rm -rf "$tmp" "/dev/shm/$NAME"-*' EXIT
cat >train.py <<'PY'
import os, signal
from multiprocessing import shared_memory
import torch
from torch.utils.data import Dataset


class Mine(Dataset):
    def __init__(self, at=-1):
        self.at = at
        self.kept = shared_memory.SharedMemory("%s-%d" % (os.environ["NAME"], os.getpid()), create=True, size=4096)
        with open("made", "a") as file:
            file.write(self.kept.name + "\n")

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.zeros(8)
PY

for workers in 0 2; do
    for at in -1 20; do # to the end; the process that loads is killed
        rm -f made
        run "$dlbench" run --set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 \
            --set python.dataset=train.py:Mine --set python.args.at=$at --set loader.batch_size=8 --set loader.num_workers=$workers \
            --set device.step_ms=1 --set run.warmup_batches=0 --set run.repeats=1 --set loader.shuffle=false --results results --overwrite --json
        [[ -s made ]] || failed "nothing was made in /dev/shm"
        ! compgen -G "/dev/shm/$NAME-*" || failed "num_workers = $workers, at = $at: left in /dev/shm"
    done
done

finish
