"""A real ResNet-50 training of PyTorch, and what dlbench predicts for it, on the same images and the same GPU.

Both are run in turns: resnet.py, and a cell of loader.kind = "torch" whose step and host time were measured before, without a loader.
"""

import json
import math
import os
import sys
import time

from program import CannotRun, OutOfTime

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "resnet.py")
MOST_ROUNDS = 5
# The two-sided 95% quantile of Student's t, from 1 degree of freedom on.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
       2.093, 2.086)


def mean(values):
    return sum(values) / len(values)


def intervals(groups):
    """(mean, half of its 95% interval or None) of each group. The spread is pooled over the groups: two or three values alone say
    little of theirs."""
    free = sum(len(group) - 1 for group in groups)
    squares = sum((value - mean(group)) ** 2 for group in groups for value in group)
    if free == 0:
        return [(mean(group), None) for group in groups]
    spread = T95[min(free, len(T95)) - 1] * math.sqrt(squares / free)
    return [(mean(group), spread / math.sqrt(len(group))) for group in groups]


def of_logs(groups):
    """The same of positive values, as (middle, low, high)."""
    out = []
    for middle, half in intervals([[math.log(value) for value in group] for group in groups]):
        out.append((math.exp(middle), None if half is None else math.exp(middle - half), None if half is None else math.exp(middle + half)))
    return out


def rate_text(interval):
    middle, low, high = interval
    return f"{middle:.0f}" + ("" if low is None else f" ({low:.0f} to {high:.0f})")


def points_text(interval, sign=""):
    middle, half = interval
    return f"{middle * 100:{sign}.1f}" + ("" if half is None else f" +- {half * 100:.1f}")


