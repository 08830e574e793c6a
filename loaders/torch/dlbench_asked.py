"""Which samples the workers were asked for: a log of indices for each row, in a file that its process maps. Part of loaders/torch/serve.py.

A batch's indices are copied at once, and counted when the cell ends: what counts each of them as it comes takes seven times as long, and two
processes that count at one place lose some.
"""

import mmap
import os
import struct

import torch

NUMBER = struct.Struct("<i")
N_INDICES, IS_SHORT, HEAD = 0, 1, 2  # in front of them: how many there are; 1: some are not in the log
FIRST, MOST = 4096, 1 << 24  # numbers that there is room for: in a log at first, in all logs at the most


def path_of(board, row):
    return "%s.asked%d" % (board, row)


def make(board, n_rows):
    for row in range(n_rows):
        with open(path_of(board, row), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, FIRST * NUMBER.size)  # a full disk kills who writes to a map


def mapped(path):
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


class Asked:
    """The log of a row, for the process that writes to it. One that was started in place of another goes on behind it."""

    def __init__(self, board, row, n_rows):
        self.path, self.most = path_of(board, row), MOST // n_rows
        self.open()

    def open(self):
        self.memory = mapped(self.path)
        self.head = memoryview(self.memory)[: HEAD * NUMBER.size].cast("i")
        self.room = len(self.memory) // NUMBER.size - HEAD

    def grow(self, n):
        with open(self.path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, min(HEAD + max(2 * self.room, n), self.most) * NUMBER.size)
        self.open()

    def note(self, indices):
        """Whatever operator.index() takes is a number: numpy's integers and tensors of one are."""
        if self.head[IS_SHORT]:
            return
        at, n = self.head[N_INDICES], len(indices)
        try:
            if at + n > self.room:
                self.grow(at + n)
            struct.pack_into("%di" % n, self.memory, (HEAD + at) * NUMBER.size, *indices)
        except Exception:  # something else, in one of many ways; or there is no room
            self.head[IS_SHORT] = 1
        else:
            self.head[N_INDICES] = at + n

    def forget(self):
        self.head[N_INDICES] = self.head[IS_SHORT] = 0


def more_and_fewer(board, n_rows, n_samples, n_epochs):
    """How many samples were asked for more and less often than once an epoch; None: not known."""
    times = None
    for row in range(n_rows):
        memory = mapped(path_of(board, row))
        n, is_short = struct.unpack_from("%di" % HEAD, memory)
        if is_short:
            return None
        if n == 0:
            continue
        numbers = torch.frombuffer(memory, dtype=torch.int32, count=n, offset=HEAD * NUMBER.size)
        if numbers.min() < 0 or numbers.max() >= n_samples:
            return None
        counts = torch.bincount(numbers, minlength=n_samples)
        times = counts if times is None else times + counts
    if times is None:
        return 0, n_samples if n_epochs else 0
    n_asked = torch.bincount(times, minlength=n_epochs + 1).tolist()  # how many samples were asked for so many times
    return sum(n_asked[n_epochs + 1 :]), sum(n_asked[:n_epochs])
