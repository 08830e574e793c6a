"""What PyTorch does on the same GPU, for tests/gpu/acceptance to show beside dlbench.

usage: torch_peer.py copy BYTES...            bare loops of copies, from pinned and from pageable memory
       torch_peer.py loader BATCHES BYTES...  DataLoader with one worker and pin_memory, a sample of BYTES a batch, copied to the GPU

Prints one JSON object of rates in bytes/s. On a machine without a GPU it leaves with a reason; --cpu copies to the host's own
memory, which tests this script and says nothing of a GPU.
"""

import json
import sys
import time

import torch

CPU = "--cpu" in sys.argv
DEVICE = "cpu" if CPU else "cuda"
RING = 2


def wait():
    if not CPU:
        torch.cuda.synchronize()


def target(n_bytes):
    return [torch.empty(n_bytes, dtype=torch.uint8, device=DEVICE) for _ in range(RING)]


def copies(n_bytes, pinned):
    ring = [torch.ones(n_bytes, dtype=torch.uint8, pin_memory=pinned and not CPU) for _ in range(RING)]
    to = target(n_bytes)
    n = max(8, min(2000, 4 * 10**9 // n_bytes)) if pinned else max(4, min(200, 10**9 // n_bytes))
    for i in range(4):
        to[i % RING].copy_(ring[i % RING], non_blocking=pinned)
    wait()
    begin = time.perf_counter()
    for i in range(n):
        to[i % RING].copy_(ring[i % RING], non_blocking=pinned)
    wait()
    return n * n_bytes / (time.perf_counter() - begin)


class Source(torch.utils.data.Dataset):
    """Samples that cost nothing to make: what is left is collating, shared memory, the pin thread and the copy."""

    def __init__(self, n, n_bytes):
        self.n, self.block = n, torch.ones(n_bytes, dtype=torch.uint8)

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return self.block


def loader(n, n_bytes, warmup=4):
    batches = torch.utils.data.DataLoader(Source(n + warmup, n_bytes), batch_size=1, num_workers=1, pin_memory=not CPU)
    to, begin = target(n_bytes), 0.0
    for i, batch in enumerate(batches):
        if i == warmup:
            wait()
            begin = time.perf_counter()
        to[i % RING].copy_(batch[0], non_blocking=True)
    wait()
    return (n - 1) * n_bytes / (time.perf_counter() - begin)


def main():
    words = [word for word in sys.argv[1:] if word != "--cpu"]
    if not CPU and not torch.cuda.is_available():
        sys.exit("torch finds no GPU")
    rates = {"torch": torch.__version__}
    if words[0] == "copy":
        for n_bytes in map(int, words[1:]):
            for name, pinned in (("pinned", True), ("pageable", False)):
                rates[f"{n_bytes} {name}"] = copies(n_bytes, pinned)
    else:
        for n_bytes in map(int, words[2:]):
            rates[str(n_bytes)] = loader(int(words[1]), n_bytes)
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
