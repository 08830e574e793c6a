#!/usr/bin/env bash
# The step of gap's PyTorch rungs on a GPU: a clock that rises under load, and another program, in the stead of torch.cuda.
set -euo pipefail
"${PYTHON:-python3}" - "$DLB_SOURCE_DIR/scenarios/gap/torch" <<'TEXT'
import sys
import types

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import ends


class Gpu:
    """Its clock rises from 0.6 to 1.8 GHz within 200 ms of work; `busy` says by how much others stretch the nth kernel."""

    def __init__(self, busy=lambda n: 1):
        self.at_s, self.worked_s, self.n, self.busy = 0.0, 0.0, 0, busy

    def sleep(self, cycles):
        hz = min(0.6e9 + 1.2e9 * self.worked_s / 0.2, 1.8e9)
        took = (cycles / hz + 3e-6) * self.busy(self.n)
        self.n, self.at_s, self.worked_s = self.n + 1, self.at_s + took, self.worked_s + took

    def torch(self):
        gpu = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at_s = gpu.at_s

            def elapsed_time(self, other):
                return round((other.at_s - self.at_s) * 2e6) / 2e3  # in half microseconds

        cuda = types.SimpleNamespace(is_available=lambda: True, Event=Event, _sleep=self.sleep, synchronize=lambda: None)
        return types.SimpleNamespace(cuda=cuda, float32=None, zeros=lambda *a, **k: None, __version__="2.9.0")


clock = [0.0]


def monotonic():
    clock[0] += 0.01
    return clock[0]


ends.time = types.SimpleNamespace(monotonic=monotonic)
spec = {"gap.batch_size": 1, "gap.features": 1}
for step_s in (0.0005, 0.002, 0.1):
    gpu = Gpu()
    target = ends.Cuda(gpu.torch(), spec, {"step_s": step_s})
    assert gpu.worked_s > 0.2
    for _ in range(20):
        before = gpu.at_s
        target.step()
        assert abs((gpu.at_s - before) / step_s - 1) < 0.01, (step_s, gpu.at_s - before)
assert ends.Cuda(Gpu().torch(), spec, {"step_s": 0}).cycles == 0
try:
    ends.Cuda(Gpu(lambda n: 1 + n // 10 % 2).torch(), spec, {"step_s": 0.002})
except ends.NotMeasured as why:
    assert "2.000 ms" in str(why)
else:
    raise SystemExit("a step that others stretch counts as calibrated")
TEXT
