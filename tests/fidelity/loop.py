"""A plain PyTorch training loop, timed. It knows nothing of dlbench: data sets and DataLoader are written as their users write them.

There is no accelerator. A step is a deadline on a timeline: it starts when its batch is in hand and the step before has ended, and
takes --step-ms. Each batch is copied once to a buffer that is kept, as .to() copies from pageable memory. The host runs one step
ahead: behind the start of step k it waits for the end of step k - 1, then asks for the next batch.

The window runs from the start of the first step after the warm-up to the start of the step after the last measured one. It closes at
the place of a round of the workers where it opened. Prints one JSON document: rate, idle share of the device and what the device
lacked meanwhile, in milliseconds a step.

usage: loop.py --data files|webdataset|hdf5|tokens --path PATH --step-ms 20 [--workers 2] [--prefetch 2] [--batch-size 32]
Exits 77 where a package is missing.
"""

import argparse
import gc
import glob
import json
import os
import sys
import time

from timeline import Timeline, Window

try:
    import numpy as np
    import torch
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); pip install torch torchvision h5py webdataset numpy")
    sys.exit(77)

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
WEIGHT_BYTES = 33500000  # just below what glibc's malloc takes note of


def image_transform():
    from torchvision import transforms
    return transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])


def image_folder(args):
    import torchvision
    return torchvision.datasets.ImageFolder(args.path, image_transform())


def web_dataset(args):
    import webdataset
    shards = sorted(glob.glob(os.path.join(args.path, "*.tar")))
    return (webdataset.WebDataset(shards, shardshuffle=len(shards), seed=args.seed)
            .shuffle(1000)
            .decode("pil")
            .to_tuple("jpg", "cls")
            .map_tuple(image_transform()))


class Hdf5(torch.utils.data.Dataset):
    """Each worker opens the file, at its first sample: an open h5py.File does not survive a fork."""

    def __init__(self, path):
        import h5py
        self.open, self.path, self.file = h5py.File, path, None
        with h5py.File(path, "r") as file:
            self.n = len(file["data"])

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.file is None:
            self.file = self.open(self.path, "r")
            self.data, self.label = self.file["data"], self.file["label"]
        return torch.from_numpy(self.data[i]), int(self.label[i])


class Tokens(torch.utils.data.Dataset):
    """nanoGPT's x and y, by number instead of at random offsets."""

    def __init__(self, path, seq_len):
        self.tokens, self.seq_len = np.memmap(path, dtype=np.uint16, mode="r"), seq_len

    def __len__(self):
        return (len(self.tokens) - 1) // self.seq_len

    def __getitem__(self, i):
        at, n = i * self.seq_len, self.seq_len
        x = torch.from_numpy(self.tokens[at:at + n].astype(np.int64))
        y = torch.from_numpy(self.tokens[at + 1:at + 1 + n].astype(np.int64))
        return x, y


def one_file(folder, pattern):
    found = glob.glob(os.path.join(folder, pattern))
    if len(found) != 1:
        sys.exit(f"{folder}: {len(found)} files are called {pattern}, one is expected")
    return found[0]


DATA = {
    "files": image_folder,
    "webdataset": web_dataset,
    "hdf5": lambda args: Hdf5(one_file(args.path, "*.h5")),
    "tokens": lambda args: Tokens(one_file(args.path, "*.bin"), args.seq_len),
}


def move_model():
    """A training script makes its model on the CPU and moves it to the accelerator, which frees the weights here. That sets how much free
    memory glibc's malloc keeps. Without a model a loop is a lottery: see docs/fidelity.md."""
    torch.empty(WEIGHT_BYTES, dtype=torch.uint8)


def make_loader(args):
    dataset = DATA[args.data](args)
    more = {"prefetch_factor": args.prefetch, "persistent_workers": True} if args.workers > 0 else {}
    if not isinstance(dataset, torch.utils.data.IterableDataset):
        more["shuffle"] = True
    return torch.utils.data.DataLoader(dataset, batch_size=args.batch_size, num_workers=args.workers, drop_last=True, **more)


class Buffer:
    """What batches are copied to; its memory is kept."""

    def __init__(self):
        self.kept = []

    def copy(self, batch):
        tensors = [part for part in batch if isinstance(part, torch.Tensor)]
        if not self.kept:
            self.kept = [torch.zeros_like(tensor) for tensor in tensors]
        for kept, tensor in zip(self.kept, tensors):
            kept.copy_(tensor)


def train(loader, args):
    window, device, buffer = Window(args.workers, args.warmup, args.batches), Timeline(args.step_ms), Buffer()
    asked_ns = time.monotonic_ns()
    while not window.closed:
        nth = 0
        for batch in loader:
            in_hand_ns = time.monotonic_ns()
            buffer.copy(batch)
            copied_ns = time.monotonic_ns()
            start_ns = device.step()
            window.add(nth, len(batch[0]), {"asked": asked_ns, "in_hand": in_hand_ns, "copied": copied_ns, "start": start_ns,
                                            "end": device.free_ns})
            if window.closed:
                break
            device.run_ahead()
            nth += 1
            asked_ns = time.monotonic_ns()
        if nth == 0:
            sys.exit(f"{args.path}: an epoch has no whole batch")
    return window.document()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", choices=DATA, required=True)
    parser.add_argument("--path", required=True)
    parser.add_argument("--step-ms", type=float, required=True, help="0: the loader's own rate")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--prefetch", type=int, default=2, help="prefetch_factor")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seq-len", type=int, default=1024, help="of tokens")
    parser.add_argument("--batches", type=int, default=30, help="measured")
    parser.add_argument("--warmup", type=int, default=10, help="batches before that")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    move_model()
    loader = make_loader(args)
    gc.collect()  # where the next full collection falls is a lottery, too
    document = train(loader, args)
    document |= {"torch": torch.__version__, "python": sys.version.split()[0], "threads": torch.get_num_threads()}
    print(json.dumps(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
