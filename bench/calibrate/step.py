"""Measures a training step for `dlbench calibrate`, in an interpreter of its own.

    step.py --spec FILE --result FILE [--heartbeat-fd N]

The specification is {"target": "train.py:make_step", "seconds": 60}. make_step() returns a callable that does one training step. It
needs no torch. Where it has used CUDA, events at the borders of steps are the clock, and steps are queued as a training loop queues
them; else it is the wall clock around each step.

The rules are fixed:
- Warm-up: at least 3 steps, and a thirtieth of the seconds.
- Measured: at least 30 steps and a twentieth of the seconds, until the standard error of the mean is below 1% of the mean. After all
  the seconds it ends with what there is, 5 steps at least.
"""

import importlib
import importlib.util
import math
import os
import platform
import sys
import time
import traceback

import dlbench_child

MIN_WARM, MIN_STEPS, MIN_LATE, WANTED_ERROR = 3, 30, 5, 0.01
LOOK_EVERY_S = 0.1  # of the wall clock
QUEUED_S, MIN_QUEUED, MAX_QUEUED = 0.5, 8, 64  # steps on a GPU between two waits
FRAMES = 3  # of a traceback that are told


class Refused(Exception):
    """The text is the reason, the code one of core/base/errors.def."""

    def __init__(self, code, reason):
        super().__init__(reason)
        self.code = code


def one_line(words):
    return " ".join(str(words).split())


def frames_of(why):
    """The last frames of the user's own code: "train.py:12 in make_step > model.py:40 in forward"."""
    rows = [row for row in traceback.extract_tb(why.__traceback__)
            if row.filename != __file__ and not row.filename.startswith("<frozen importlib")]
    return " > ".join("%s:%d in %s" % (os.path.basename(row.filename), row.lineno or 0, row.name) for row in rows[-FRAMES:])


def told(why):
    frames = frames_of(why)
    words = traceback.format_exception_only(type(why), why)[-1]
    return one_line("%s%s%s" % (frames, ": " if frames else "", words))


def guarded(call, *args):
    """What the user's code raises is an answer; sys.exit() is, too."""
    try:
        return call(*args)
    except (KeyboardInterrupt, Refused):
        raise
    except BaseException as why:
        traceback.print_exc()
        raise Refused("E_STEP_RAISED", told(why)) from why


