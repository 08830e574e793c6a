"""The data sets on which plain PyTorch loops (loop.py) are compared with dlbench, and the interpreter that runs them."""

import json
import os
import pathlib
import platform
import subprocess
import sys

LOOP = str(pathlib.Path(__file__).resolve().parent / "loop.py")
LIMIT_S = 300
N_WARMUP = 10

# Of configs/quickstart.toml, imagenet-tar.toml, hdf5.toml and tokens.toml: 30 batches an epoch. The shards are a multiple of all
# numbers of workers. Shuffled chunks hold one sample each. Short batches are measured for more epochs, so that a window has seconds: one
# full collection of Python's garbage is 0.1 s.
JPEG = {"dataset.codec": "jpeg", "transform.pixels": "f32"}
PLANS = {
    "files": {"batch": 32, "measured": 60, "settings": {"dataset.format": "files", **JPEG},
              "gen": {"generate.samples": 960, "generate.sample_bytes": "100kB", "generate.classes": 16}},
    "webdataset": {"batch": 32, "measured": 60, "settings": {"dataset.format": "webdataset", "loader.shuffle_buffer": 1000, **JPEG},
                   "gen": {"generate.samples": 960, "generate.sample_bytes": "100kB", "generate.classes": 16,
                           "webdataset.shard_samples": 120}},
    "hdf5": {"batch": 32, "measured": 180, "settings": {"dataset.format": "hdf5", "dataset.codec": "raw"},
             "gen": {"generate.samples": 960, "generate.sample_bytes": 150528, "hdf5.chunk_samples": 1,
                     "hdf5.filter": "shuffle+deflate"}},
    "tokens": {"batch": 480, "measured": 300, "settings": {"dataset.format": "tokens", "dataset.codec": "tokens", "tokens.sampling": "contiguous"},
               "gen": {"generate.samples": 14400}},
}


def interpreter():
    """What holds torch; ends the program where a package is missing."""
    venv = os.environ.get("VIRTUAL_ENV")
    python = os.environ.get("PYTHON") or (venv + "/bin/python3" if venv else "python3")
    look = subprocess.run([python, "-c", "import torch, torchvision, webdataset, h5py; print(torch.__version__)"],
                          capture_output=True, text=True, check=False)
    if look.returncode != 0:
        print(f"skipped: {python}: {look.stderr.strip().splitlines()[-1]}; pip install torch torchvision webdataset h5py")
        sys.exit(77)
    return python, look.stdout.strip()


def options(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def machine(torch):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [text.split(":", 1)[1].strip() for text in file if text.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {len(os.sched_getaffinity(0))} CPUs; torch {torch}"


class Loops:
    """Writes data sets and runs the plain loop on them."""

    def __init__(self, dlbench, data, most_batches=None):
        self.dlbench, self.data, self.most_batches = dlbench, pathlib.Path(data), most_batches
        self.python, self.torch = interpreter()

    def path(self, name):
        return str(self.data / name)

    def n_batches(self, name):
        return min(PLANS[name]["measured"], self.most_batches or PLANS[name]["measured"])

    def generate(self, name):
        plan = PLANS[name]
        settings = {**plan["settings"], **plan["gen"], "dataset.path": self.path(name)}
        subprocess.run([self.dlbench, "gen", *options(settings)], stdout=sys.stderr, check=True)

    def loop(self, name, workers, step_ms, *more):
        command = [self.python, LOOP, "--data", name, "--path", self.path(name), "--batch-size", str(PLANS[name]["batch"]),
                   "--workers", str(workers), "--step-ms", f"{step_ms:.3f}", "--batches", str(self.n_batches(name)),
                   "--warmup", str(N_WARMUP), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)
