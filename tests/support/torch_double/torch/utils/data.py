"""Part of tests/support/torch_double: a DataLoader that loads in the training loop. Its workers are processes that wait to be killed; with
them it loads ahead, so that batches lie ready, in shared memory, and loads as the only worker would."""

import os
import signal
import types

from torch import Tensor


class Dataset:
    pass


class IterableDataset(Dataset):
    pass


class IterDataPipe(IterableDataset):
    pass


class ConcatDataset(Dataset):
    pass


class TensorDataset(Dataset):
    pass


class DistributedSampler:
    """A share of the numbers for each rank, equally many; the first ones again where they do not divide."""

    def __init__(self, dataset, num_replicas, rank, shuffle, seed, drop_last):
        n_each = -(-len(dataset) // num_replicas)
        self.mine = [i % len(dataset) for i in range(rank, n_each * num_replicas, num_replicas)]

    def set_epoch(self, epoch):
        pass

    def __iter__(self):
        return iter(self.mine)


distributed = types.SimpleNamespace(DistributedSampler=DistributedSampler)
_shared = [False]
_info = [None]


def stacked(samples):
    return Tensor((len(samples),) + samples[0].shape, shared=_shared[0])


default_collate = stacked


def get_worker_info():
    return _info[0]


class DataLoader:
    def __init__(self, dataset, batch_size=1, shuffle=False, num_workers=0, pin_memory=False, drop_last=False, timeout=0,
                 prefetch_factor=None, persistent_workers=False, generator=None, collate_fn=None, worker_init_fn=None,
                 sampler=None, batch_sampler=None):
        if isinstance(dataset, IterableDataset) and (shuffle and not isinstance(dataset, IterDataPipe) or sampler or batch_sampler):
            raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle and sampler")
        self.sampler, self.batches, self.shuffle = sampler, batch_sampler, shuffle
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.collate, self.init = num_workers, collate_fn or stacked, worker_init_fn
        self.n_ahead = num_workers * (prefetch_factor or 0)

    def __iter__(self):
        ahead, n_ahead = [], 0
        for batch in self.each():
            ahead.append(batch)
            if len(ahead) > n_ahead:
                n_ahead = self.n_ahead
                yield ahead.pop(0)
        yield from ahead

    def fetched(self, numbers):
        together = getattr(self.dataset, "__getitems__", None)
        return together(numbers) if together else [self.dataset[i] for i in numbers]

    def each(self):
        _shared[0] = self.num_workers > 0
        workers = [os.fork() for _ in range(self.num_workers)] if self.num_workers else []
        if 0 in workers:
            os.setpgid(0, 0)  # as badly as a worker can hide
            while True:
                signal.pause()
        _info[0] = types.SimpleNamespace(id=0, num_workers=1, dataset=self.dataset) if workers else None
        if workers and self.init:
            self.init(0)
        for batch in self.batches or []:
            yield self.collate(self.fetched(batch))
        if self.batches:
            return
        is_stream = isinstance(self.dataset, IterableDataset)
        taken = []
        for one in iter(self.dataset) if is_stream else self.sampler or range(len(self.dataset)):
            taken.append(one)
            if len(taken) == self.batch_size:
                yield self.collate(taken if is_stream else self.fetched(taken))
                taken = []
        if taken and not self.drop_last:
            yield self.collate(taken if is_stream else self.fetched(taken))
