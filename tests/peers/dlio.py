"""The same storage workload by DLIO, which MLPerf Storage runs, and by dlbench, in turns, on the same files.

DLIO writes files of .npz in its own way, and trains on them in N processes under mpiexec, with reader processes of PyTorch's
and a barrier after each step; dlbench reads the same files with N emulated accelerators in one process, as many worker processes for
each, and a barrier. Prints a table: utilisation by DLIO's own formula (its PyPI release has MLPerf Storage v1.0's, which is
dlbench's au.mlperf_v1), samples/s, and CPU seconds of all processes. Medians over rounds.

usage: dlio.py --dlbench build/release/dlbench [--accelerators 1 2] [--rounds 3]
Exits 77 where DLIO, its PyTorch or mpiexec cannot be had: pip install dlio-benchmark mpi4py mpich torch tensorflow-cpu
"""

import argparse
import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
try:
    import dlio_benchmark.main  # noqa: F401  what it imports is what it needs
    import torch
except Exception as missing:  # pylint: disable=broad-except  its imports fail in many ways
    print(f"skipped: {missing} ({sys.executable}); pip install dlio-benchmark mpi4py mpich torch tensorflow-cpu")
    sys.exit(77)

DIFFERS = 0.05


def mpiexec():
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    return beside if os.path.exists(beside) else shutil.which("mpiexec")


def timed(command, **more):
    """Runs it to its end: what it wrote, seconds, CPU seconds of it and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False, **more)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout.decode()[-2000:]}\n{done.stderr.decode()[-4000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, seconds, cpu


def dlio(args, folder, n, output, generate):
    settings = {
        "workload.workflow.generate_data": generate,
        "workload.workflow.train": not generate,
        "workload.workflow.checkpoint": False,
        "workload.dataset.data_folder": os.path.join(folder, "data"),
        "workload.dataset.num_files_train": args.files,
        "workload.dataset.record_length": args.bytes,
        "workload.dataset.record_length_stdev": 0,
        "workload.dataset.record_length_resize": args.bytes,
        "workload.reader.batch_size": args.batch_size,
        "workload.reader.read_threads": args.workers,
        "workload.train.epochs": args.epochs,
        "workload.train.computation_time": args.step_ms / 1e3,
        "workload.output.folder": output,
    }
    command = [mpiexec(), "-n", str(n), sys.executable, "-c",
               "import sys; from dlio_benchmark.main import main; sys.exit(main())", "workload=unet3d_h100",
               f"hydra.run.dir={output}"]
    command += [f"++{key}={value}" for key, value in settings.items()]
    env = dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="-1", DFTRACER_ENABLE="0")
    _, seconds, cpu = timed(command, env=env, cwd=folder)
    if generate:
        return None
    with open(os.path.join(output, "summary.json"), encoding="utf-8") as file:
        metric = json.load(file)["metric"]
    return {"au": metric["train_au_mean_percentage"], "rate": metric["train_throughput_mean_samples_per_second"],
            "seconds": seconds, "cpu": cpu} | dlio_steps(output, args)


def dlio_steps(output, args):
    """Where DLIO's steps went, by its own notes of each: seconds of the first one, and of a mean later one."""
    first, later, waited = [], [], []
    for path in glob.glob(os.path.join(output, "*_output.json")):
        with open(path, encoding="utf-8") as file:
            ranks = json.load(file)
        for epoch in (value for key, value in ranks.items() if key.isdigit()):
            for block, steps in epoch["proc"].items():
                first.append(steps[0])
                later += steps[1:]
                waited += epoch["load"][block][1:]
    mean = statistics.mean(later)
    return {"first": statistics.mean(first), "later": mean, "load": statistics.mean(waited),
            "rest": mean - statistics.mean(waited) - args.step_ms / 1e3}


