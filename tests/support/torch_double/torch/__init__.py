"""A stand-in for torch, for tests of loaders/torch/serve.py where torch is not installed: what that script uses, and no more."""

import ctypes
import types

__version__ = "0.double"
uint8 = "uint8"
_threads = [4]


class Tensor:
    """Bytes with a shape: a row each sample."""

    def __init__(self, shape, value=0):
        self.shape, self.dtype = tuple(shape), "uint8"
        self.nbytes = 1
        for n in self.shape:
            self.nbytes *= n
        self.data = ctypes.create_string_buffer(bytes([value]) * self.nbytes, max(self.nbytes, 1))

    def dim(self):
        return len(self.shape)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, part):
        return Tensor((len(range(*part.indices(len(self)))),) + self.shape[1:])

    def zero_(self):
        return self

    def copy_(self, other):
        ctypes.memmove(self.data, other.data, other.nbytes)


def zeros(*shape, dtype=None):
    return Tensor(shape)


def empty_like(other):
    return Tensor(other.shape)


def set_num_threads(n):
    _threads[0] = n


def get_num_threads():
    return _threads[0]


class Generator:
    def manual_seed(self, seed):
        self.seed = seed


cuda = types.SimpleNamespace(is_available=lambda: False)
multiprocessing = types.SimpleNamespace(get_start_method=lambda: "fork")
