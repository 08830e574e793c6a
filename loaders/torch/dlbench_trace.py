"""Rings of a timeline, which a process of PyTorch writes to (core/measure/trace.h). Part of loaders/torch/dlbench_serve.py.

The memory is the cell's own. Its processes map it by a name that leads to the cell's descriptor, so that workers find it however they
were started. A thread writes to its own ring alone: nothing is locked.
"""

import mmap
import os
import struct
import threading

HEAD_BYTES = 64
HEAD = struct.Struct("<QQ")  # records so far, mask
COUNT_BYTES = 8
RECORD = struct.Struct("<QQQIHBB")  # struct dlb_trace_record
NO_SAMPLE, NO_BATCH = (1 << 64) - 1, (1 << 32) - 1
WINDOW = 255


class Ring:
    def __init__(self, memory, offset):
        self.memory, self.offset = memory, offset
        self.n, self.mask = HEAD.unpack_from(memory, offset)
        self.count = memoryview(memory)[offset : offset + COUNT_BYTES].cast("Q")  # pack_into clears first what it writes to

    def add(self, stage, start_ns, end_ns, sample=NO_SAMPLE):
        at = self.offset + HEAD_BYTES + (self.n & self.mask) * RECORD.size
        RECORD.pack_into(self.memory, at, start_ns, end_ns, sample, NO_BATCH, 0, stage, 0)
        self.n += 1
        self.count[0] = self.n

    def clear(self):
        self.n = 0
        self.count[0] = 0


class Rings:
    """A process's two rings: of its main thread, and of the other one that has stamps. `where`: from the set-up; `row` 0: the loop."""

    def __init__(self, where, row):
        with open(where["path"], "r+b") as file:
            memory = mmap.mmap(file.fileno(), os.fstat(file.fileno()).st_size)
        own = where["worker"][row - 1] if row else where["interpreter"]
        beside = where["sender"][row - 1] if row else where["pin"]
        self.own = Ring(memory, own)
        self.beside = None if beside is None else Ring(memory, beside)
        self.sample, self.main, self.other = NO_SAMPLE, threading.main_thread().ident, None

    def add(self, stage, start_ns, end_ns):
        thread = threading.get_ident()
        if thread == self.main:
            self.own.add(stage, start_ns, end_ns, self.sample)
        elif self.beside:
            self.other = self.other or thread  # a ring has one writer
            if thread == self.other:
                self.beside.add(stage, start_ns, end_ns)

    def add_if_known(self, stage, start_ns, end_ns):
        """Of what any thread may do: no ring becomes its own by that."""
        if threading.get_ident() in (self.main, self.other):
            self.add(stage, start_ns, end_ns)
