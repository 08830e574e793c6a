"""A real training loop for tests/gpu/acceptance: torchvision's ResNet-50 with random weights on a folder of JPEGs, timed by the GPU's
events. It knows nothing of dlbench.

usage: resnet.py host --batch 64                         CPU time that the loop spends on a step, as a share of the step
       resnet.py loop --batch 64 --images FOLDER --cells '[[WORKERS, PIN, BATCHES, WARMUP], ...]'

`make_step` is for `dlbench calibrate --python resnet.py:make_step`; $RESNET_BATCH is its batch.

`loop` prints one JSON object a line for each cell, as soon as it is measured. A step is from the event before the forward pass to the
event behind the optimiser. Window and idle time are those of tests/fidelity/timeline.py; the copy of a batch belongs to the idle time
before its step. The host runs one step ahead, as with device.prefetch = 1. --cpu: a ShuffleNet on the CPU, which only tests this script.
"""

import argparse
import collections
import json
import os
import sys
import time

import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fidelity"))
from loop import image_folder  # noqa: E402: it lies in another folder
from timeline import Window  # noqa: E402

CPU = "--cpu" in sys.argv or bool(os.environ.get("RESNET_CPU"))
DEVICE = torch.device("cpu" if CPU else "cuda")


class Clock:
    """Places in the GPU's work, on the host's clock."""

    def __init__(self):
        self.anchor, self.anchor_ns = self.mark(), 0
        if not CPU:
            self.anchor.synchronize()
        self.anchor_ns = time.monotonic_ns()

    @staticmethod
    def mark():
        if CPU:
            return time.monotonic_ns()
        event = torch.cuda.Event(enable_timing=True, blocking=True)
        event.record()
        return event

    @staticmethod
    def wait(mark):
        if not CPU:
            mark.synchronize()

    def ns(self, mark):
        return mark if CPU else self.anchor_ns + int(self.anchor.elapsed_time(mark) * 1e6)


class Training:
    """One step: forward in bfloat16, backward, SGD."""

    def __init__(self):
        torch.manual_seed(1)
        torch.backends.cudnn.benchmark = True
        make = torchvision.models.shufflenet_v2_x0_5 if CPU else torchvision.models.resnet50
        self.model = make(weights=None).to(DEVICE, memory_format=torch.channels_last).train()
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self, images, labels):
        images = images.to(memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=not CPU):
            loss = self.loss(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    @staticmethod
    def made(batch):
        """A batch that is on the device already."""
        images = torch.randn(batch, 3, 224, 224, device=DEVICE).contiguous(memory_format=torch.channels_last)
        return images, torch.randint(1000, (batch,), device=DEVICE)


def make_step():
    training = Training()
    images, labels = training.made(int(os.environ["RESNET_BATCH"]))
    return lambda: training.step(images, labels)


def host(args):
    """All threads of this process are the loop's: without a loader nothing else runs."""
    training, clock = Training(), Clock()
    images, labels = training.made(args.batch)
    shares = []
    for nth in range(4):
        ends, cpu_ns = [clock.mark()], time.process_time_ns()
        for _ in range(2 if CPU else 20):
            training.step(images, labels)
            ends.append(clock.mark())
            clock.wait(ends[-2])
        clock.wait(ends[-1])
        if nth > 0:  # the first one chooses its algorithms
            shares.append((time.process_time_ns() - cpu_ns) / (clock.ns(ends[-1]) - clock.ns(ends[0])))
    return {"host_busy_frac": min(sorted(shares)[1], 1.0), "shares": shares}


def make_loader(args, data, workers, pin):
    more = {"prefetch_factor": 2, "persistent_workers": True} if workers > 0 else {}
    return torch.utils.data.DataLoader(data, batch_size=args.batch, num_workers=workers, pin_memory=pin and not CPU, shuffle=True,
                                       drop_last=True, **more)


def add(window, clock, step):
    """Waits for the end of a step; true once the window has closed."""
    nth, n_samples, times = step
    clock.wait(times["end"])
    start_ns = clock.ns(times["start"])
    window.add(nth, n_samples, {**times, "copied": start_ns, "start": start_ns, "end": clock.ns(times["end"])})
    return window.closed


def measured(loader, training, window):
    """Trains until the window has closed."""
    clock, queued = Clock(), collections.deque()
    asked_ns = time.monotonic_ns()
    while True:
        nth = -1
        for nth, (images, labels) in enumerate(loader):
            in_hand_ns = time.monotonic_ns()
            images = images.to(DEVICE, non_blocking=True)
            labels = labels.to(DEVICE, non_blocking=True)
            start = clock.mark()
            training.step(images, labels)
            queued.append((nth, len(labels), {"asked": asked_ns, "in_hand": in_hand_ns, "start": start, "end": clock.mark()}))
            if len(queued) > 1 and add(window, clock, queued.popleft()):
                return window.document()
            asked_ns = time.monotonic_ns()
        if nth < 0:
            sys.exit(f"an epoch has no batch of {loader.batch_size}")


def loop(args):
    data, training = image_folder(args), Training()
    for _ in range(3):
        training.step(*training.made(args.batch))
    for workers, pin, batches, warmup in json.loads(args.cells):
        document = measured(make_loader(args, data, workers, pin), training, Window(workers, warmup, batches))
        print(json.dumps({"workers": workers, "pin": pin, **document}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("host", "loop"))
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--images", dest="path")
    parser.add_argument("--cells")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    if not CPU and not torch.cuda.is_available():
        sys.exit("torch finds no GPU")
    if args.what == "host":
        print(json.dumps({"torch": torch.__version__, **host(args)}))
    else:
        loop(args)


if __name__ == "__main__":
    main()
