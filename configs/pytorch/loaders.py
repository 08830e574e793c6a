"""Three loaders of the same images, for configs/pytorch/loaders.toml: a Dataset for PyTorch's DataLoader, webdataset's WebLoader, SPDL.

dlbench gives make_webloader and make_spdl the settings that they have parameters for, and all three the values of [python.args].
"""

import glob
import os

import torch
from torchvision import datasets, transforms

TRANSFORM = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])


def make_dataset(images, shards):
    return datasets.ImageFolder(images, TRANSFORM)


def make_webloader(images, shards, batch_size, num_workers, seed, prefetch_factor=None, persistent_workers=False):
    import webdataset as wds

    urls = sorted(glob.glob(os.path.join(shards, "*.tar")))
    data = wds.WebDataset(urls, shardshuffle=len(urls), seed=seed, empty_check=False).shuffle(256)
    data = data.decode("pil").to_tuple("jpg;jpeg", "cls").map_tuple(TRANSFORM, int).batched(batch_size)
    return wds.WebLoader(
        data,
        batch_size=None,
        num_workers=num_workers,
        prefetch_factor=prefetch_factor,
        persistent_workers=persistent_workers,
    )


class Spdl:
    """Threads of one process instead of worker processes. Each epoch is a pipeline of its own."""

    def __init__(self, samples, batch_size, n_threads, n_ahead, seed):
        self.samples, self.batch_size, self.n_threads, self.n_ahead = samples, batch_size, n_threads, n_ahead
        self.order = torch.Generator().manual_seed(seed)

    @staticmethod
    def load(sample):
        path, label = sample
        return TRANSFORM(datasets.folder.default_loader(path)), label

    @staticmethod
    def collate(samples):
        return torch.stack([image for image, _ in samples]), torch.tensor([label for _, label in samples])

    def __iter__(self):
        from spdl.pipeline import PipelineBuilder

        shuffled = [self.samples[i] for i in torch.randperm(len(self.samples), generator=self.order).tolist()]
        builder = PipelineBuilder().add_source(shuffled).pipe(self.load, concurrency=self.n_threads)
        pipeline = builder.aggregate(self.batch_size).pipe(self.collate).add_sink(self.n_ahead).build(num_threads=self.n_threads)
        with pipeline.auto_stop():
            yield from pipeline.get_iterator()


def make_spdl(images, shards, batch_size, num_workers, seed, prefetch_factor=2):
    threads = max(num_workers, 1)
    return Spdl(datasets.ImageFolder(images).samples, batch_size, threads, threads * prefetch_factor, seed)
