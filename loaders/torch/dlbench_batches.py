"""Counts a batch's samples and bytes, and copies it as .to() does from pageable memory. Part of loaders/torch/dlbench_serve.py."""

import ctypes
import dataclasses
import mmap
import os
from typing import Any, NamedTuple

from dlbench_errors import Refused

MOST_SAMPLES = (1 << 32) - 1  # of a batch
PLAIN = {int, float, complex, bool, str, bytes, type(None)}
LOOKED_AT = 1000  # a sequence that begins with so many plain values has no others
LARGEST_NUMBER = 16  # bytes, of torch's types
NUMBERS = "biufc"  # kinds of numpy's types
# By which functions tensors that are not one block give the blocks that they consist of: COO, CSR, CSC, nested.
BLOCKS = (
    ("_indices", "_values"),
    ("crow_indices", "col_indices", "values"),
    ("ccol_indices", "row_indices", "values"),
    ("values", "offsets"),
    ("values",),
)


def n_of(samples):
    """How many samples a batch is made of, from what collate_fn is given; 0: a __getitems__ gave something of its own."""
    return len(samples) if isinstance(samples, (list, tuple)) else 0


def n_bytes_of(tensor):
    """Of its block; torch 2.0 has no nbytes."""
    return tensor.numel() * tensor.element_size()


class Counted(NamedTuple):
    """A batch, and of how many samples it was made."""

    batch: Any
    n: int


class Count:
    """A collate_fn that counts them, where there are no time stamps."""

    def __init__(self, function):
        self.function = function

    def __call__(self, samples):
        n = n_of(samples)  # the function may consume them
        return Counted(self.function(samples), n)


