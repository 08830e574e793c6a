"""Where the batches of a PyTorch rung come from and go to: the array that all rungs read, the device that they are copied to, and
the checksum that proves that all rows arrived. Part of scenarios/gap/torch/rung.py.
"""

import ctypes
import fcntl
import os
import subprocess
import time

MASK = (1 << 64) - 1


class NotMeasured(Exception):
    """The rung cannot be measured here; the text says what would enable it."""


class Buffer:
    """One buffer in this host's memory, and no step."""

    def __init__(self, torch, spec, how):
        self.memory = torch.zeros((spec["gap.batch_size"], spec["gap.features"]), dtype=torch.float32)

    def ready(self, batch):
        """Waits until a copy of this batch can begin, so that the copy call itself does not wait."""

    def copy(self, batch):
        self.memory[: len(batch)].copy_(batch)

    def step(self):
        pass

    def wait(self):
        pass


def sleep_until(when_ns):
    while True:
        left_ns = when_ns - time.monotonic_ns()
        if left_ns <= 0:
            return
        time.sleep(left_ns / 1e9)


class Emulated:
    """The model of loaders/device/dev_emulated.c of a pageable copy and a step on one stream: every byte goes through staging
    memory, the link has a rate, and the step has a length."""

    STAGING = 4 << 20

    def __init__(self, torch, spec, how):
        self.staging = ctypes.create_string_buffer(self.STAGING)
        ctypes.memset(self.staging, 1, self.STAGING)  # so that no copy pays for its page faults
        self.bytes_per_s, self.copy_ns = how["pageable_bytes_per_s"], how["copy_s"] * 1e9
        self.step_ns, self.free_ns = how["step_s"] * 1e9, 0

    def ready(self, batch):
        sleep_until(self.free_ns)

    def copy(self, batch):
        batch = batch.contiguous()
        n_bytes = batch.numel() * 4
        start_ns = time.monotonic_ns()
        for at in range(0, n_bytes, self.STAGING):
            ctypes.memmove(self.staging, batch.data_ptr() + at, min(self.STAGING, n_bytes - at))
        self.free_ns = start_ns + self.copy_ns + n_bytes / self.bytes_per_s * 1e9
        sleep_until(self.free_ns)
        self.free_ns = max(self.free_ns, time.monotonic_ns())

    def step(self):
        self.free_ns = max(self.free_ns, time.monotonic_ns()) + self.step_ns

    def wait(self):
        sleep_until(self.free_ns)