def from_file(path):
    if not os.path.isfile(path):
        raise Refused("E_STEP_NOT_FOUND", "there is no such file")
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv = [path]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refused("E_STEP_NOT_FOUND", "is not a file of Python: its name should end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that its classes are found by name
    guarded(spec.loader.exec_module, module)
    return module


def from_package(name):
    sys.path.insert(0, os.getcwd())
    sys.argv = [name]
    try:
        return guarded(importlib.import_module, name)
    except Refused as why:
        absent = why.__cause__
        if isinstance(absent, ModuleNotFoundError) and absent.name and (name + ".").startswith(absent.name + "."):
            raise Refused("E_STEP_NOT_FOUND", "there is no module %s" % absent.name) from None
        raise


def step_of(target):
    where, colon, function = target.rpartition(":")
    if not (colon and where and function):
        raise Refused("E_STEP_NOT_FOUND", "write FILE.py:FUNCTION or package.module:FUNCTION")
    module = from_file(where) if where.endswith(".py") or "/" in where else from_package(where)
    make = getattr(module, function, None)
    if make is None:
        raise Refused("E_STEP_NOT_FOUND", "it has no %s" % function)
    if not callable(make):
        raise Refused("E_STEP_NOT_CALLABLE", "%s is of type %s, not a function" % (function, type(make).__name__))
    step = guarded(make)
    if not callable(step):
        raise Refused("E_STEP_NOT_CALLABLE", "%s() returned a value of type %s; it should return a function that does one step"
                      % (function, type(step).__name__))
    return step


def cuda_torch():
    """torch, if the step has used CUDA."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized() else None
    except AttributeError:  # another module of that name
        return None


class WallClock:
    name = "wall clock"

    def __init__(self, step, beat):
        self.step, self.beat = step, beat

    def wait(self):
        pass

    def some(self, about_s):
        """Milliseconds of the next steps."""
        clock, step, beat, out = time.perf_counter_ns, self.step, self.beat, []
        until = clock() + LOOK_EVERY_S * 1e9
        while not out or clock() < until:
            start = clock()
            step()
            out.append((clock() - start) / 1e6)
            beat()
        return out


class CudaEvents(WallClock):
    name = "CUDA events"

    def __init__(self, step, beat, torch):
        super().__init__(step, beat)
        self.torch = torch

    def wait(self):
        self.torch.cuda.synchronize()

    def some(self, about_s):
        n = int(min(max(QUEUED_S / max(about_s, 1e-9), MIN_QUEUED), MAX_QUEUED)) + 1
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(n + 1)]
        events[0].record()
        for event in events[1:]:
            self.step()
            event.record()
            self.beat()
        for event in events:
            event.synchronize()
            self.beat()
        # The first step began on an idle GPU and had nothing queued before it.
        return [start.elapsed_time(end) for start, end in zip(events[1:], events[2:])]


def warm_up(step, seconds, beat):
    """The clock that suits the step, how long a step takes about, and the number of steps."""
    start, n = time.perf_counter(), 0
    while n < MIN_WARM or time.perf_counter() - start < seconds / 30:
        since = time.perf_counter()
        step()
        torch = cuda_torch()
        clock = CudaEvents(step, beat, torch) if torch else WallClock(step, beat)
        clock.wait()
        about_s = time.perf_counter() - since
        beat()
        n += 1
    return clock, about_s, n


class Spread:
    """Mean and variance as values come (Welford)."""

    def __init__(self):
        self.ms, self.mean, self.squares = [], 0.0, 0.0

    def add(self, values):
        for ms in values:
            self.ms.append(ms)
            off = ms - self.mean
            self.mean += off / len(self.ms)
            self.squares += off * (ms - self.mean)

    def stdev(self):
        return math.sqrt(self.squares / (len(self.ms) - 1)) if len(self.ms) > 1 else 0.0

    def error(self):
        """Standard error of the mean, as a share of it."""
        return self.stdev() / math.sqrt(len(self.ms)) / self.mean if self.mean > 0 else 0.0

    def median(self):
        ms = sorted(self.ms)
        return (ms[(len(ms) - 1) // 2] + ms[len(ms) // 2]) / 2


def measure(clock, about_s, seconds):
    spread, start = Spread(), time.perf_counter()
    while True:
        spread.add(clock.some(about_s))
        n, passed = len(spread.ms), time.perf_counter() - start
        if n >= MIN_STEPS and passed >= seconds / 20 and spread.error() <= WANTED_ERROR:
            return spread, True
        if n >= MIN_LATE and passed >= seconds:
            return spread, False
        about_s = spread.mean / 1e3


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return one_line(line.partition(":")[2])
    except OSError:
        pass
    return platform.machine() or "CPU"


def measured(spec, beat):
    step = step_of(spec["target"])
    beat()
    clock, about_s, n_warm = guarded(warm_up, step, spec["seconds"], beat)
    spread, settled = guarded(measure, clock, about_s, spec["seconds"])
    torch = sys.modules.get("torch")
    return {
        "status": "ok",
        "clock": clock.name,
        "device": one_line(clock.torch.cuda.get_device_name()) if isinstance(clock, CudaEvents) else cpu_name(),
        "torch": str(getattr(torch, "__version__", "")) or None,
        "python": platform.python_version(),
        "steps": len(spread.ms),
        "warmup_steps": n_warm,
        "median_ms": spread.median(),
        "mean_ms": spread.mean,
        "stdev_ms": spread.stdev(),
        "error_frac": spread.error(),
        "settled": settled,
    }


def answer(spec, beat):
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != own]  # what lies there is not the user's
    try:
        return measured(spec, beat)
    except Refused as why:
        return {"status": "failed", "code": why.code, "reason": str(why)[:1000]}


if __name__ == "__main__":
    dlbench_child.run(answer)
