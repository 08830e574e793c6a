#!/usr/bin/env bash
# What a cell prints: however much that is, its file takes little disk, and the last words before a crash are told.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
python3 - <<'PY' || skip "this folder's file system has no holes"
import ctypes, os
with open("holes", "wb") as file:
    file.write(bytes(1 << 20))
    file.flush()
    os._exit(ctypes.CDLL(None).fallocate64(file.fileno(), 3, ctypes.c_int64(65536), ctypes.c_int64(65536)) != 0)
PY
cat >train.py <<'PY'
import json, os, re, signal, time, traceback
import torch
from torch.utils.data import Dataset


def parent(pid):
    with open("/proc/%d/stat" % pid) as file:
        return int(file.read().rpartition(")")[2].split()[1])


class Floods(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 8:
            os.write(2, b"first words\n")
            for _ in range(64):
                os.write(2, b"a warning of each sample\n" * 20000)
            self.wait()
            self.look()
        if i == 16:
            self.crash()
        return torch.zeros(8)

    def wait(self):
        end = time.monotonic() + 20
        while os.fstat(2).st_blocks * 512 > 4 << 20 and time.monotonic() < end:
            time.sleep(0.02)

    def look(self):
        with open("/proc/self/fd/2", "rb") as file:
            log = file.read()
        cut = re.search(rb"\n\[(\d+) bytes cut\]\n", log)
        seen = {"bytes": len(log), "disk": os.fstat(2).st_blocks * 512, "first": b"first words\n" in log, "zeros": log.count(b"\0")}
        seen.update(cut=int(cut.group(1)) if cut else 0, whole=log.endswith(b"a warning of each sample\n" * 20000))
        with open("seen", "w") as file:
            json.dump(seen, file)

    def crash(self):
        try:
            self.innermost()
        except ValueError:
            traceback.print_exc()
        os.kill(parent(parent(os.getpid())), signal.SIGKILL)
        time.sleep(30)

    def innermost(self):
        raise ValueError("LAST-FRAME")
PY

run "$dlbench" run --set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set loader.batch_size=8 \
    --set loader.num_workers=0 --set device.step_ms=5 --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1 \
    --set loader.shuffle=false --set python.dataset=train.py:Floods --set python.samples=64 --set python.sample_bytes=8 --results results
expect_code E_CELL_KILLED
expect_err 'innermost.*LAST-FRAME'
expect_file seen
[ "$(json_get seen 'd["first"] and d["whole"] and d["bytes"] > 30 << 20')" = True ] || failed "$(cat seen)"
[ "$(json_get seen 'd["disk"] <= 4 << 20 and 0 < d["zeros"] < d["cut"] < d["zeros"] + 100 and d["cut"] > 24 << 20')" = True ] || failed "$(cat seen)"

finish