class Cuda:
    """The GPU's own copy, and a kernel that occupies one multiprocessor for the length of a step. As in loaders/device/cuda/calibrate.c
    the clocks are raised first, and the step is run as it will be, until it takes what was asked for."""

    CYCLES, WARM_S, ROUNDS, REPEATS, LONGEST_S = 10000000, 0.3, 6, 9, 1
    GOOD, USELESS = 0.003, 0.02  # closer is noise; further off, another program computes on the GPU

    def __init__(self, torch, spec, how):
        if not torch.cuda.is_available():
            raise NotMeasured(
                "the other rungs run on the GPU, and torch %s of this interpreter has no CUDA: pip install torch" % torch.__version__
            )
        self.torch = torch
        self.memory = torch.zeros((spec["gap.batch_size"], spec["gap.features"]), dtype=torch.float32, device="cuda")
        self.cycles = self.calibrated(how["step_s"]) if how["step_s"] > 0 else 0

    def seconds(self, cycles):
        """Of one step: the median of several that follow each other, fewer of long ones, behind one that hides their launches: some
        20 us each from Python, and a million cycles are half a millisecond or more."""
        repeats = max(1, min(self.REPEATS, self.REPEATS * self.CYCLES // max(cycles, 1)))
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
        self.torch.cuda._sleep(self.CYCLES // 10)
        for event in events[:-1]:
            event.record()
            self.torch.cuda._sleep(cycles)
        events[-1].record()
        self.torch.cuda.synchronize()
        times = sorted(one.elapsed_time(other) for one, other in zip(events, events[1:]))
        return times[len(times) // 2] / 1e3

    def calibrated(self, step_s):
        """Longer steps than LONGEST_S are measured up to there and scaled."""
        scale = max(step_s / self.LONGEST_S, 1)
        return int(self.fitted(step_s / scale) * scale)

    def fitted(self, step_s):
        until, best = time.monotonic() + self.WARM_S, None
        took_s = self.seconds(self.CYCLES)
        while time.monotonic() < until:
            took_s = self.seconds(self.CYCLES)
        cycles = self.CYCLES
        for _ in range(self.ROUNDS):
            cycles = max(int(cycles * step_s / took_s), 1)
            took_s = self.seconds(cycles)
            off = abs(took_s / step_s - 1)
            if best is None or off < best[0]:
                best = off, cycles, took_s
            if off <= self.GOOD:
                break
        if best[0] > self.USELESS:
            raise NotMeasured(
                "a step of %.3f ms takes %.3f ms on the GPU: is another program using it? nvidia-smi shows it" % (step_s * 1e3, best[2] * 1e3)
            )
        return best[1]

    def ready(self, batch):
        if not batch.is_pinned():
            self.torch.cuda.current_stream().synchronize()

    def copy(self, batch):
        self.memory[: len(batch)].copy_(batch, non_blocking=batch.is_pinned())

    def step(self):
        if self.cycles:
            self.torch.cuda._sleep(self.cycles)

    def wait(self):
        self.torch.cuda.synchronize()


TARGETS = {"buffer": Buffer, "emulated": Emulated, "cuda": Cuda}


def advise(tensor, pages):
    """Asks for the pages that the C rungs have; "kernel" is what torch gets without asking."""
    advice = {"small": 15, "huge": 14}.get(pages)  # MADV_NOHUGEPAGE, MADV_HUGEPAGE
    page = 2 << 20
    start = -(-tensor.data_ptr() // page) * page
    end = (tensor.data_ptr() + tensor.numel() * 4) // page * page
    if advice and end > start:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


def widen(pipe):
    """A pipe of 1 MiB instead of 64 KiB needs 16 times fewer calls."""
    try:
        fcntl.fcntl(pipe, 1031, 1 << 20)  # F_SETPIPE_SZ, which fcntl names since Python 3.10
    except OSError:
        pass  # the user's limit of pipe memory is reached: slower, but not an error


def read_array(torch, spec):
    x = torch.empty((spec["gap.samples"], spec["gap.features"]), dtype=torch.float32)
    advise(x, spec["gap.pages"])
    n_bytes, done = x.numel() * 4, 0
    into = memoryview((ctypes.c_char * n_bytes).from_address(x.data_ptr())).cast("B")
    command = spec["array"] + ["--spec", spec["path"]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as writer:
        widen(writer.stdout)
        while done < n_bytes:
            n = os.readv(writer.stdout.fileno(), [into[done : done + (8 << 20)]])
            if n == 0:
                break
            done += n
    if done < n_bytes or writer.returncode != 0:
        raise RuntimeError("the array ended after %d of %d bytes" % (done, n_bytes))
    return x


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def mix(x):
    """splitmix64's finaliser of a number."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mix_all(x):
    """The same of a tensor of int64, whose shifts are arithmetic."""

    def shifted(bits):
        return (x >> bits) & ((1 << (64 - bits)) - 1)

    x = (x ^ shifted(30)) * signed(0xBF58476D1CE4E5B9)
    x = (x ^ shifted(27)) * signed(0x94D049BB133111EB)
    return x ^ shifted(31)


class Checksum:
    """scenarios/gap/rungs/array.h: a sum over rows that does not depend on their order."""

    ROWS = 4096

    def __init__(self, torch, n_features):
        weights = [signed(mix(j + 1) | 1) for j in range(n_features)]
        self.weights, self.torch, self.sum = torch.tensor(weights, dtype=torch.int64), torch, 0

    def add(self, batch):
        words = batch.detach().cpu().contiguous().view(self.torch.int32)
        for piece in words.split(self.ROWS):
            row = ((piece.to(self.torch.int64) & 0xFFFFFFFF) * self.weights).sum(1) + signed(0x9E3779B97F4A7C15)
            self.sum = (self.sum + int(mix_all(row).sum())) & MASK

    def text(self):
        return "%016x" % self.sum