def script(b, *words, env=None, limit_s=120):
    """stdout of resnet.py."""
    python = os.environ.get("PYTHON", sys.executable)
    done = b.command([python, SCRIPT, *map(str, words), *(["--cpu"] if b.emulated else [])], limit_s, env)
    if done.returncode != 0:
        raise CannotRun((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return done.stdout


class Training:
    """The cells of one size of batch: how they are run, and what each run of either side measured."""

    def __init__(self, b, batch):
        self.b, self.batch = b, batch
        most = max(2, b.cpus - 2)
        workers = [0, 1] if b.quick else [1, 2, 3] if b.emulated else sorted({2, max(3, most // 2), most + (most < 4)})
        self.cells = [(n, pin) for n in workers for pin in ((True,) if b.quick else (False, True))]
        self.loops = {cell: [] for cell in self.cells}
        self.predicted = {cell: [] for cell in self.cells}
        self.images, self.n_images = os.path.join(b.work, "training"), 24 if b.emulated else 2048
        self.step = os.path.join(b.work, f"step-{batch}.toml")

    def length(self, workers):
        """Measured batches, and batches before that: whole rounds, and about four seconds where the workers bind."""
        if self.b.emulated:
            return 2 * max(workers, 1), max(workers, 1)
        return max(2 * workers, math.ceil(400 * workers / self.batch)), 2 * workers

    def prepare(self):
        """Images, the step by `dlbench calibrate`, and the CPU time that the loop spends on it."""
        b, config = self.b, os.path.join(self.b.bundle, "configs", "imagenet.toml")
        if not os.path.exists(self.images):
            code, _, err = b.dlbench("gen", {"dataset.path": self.images, "generate.samples": self.n_images, "generate.classes": 16}, config=config)
            if code != 0:
                raise CannotRun(f"gen failed with {code}: {err.strip()[-300:]}")
        self.host = json.loads(script(b, "host", "--batch", self.batch))
        env = {"RESNET_BATCH": str(self.batch), **({"RESNET_CPU": "1"} if b.emulated else {})}
        done = b.command([b.program, "calibrate", "--python", SCRIPT + ":make_step", "--interpreter", os.environ.get("PYTHON", sys.executable),
                          "--seconds", "2" if b.emulated else "20", "--write", self.step, "--overwrite", "--json"], 120, env)
        if done.returncode != 0:
            raise CannotRun(f"calibrate failed with {done.returncode}: {done.stderr.strip()[-300:]}")
        self.calibrated = json.loads(done.stdout)
        b.keep(batch=self.batch, calibrated=self.calibrated, host=self.host)

    def run_loops(self):
        cells = [[workers, pin, *self.length(workers)] for workers, pin in self.cells]
        out = script(self.b, "loop", "--batch", self.batch, "--images", self.images, "--cells", json.dumps(cells), limit_s=240)
        for line in out.splitlines():
            run = json.loads(line)
            self.loops[run["workers"], run["pin"]].append(run)
            self.b.keep(batch=self.batch, loop=run)

    def run_cells(self):
        for workers, pin in self.cells:
            batches, warmup = self.length(workers)
            _, cell = self.b.run({
                "device.kind": "emulated",  # such a cell's batches stay in the interpreter
                "dataset.path": self.images, "loader.kind": "torch", "loader.batch_size": self.batch, "loader.num_workers": workers,
                "loader.pin_memory": pin, "loader.prefetch_factor": 2, "loader.persistent_workers": workers > 0, "device.prefetch": 1,
                "device.host_busy_frac": round(self.host["host_busy_frac"], 4), "device.step_source": self.calibrated["target"],
                **{f"device.{key}": self.calibrated[key] for key in ("step_ms", "step_dist", "step_stdev_ms")},
                "run.max_batches": batches, "run.warmup_batches": warmup,
                "run.epochs": 2 + (warmup + batches) // (self.n_images // self.batch), "python.interpreter": os.environ.get("PYTHON", sys.executable)},
                config=os.path.join(self.b.bundle, "configs", "imagenet.toml"))
            run = {"workers": workers, "pin": pin, "samples_per_s": cell["samples_per_s"]["median"],
                   "idle_frac": cell["gpu_idle_frac"]["median"], "verdict": cell["verdict"]["code"]}
            self.predicted[workers, pin].append(run)
            self.b.keep(batch=self.batch, dlbench=run)

    def rounds(self):
        """As many as there is time for; two at least, or what is left out is said."""
        for nth in range(1 if self.b.emulated else MOST_ROUNDS):
            begin = time.monotonic()
            for side in (self.run_loops, self.run_cells) if nth % 2 == 0 else (self.run_cells, self.run_loops):
                side()
            if nth > 0 and self.b.end - time.monotonic() < 1.1 * (time.monotonic() - begin):
                return

    def report(self):
        """A row for each cell that both sides ran."""
        both = [cell for cell in self.cells if self.loops[cell] and self.predicted[cell]]
        if not both:
            return
        pairs = {cell: list(zip(self.loops[cell], self.predicted[cell])) for cell in both}
        rates = [of_logs([[run["samples_per_s"] for run in side[cell]] for cell in both]) for side in (self.loops, self.predicted)]
        idle = [intervals([[run["idle_frac"] for run in side[cell]] for cell in both]) for side in (self.loops, self.predicted)]
        ratios = of_logs([[d["samples_per_s"] / r["samples_per_s"] for r, d in pairs[cell]] for cell in both])
        points = intervals([[d["idle_frac"] - r["idle_frac"] for r, d in pairs[cell]] for cell in both])
        for i, (workers, pin) in enumerate(both):
            ratio, low, high = ratios[i]
            span = "" if low is None else f" ({low - 1:+.1%} to {high - 1:+.1%})"
            self.b.row(f"batch {self.batch}, {workers} workers, {'pinned' if pin else 'pageable'}", "shown",
                       f"dlbench {ratio - 1:+.1%}{span}, idle {points_text(points[i], '+')} points", None,
                       f"samples/s: loop {rate_text(rates[0][i])}, dlbench {rate_text(rates[1][i])}; idle %: loop {points_text(idle[0][i])}, "
                       f"dlbench {points_text(idle[1][i])}; {self.predicted[workers, pin][-1]['verdict']}; pairs: {len(pairs[workers, pin])}")
        near = sum(abs(ratios[i][0] - 1) <= 0.05 and abs(points[i][0]) <= 0.03 for i in range(len(both)))
        step = self.calibrated
        self.b.row(f"ResNet-50, batch {self.batch}: predicted within 5% and 3 points", "shown", f"{near} of {len(both)}", None,
                   f"step {step['step_ms']:.2f} ms by {step['clock']}, host {self.host['host_busy_frac']:.0%} of it; torch {self.host['torch']}")


def training(b, batch):
    what = Training(b, batch)
    try:
        what.prepare()
    except OutOfTime:
        raise
    except (CannotRun, OSError, LookupError, ValueError) as why:
        b.row(f"ResNet-50, batch {batch}", "shown", "not run", None, f"{type(why).__name__}: {why}")
        return
    try:
        what.rounds()
    finally:
        what.report()


def resnet_32(b):
    """A real ResNet-50 training with batches of 32 against what dlbench predicts."""
    training(b, 2 if b.emulated else 32)


def resnet_128(b):
    """The same with batches of 128."""
    training(b, 3 if b.emulated else 128)