class Batches:
    def __init__(self, torch, count):
        self.torch, self.count, self.kept = torch, count, []
        try:
            import numpy
        except ImportError:
            numpy = None
        self.numpy = numpy

    def tensors(self, batch, out):
        """Its tensors, in the order in which they are there; arrays of numbers as tensors."""
        if isinstance(batch, self.torch.Tensor):
            out.append(batch)
        elif isinstance(batch, (list, tuple)):
            if not PLAIN.issuperset(map(type, batch[:LOOKED_AT])):
                for one in batch:
                    self.tensors(one, out)
        elif type(batch) in PLAIN:
            pass
        elif callable(getattr(batch, "values", None)) and hasattr(batch, "keys"):  # values of a table of pandas are no function
            for one in batch.values():
                self.tensors(one, out)
        elif dataclasses.is_dataclass(batch):
            for field in dataclasses.fields(batch):
                self.tensors(getattr(batch, field.name, None), out)
        elif self.numpy and isinstance(batch, self.numpy.ndarray) and batch.dtype.kind in NUMBERS:
            out.append(self.of_array(batch))
        return out

    def of_array(self, array):
        """A tensor of the same bytes: of the same numbers, if torch has their type, their order of bytes and their strides."""
        try:
            return self.torch.as_tensor(array)
        except (TypeError, ValueError):
            whole = self.numpy.ascontiguousarray(array)
            n_rows = len(whole)
            return self.torch.as_tensor(whole.reshape(-1).view("u1").reshape(n_rows, whole.nbytes // max(n_rows, 1)))

    def blocks(self, tensors):
        """The memory of tensors, as tensors that are one block each."""
        out = []
        for one in tensors:
            if one.layout is self.torch.strided and not getattr(one, "is_nested", False):
                out.append(one.detach() if one.requires_grad else one)
            else:
                out += blocks_of(one)
        return out

    def counted(self, batch):
        answer = self.count(batch)
        try:
            n = int(answer)
        except (TypeError, ValueError, OverflowError):
            n = 0
        if not 1 <= n <= MOST_SAMPLES:
            raise Refused("PYTHON_BATCH_UNKNOWN", "python.count gives a %s that is no number of samples" % type(answer).__name__)
        return n

    def measure(self, batch, n_made_of=0):
        """What of it is copied, how many samples it has, and of how many bytes. n_made_of: how many it was made of, if that is known."""
        tensors = self.tensors(batch, [])
        blocks = self.blocks(tensors)
        n_bytes = 0
        for one in blocks:
            n_bytes += n_bytes_of(one)
        if self.count is not None:
            return blocks, self.counted(batch), n_bytes
        if not tensors and not (n_made_of and isinstance(batch, (list, tuple, dict)) and batch):  # of text, say
            raise Refused(
                "PYTHON_BATCH_UNKNOWN",
                "a batch is %s without a tensor in it: let python.count name a function that counts its samples"
                % type(batch).__name__,
            )
        sizes = [one.size(0) for one in tensors if one.dim() > 0]
        n_samples = n_made_of or (sizes[0] if sizes else 1)
        if n_samples == 0 or (sizes and not any(sizes)):  # an endless loader of such would never end
            raise Refused(
                "PYTHON_BATCH_UNKNOWN",
                "a batch has no sample: its tensors have 0 rows. If that is right, let python.count name a function that counts its "
                "samples",
            )
        return blocks, n_samples, n_bytes

    def copy(self, blocks):
        for i, one in enumerate(blocks):
            if i == len(self.kept):
                self.kept.append(Kept(self.torch))
            self.kept[i].like(one).copy_(one)


def blocks_of(tensor):
    for names in BLOCKS:
        try:
            return [getattr(tensor, name)().detach() for name in names]
        except Exception:  # what a layout does not have is told in many ways
            continue
    return []


class Kept:
    """Where one tensor of each batch is copied to. Its memory grows and is never given back: a shape that changes costs nothing."""

    def __init__(self, torch):
        self.torch, self.memory, self.typed, self.known, self.view = torch, None, None, None, None

    def like(self, one):
        """A tensor of the same shape, type and order in memory."""
        stride = one.stride()
        known = (one.shape, stride, one.dtype, one.device)
        if known != self.known:
            try:
                self.make_room(one)
                if not one.is_contiguous():  # as .to() keeps it, without gaps
                    stride = self.torch.empty_like(one, device="meta").stride()
                self.view = self.typed.as_strided(one.shape, stride)
            except (RuntimeError, TypeError):  # a type that bytes cannot be seen as
                self.view = self.torch.empty_like(one)
            self.known = known
        return self.view

    def make_room(self, one):
        torch, n_bytes = self.torch, n_bytes_of(one)
        if self.memory is None or n_bytes > len(self.memory) or self.memory.device != one.device:
            more = n_bytes // 4 if self.memory is not None else 0  # shapes differ: the next may be larger
            n_bytes = -(-(n_bytes + more) // LARGEST_NUMBER) * LARGEST_NUMBER
            self.memory, self.typed = torch.empty(n_bytes, dtype=torch.uint8, device=one.device).zero_(), None
        if self.typed is None or self.typed.dtype != one.dtype:
            self.typed = self.memory.view(one.dtype)


class Pages:
    """Of a kept batch of a worker, which lies in shared memory: a copy of it finds its pages unmapped, as that of each new batch does."""

    def __init__(self, tensors):
        libc = ctypes.CDLL(None)
        self.madvise, page = libc.madvise, os.sysconf("SC_PAGESIZE")
        self.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        storages = (one.untyped_storage() for one in tensors if one.is_cpu and one.is_shared())  # MADV_DONTNEED erases private memory
        sizes = {storage.data_ptr(): storage.nbytes() for storage in storages}  # the elements of one tensor may overlap
        ranges = ((-(-start // page) * page, (start + n_bytes) // page * page) for start, n_bytes in sizes.items())
        self.ranges = [(start, end - start) for start, end in ranges if start < end]

    def unmap(self):
        for start, n_bytes in self.ranges:
            self.madvise(start, n_bytes, mmap.MADV_DONTNEED)
