"""Which samples the workers were asked for: a log of indices for each row, in a file that its process maps. Part of loaders/torch/serve.py.

A batch's indices are copied at once, and counted when the cell ends: what counts each of them as it comes takes seven times as long, and two
processes that count at one place lose some.
"""

import contextlib
import mmap
import os
import struct

import torch

NUMBER = struct.Struct("<i")
HEAD = 2  # numbers: how many indices follow; 1: some are not in the log
FIRST, MOST = 4096, 1 << 26  # numbers that a log has room for: at first, and at the most


def path_of(board, row):
    return "%s.asked%d" % (board, row)


def make(board, n_rows):
    for row in range(n_rows):
        with open(path_of(board, row), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, FIRST * NUMBER.size)  # a full disk kills who writes to a map


class Asked:
    """The log of a row, for the process that writes to it. One that was started in place of another goes on behind it."""

    def __init__(self, board, row):
        self.path = path_of(board, row)
        self.map()

    def map(self):
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.head = memoryview(self.memory)[: HEAD * NUMBER.size].cast("i")
        self.room = len(self.memory) // NUMBER.size - HEAD

    def grow(self, n):
        with open(self.path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, min(max(2 * self.room, HEAD + n), MOST) * NUMBER.size)
        self.map()

    def note(self, indices):
        """Whatever operator.index() takes is a number: numpy's integers and tensors of one are."""
        if self.head[1]:
            return
        at, n = self.head[0], len(indices)
        try:
            if at + n > self.room:
                self.grow(at + n)
            struct.pack_into("%di" % n, self.memory, (HEAD + at) * NUMBER.size, *indices)
        except Exception:  # something else, in one of many ways; or there is no room
            self.head[1] = 1
        else:
            self.head[0] = at + n

    def forget(self):
        self.head[0] = self.head[1] = 0


def wrong(board, n_rows, n_samples, n_epochs):
    """How many samples were asked for more and less often than once an epoch; None: not known."""
    indices = bytearray()
    for row in range(n_rows):
        with open(path_of(board, row), "rb") as file, contextlib.closing(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)) as memory:
            n, has_others = struct.unpack_from("%di" % HEAD, memory)
            indices += memory[HEAD * NUMBER.size : (HEAD + n) * NUMBER.size]
        if has_others:
            return None
    if not indices:
        return 0, n_samples if n_epochs else 0
    try:
        times = torch.bincount(torch.frombuffer(indices, dtype=torch.int32), minlength=n_samples)
    except RuntimeError:  # a negative one
        return None
    if len(times) > n_samples:
        return None
    n_asked = torch.bincount(times, minlength=n_epochs + 1).tolist()  # how many samples were asked for so many times
    return sum(n_asked[n_epochs + 1 :]), sum(n_asked[:n_epochs])
