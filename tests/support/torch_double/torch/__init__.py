"""A stand-in for torch, for tests of loaders/torch/dlbench_serve.py where torch is not installed: what that script uses, and no more."""

import ctypes
import mmap
import os
import resource
import time
import types

__version__ = "0.double"
uint8, int32 = "uint8", "int32"
strided = "strided"
_threads = [4]


class Tensor:
    """Bytes with a shape: a row each sample."""

    requires_grad, is_cpu = False, True

    def __init__(self, shape, value=0, shared=False, data=None):
        self.shape, self.dtype, self.layout, self.device = tuple(shape), uint8, strided, "cpu"
        n_bytes = self.numel()
        if data is not None:
            self.data = data
        elif shared:
            self.memory = mmap.mmap(-1, max(n_bytes, 1))
            self.data = (ctypes.c_char * max(n_bytes, 1)).from_buffer(self.memory)
            ctypes.memset(self.data, value, n_bytes)
        else:
            self.data = ctypes.create_string_buffer(bytes([value]) * n_bytes, max(n_bytes, 1))
        self.shared = shared

    def numel(self):
        n = 1
        for each in self.shape:
            n *= each
        return n

    def element_size(self):
        return 1

    def dim(self):
        return len(self.shape)

    def size(self, i):
        return self.shape[i]

    def stride(self):
        return None  # all of them are contiguous

    def is_contiguous(self):
        return True

    def __len__(self):
        return self.shape[0]

    def view(self, dtype):
        return self  # there is one type alone

    def as_strided(self, shape, stride):
        return Tensor(shape, shared=self.shared, data=self.data)

    def expand(self, *shape):
        return self.as_strided(shape, None)

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=self.data_ptr, nbytes=lambda: ctypes.sizeof(self.data))

    def is_shared(self):
        return self.shared

    def data_ptr(self):
        return ctypes.addressof(self.data)

    def zero_(self):
        return self

    def copy_(self, other):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        ctypes.memmove(self.data, other.data, other.numel())
        time.sleep(float(os.environ.get("TORCH_DOUBLE_COPY_MS", 0)) / 1000)
        if "TORCH_DOUBLE_FAULTS" in os.environ:
            with open(os.environ["TORCH_DOUBLE_FAULTS"], "a") as file:
                file.write("%d\n" % (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before))


def zeros(*shape, dtype=None):
    return Tensor(shape)


def empty(*shape, dtype=None, device=None):
    return Tensor(shape)


class Numbers(list):
    """A tensor of integers."""

    tolist = list.copy

    def min(self):
        return min(self)

    def max(self):
        return max(self)

    def __add__(self, other):
        return Numbers(a + b for a, b in zip(self, other, strict=True))


def frombuffer(buffer, dtype, count, offset):
    return Numbers(memoryview(buffer).cast("B")[offset:].cast({int32: "i"}[dtype])[:count])


def bincount(numbers, minlength=0):
    counts = Numbers([0] * max(minlength, max(numbers) + 1))
    for i in numbers:
        counts[i] += 1
    return counts


def set_num_threads(n):
    _threads[0] = n


def get_num_threads():
    return _threads[0]


class Generator:
    def manual_seed(self, seed):
        self.seed = seed


cuda = types.SimpleNamespace(is_available=lambda: False)
multiprocessing = types.SimpleNamespace(get_start_method=lambda: "fork")