def dlbench(args, folder, n):
    settings = {
        "dataset.format": "files", "dataset.codec": "raw", "dataset.path": os.path.join(folder, "data", "train"),
        "loader.batch_size": args.batch_size, "loader.num_workers": args.workers, "loader.prefetch_factor": 2,
        "loader.kind": "processes", "loader.shuffle": "true", "loader.pin_memory": "true", "loader.drop_last": "true",
        "device.kind": "emulated", "device.step_ms": args.step_ms, "device.prefetch": 0,
        "accelerators.count": n, "accelerators.barrier": "true",
        "run.epochs": args.epochs, "run.warmup_batches": 1, "run.repeats": 1,
    }
    command = [args.dlbench, "run", "--results", folder, "--run-name", "peer", "--overwrite", "--json"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    out, seconds, cpu = timed(command)
    cell = json.loads(out)["cells"][0]
    if cell["status"] != "ok":
        raise SystemExit(f"dlbench: {cell['reason']}")
    return {"au": cell["au"]["mlperf_v1"] * 100, "rate": cell["au"]["mlperf_v1_samples_per_s"], "seconds": seconds, "cpu": cpu,
            "idle": cell["gpu_idle_frac"]["median"],
            "begin": cell["epochs"][0]["first_batch_ns"] / 1e9, "verdict": cell["verdict"]["class"]}


def row(name, n, runs):
    middle = {key: statistics.median(run[key] for run in runs) for key in ("au", "rate", "seconds", "cpu")}
    print(f"{n:12} {name:8} {middle['au']:8.2f} {middle['rate']:10.1f} {middle['cpu']:9.2f} {middle['seconds']:9.2f}", flush=True)
    return middle


def explain(ours, theirs, ours_runs, theirs_runs):
    """Where the time went, from each one's own notes, if they differ."""
    differ = [name for key, name in (("au", "AU"), ("rate", "samples/s")) if abs(theirs[key] / ours[key] - 1) > DIFFERS]
    if not differ:
        return
    first, later, load, rest = (statistics.median(run[key] for run in theirs_runs) for key in ("first", "later", "load", "rest"))
    idle, begin, verdict = (statistics.median(run["idle"] for run in ours_runs),
                            statistics.median(run["begin"] for run in ours_runs), ours_runs[0]["verdict"])
    print(f"             {' and '.join(differ)} differ by more than {DIFFERS:.0%}. DLIO's first step of an epoch took {first:.2f} s (all "
          f"count for its samples/s, none of it for AU), a later one {later * 1e3:.1f} ms: {load * 1e3:.1f} ms waiting for its "
          f"batch, {rest * 1e3:.1f} ms more than the step asked for (late wake-ups). dlbench's first batch took {begin:.3f} s, and "
          f"its device stood still {idle:.1%} of the time ({verdict}).")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dlbench", default="build/release/dlbench")
    parser.add_argument("--accelerators", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=256)
    parser.add_argument("--bytes", type=int, default=1 << 20, help="of a sample")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1, help="of each accelerator")
    parser.add_argument("--step-ms", type=float, default=50)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    args.dlbench = os.path.abspath(args.dlbench)
    if mpiexec() is None:
        print("skipped: no mpiexec; pip install mpich")
        return 77

    with tempfile.TemporaryDirectory(prefix="dlb_dlio_", dir=os.environ.get("DLB_PERF_DIR", "/var/tmp")) as folder:
        dlio(args, folder, 1, os.path.join(folder, "generate"), True)
        files = glob.glob(os.path.join(folder, "data", "train", "**", "*.npz"), recursive=True)
        print(f"torch {torch.__version__}; {len(files)} files, {sum(map(os.path.getsize, files)) / 1e6:.0f} MB, batches of "
              f"{args.batch_size}, steps of {args.step_ms:g} ms, {args.workers} workers each, {args.epochs} epochs, "
              f"{os.cpu_count()} CPUs")
        print(f"{'accelerators':>12} {'harness':8} {'AU %':>8} {'samples/s':>10} {'CPU s':>9} {'elapsed':>9}")
        for n in args.accelerators:
            ours, theirs = [], []
            for i in range(args.rounds):
                ours.append(dlbench(args, folder, n))
                theirs.append(dlio(args, folder, n, os.path.join(folder, f"out-{n}-{i}"), False))
            explain(row("dlbench", n, ours), row("DLIO", n, theirs), ours, theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
