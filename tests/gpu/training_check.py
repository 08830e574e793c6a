"""How often the intervals of tests/gpu/training.py hold the truth, and its rounds and rows with planted runs. Needs no PyTorch and no GPU."""

import argparse
import json
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program  # noqa: E402: it lies beside this file
import training  # noqa: E402


def coverage(rng, spreads, n_rounds, n=3000):
    """Of the group with the least spread and of that with the greatest: how often the interval holds the truth."""
    held = [0] * len(spreads)
    for _ in range(n):
        groups = [[rng.gauss(0, spread) for _ in range(n_rounds)] for spread in spreads]
        for i, (middle, half) in enumerate(training.intervals(groups)):
            held[i] += abs(middle) <= half
    return held[0] / n, held[-1] / n


def check_coverage():
    rng = random.Random(1)
    for spreads, n_rounds, least, greatest in (
            ([0.02] * 6, 2, (0.94, 0.96), (0.94, 0.96)), ([0.02] * 6, 3, (0.94, 0.96), (0.94, 0.96)),
            ([0.01, 0.01, 0.02, 0.02, 0.04, 0.04], 2, (0.99, 1), (0.78, 0.84)), ([0.01, 0.01, 0.02, 0.02, 0.04, 0.04], 3, (0.99, 1), (0.78, 0.84))):
        got = coverage(rng, spreads, n_rounds)
        print(f"{spreads[0]:.0%} to {spreads[-1]:.0%}, {n_rounds} rounds: {got[0]:.1%}, {got[1]:.1%}")
        assert least[0] <= got[0] <= least[1] and greatest[0] <= got[1] <= greatest[1], (spreads, n_rounds, got)
    assert training.intervals([[1.0], [3.0]]) == [(1.0, None), (3.0, None)]
    (middle, low, high), _ = training.of_logs([[100, 110], [50, 50]])
    assert low < 100 < middle < 110 < high, (low, middle, high)


class Planted(program.Bench):
    """A GPU machine whose loop makes 1,000 samples/s, and whose cells of dlbench 1,100."""

    left_s = 1e9
    n_loops = 0

    def command(self, argv, limit_s=120, env=None, look=None):
        if "host" in argv:
            out = json.dumps({"torch": "planted", "host_busy_frac": 0.5})
        elif "calibrate" in argv:
            assert env["RESNET_BATCH"] == "32" and "RESNET_CPU" not in env
            out = json.dumps({"step_ms": 12.5, "step_dist": "constant", "step_stdev_ms": 0, "clock": "planted", "target": "resnet.py:make_step"})
        else:
            self.n_loops += 1
            cells = json.loads(argv[argv.index("--cells") + 1])
            out = "\n".join(json.dumps({"workers": c[0], "pin": c[1], "samples_per_s": 1000 + self.n_loops, "idle_frac": 0.3}) for c in cells)
        return argparse.Namespace(returncode=0, stdout=out, stderr="")

    def dlbench(self, verb, options, **how):
        assert verb == "gen" and options["generate.samples"] == 2048
        return 0, None, ""

    def run(self, options, **how):
        self.left_s -= 1
        if self.left_s < 0:
            raise program.OutOfTime("planted")
        assert options["device.kind"] == "emulated", options  # no torch cell runs on a GPU
        assert options["device.step_ms"] == 12.5 and options["device.host_busy_frac"] == 0.5 and options["loader.kind"] == "torch"
        per_epoch = 2048 // options["loader.batch_size"]
        assert options["run.epochs"] * per_epoch > options["run.max_batches"] + options["run.warmup_batches"]
        return None, {"samples_per_s": {"median": 1100}, "gpu_idle_frac": {"median": 0.28}, "verdict": {"code": "INPUT_BOUND"}}


def planted(left_s, end_s):
    b = Planted(".", ".", argparse.Namespace(emulated=False, quick=False))
    b.cpus, b.left_s, b.end, b.check, saved = 16, left_s, time.monotonic() + end_s, "resnet-32", []
    b.save = lambda: saved.append(len(b.figures))
    try:
        training.resnet_32(b)
    except program.OutOfTime:
        pass
    assert len(saved) == len(b.rows) + len(b.figures)  # each is written down at once
    return b


def check_rounds():
    """Six cells; rounds end with the time, and what a cut one has measured is in the table."""
    whole = planted(1e9, 1e9)
    assert whole.n_loops == training.MOST_ROUNDS and len(whole.rows) == 7, whole.rows
    assert len(whole.figures) == 1 + 2 * 6 * training.MOST_ROUNDS
    first = whole.rows[0]
    assert first["name"] == "batch 32, 2 workers, pageable" and first["held"] is None and "pairs: 5" in first["detail"], first
    assert "dlbench +9.7%" in first["measured"] and "-2.0 +- 0.0 points" in first["measured"], first
    assert whole.rows[-1]["measured"] == "0 of 6", whole.rows[-1]
    cut = planted(3, 1e9)  # in the first round
    assert [row["name"].split(", ")[1] for row in cut.rows[:-1]] == ["2 workers", "2 workers", "7 workers"], cut.rows
    assert "pairs: 1" in cut.rows[0]["detail"] and "(" not in cut.rows[0]["measured"], cut.rows[0]
    late = planted(1e9, 0)  # two rounds, whatever is left
    assert late.n_loops == 2 and "pairs: 2" in late.rows[0]["detail"], late.rows


if __name__ == "__main__":
    check_coverage()
    check_rounds()
