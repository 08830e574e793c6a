"""The device of tests/fidelity/loop.py, which is a timeline, and the window in which it is measured."""

import time


def sleep_until(when_ns):
    while (left_ns := when_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / 1e9)


class Timeline:
    """The device. At most two steps are queued: the one that runs, and the next."""

    def __init__(self, step_ms):
        self.step_ns, self.free_ns, self.ends = int(step_ms * 1e6), 0, []

    def step(self):
        start_ns = max(time.monotonic_ns(), self.free_ns)
        self.free_ns = start_ns + self.step_ns
        self.ends.append(self.free_ns)
        return start_ns

    def run_ahead(self):
        if len(self.ends) > 1:
            sleep_until(self.ends.pop(0))


def whole_rounds(n, n_round):
    return -(-n // n_round) * n_round


class Window:
    """Sums between the first measured step and the one that closes the window."""

    def __init__(self, n_workers, n_warmup, n_measured):
        self.n_round = max(n_workers, 1)
        self.n_warmup = whole_rounds(n_warmup, self.n_round)
        self.n_measured = whole_rounds(n_measured, self.n_round)
        self.n, self.closed, self.sums = 0, False, None

    def add(self, nth, n_samples, step):
        """`nth` is the step's number in its epoch; `step` has its times."""
        opens = self.sums is None and self.n >= self.n_warmup
        if opens:
            self.sums = dict.fromkeys(("steps", "samples", "busy", "input", "copy", "other", "next", "copying"), 0)
            self.place, self.start_ns = nth % self.n_round, step["start"]
        elif self.sums is not None:
            self.between(step)
            self.closed = nth % self.n_round == self.place and self.n - self.n_warmup >= self.n_measured
        self.n += 1
        self.last, self.last_samples = step, n_samples

    def between(self, step):
        """Adds the last step and what the device lacked from its end to the start of this one."""
        sums, end_ns = self.sums, self.last["end"]
        in_hand_ns, copied_ns = max(step["in_hand"], end_ns), max(step["copied"], end_ns)
        asked_ns = min(max(step["asked"], end_ns), in_hand_ns)
        sums["steps"] += 1
        sums["samples"] += self.last_samples
        sums["busy"] += end_ns - self.last["start"]
        sums["input"] += in_hand_ns - asked_ns
        sums["copy"] += copied_ns - in_hand_ns
        sums["other"] += asked_ns - end_ns + step["start"] - copied_ns
        sums["next"] += step["in_hand"] - step["asked"]
        sums["copying"] += step["copied"] - step["in_hand"]
        self.end_ns = step["start"]

    def document(self):
        sums, wall_ns = self.sums, self.end_ns - self.start_ns
        n = sums["steps"]
        return {
            "steps": n,
            "samples": sums["samples"],
            "window_s": wall_ns / 1e9,
            "samples_per_s": sums["samples"] / wall_ns * 1e9,
            "idle_frac": 1 - sums["busy"] / wall_ns,
            "idle_input_frac": sums["input"] / wall_ns,
            "idle_copy_frac": sums["copy"] / wall_ns,
            "idle_other_frac": sums["other"] / wall_ns,
            "next_ms": sums["next"] / n / 1e6,
            "copy_ms": sums["copying"] / n / 1e6,
            "interval_ms": wall_ns / n / 1e6,
        }
