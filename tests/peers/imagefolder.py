"""The same work by torchvision's ImageFolder and torch's DataLoader, and by dlbench, in turns.

Both read the same folder of JPEGs in batches, shuffled, with RandomResizedCrop(224), RandomHorizontalFlip, ToTensor and
Normalize, with as many workers, and drop what they made. dlbench's device takes no time (steps of a microsecond), so that
only loading is measured. Prints samples/s for both and the ratio; medians over rounds.

usage: imagefolder.py --dlbench build/release/dlbench --config configs/quickstart.toml [--workers 0 1 2] [--rounds 3]
Exits 77 where torch or torchvision cannot be imported.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
    import torchvision
    from torchvision import transforms
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install torch torchvision")
    sys.exit(77)

SHOULD_REACH = 2.0
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]  # torchvision's ImageNet weights are trained with these


class Torch:
    """One DataLoader, kept over the rounds as persistent workers are; its first epoch is not measured."""

    def __init__(self, path, batch_size, n_workers):
        transform = transforms.Compose([
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ])
        more = {"prefetch_factor": 2, "persistent_workers": True} if n_workers > 0 else {}
        self.loader = torch.utils.data.DataLoader(
            torchvision.datasets.ImageFolder(path, transform), batch_size=batch_size, shuffle=True,
            num_workers=n_workers, drop_last=True, **more)
        self.epoch()

    def epoch(self):
        n_samples = 0
        for images, _ in self.loader:
            n_samples += images.shape[0]
        return n_samples

    def rate(self, n_epochs):
        start = time.monotonic()
        n_samples = sum(self.epoch() for _ in range(n_epochs))
        return n_samples / (time.monotonic() - start)


def dlbench_rate(args, path, n_workers, n_epochs, n_batches, scratch):
    settings = {
        "dataset.path": path,
        "loader.batch_size": args.batch_size,
        "loader.num_workers": n_workers,
        "loader.pin_memory": "false",
        "loader.shuffle": "true",
        "loader.drop_last": "true",
        "transform.pixels": "f32",
        "device.kind": "emulated",
        "device.step_ms": "0.001",
        "run.epochs": n_epochs + 1,
        "run.warmup_batches": n_batches,  # the first epoch, as above
        "run.repeats": 1,
    }
    if n_workers > 0:
        settings |= {"loader.prefetch_factor": 2, "loader.persistent_workers": "true"}
    command = [args.dlbench, "run", "--config", args.config, "--results", scratch, "--run-name", "peer", "--overwrite",
               "--json"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.decode())
    return json.loads(done.stdout)["cells"][0]["samples_per_s"]["median"]


def generated_data(args):
    """Writes the config's data set where it is not there yet, and says where that is."""
    subprocess.run([args.dlbench, "gen", "--config", args.config], stdout=sys.stderr, check=True)
    with open(args.config, encoding="utf-8") as lines:
        for line in lines:
            if line.split("=")[0].strip() == "path":
                return line.split('"')[1]
    raise SystemExit(f"{args.config}: no dataset.path")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dlbench", default="build/release/dlbench")
    parser.add_argument("--config", default="configs/quickstart.toml")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2, help="measured, per round")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()

    path = generated_data(args)
    n_samples = sum(1 for _, _, names in os.walk(path) for name in names if not name.startswith("."))
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}; {n_samples} images of {path}, "
          f"batches of {args.batch_size}, {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory() as scratch:
        for n_workers in args.workers:
            peer = Torch(path, args.batch_size, n_workers)
            ours, theirs = [], []
            for _ in range(args.rounds):
                ours.append(dlbench_rate(args, path, n_workers, args.epochs, n_samples // args.batch_size, scratch))
                theirs.append(peer.rate(args.epochs))
            ratio = statistics.median(a / b for a, b in zip(ours, theirs))
            print(f"{n_workers} workers: dlbench {statistics.median(ours):,.0f} samples/s, ImageFolder + DataLoader "
                  f"{statistics.median(theirs):,.0f} samples/s, ratio {ratio:.2f} (should reach {SHOULD_REACH:.0f}: "
                  f"{'yes' if ratio >= SHOULD_REACH else 'NO'})", flush=True)
            del peer
    return 0


if __name__ == "__main__":
    sys.exit(main())
