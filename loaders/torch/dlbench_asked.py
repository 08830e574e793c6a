"""Which samples the workers were asked for: each batch brings the indices of its own, and the training loop's process keeps them in a log, which is
counted when the cell ends. Part of loaders/torch/dlbench_serve.py."""

import operator
from array import array

import torch

MOST = 1 << 24  # numbers that there is room for


def numbers_of(indices):
    """Those that a worker sends. Whatever operator.index() takes is a number: numpy's integers and tensors of one are. None: not known."""
    try:
        return [operator.index(i) for i in indices]
    except Exception:  # something else, in one of many ways
        return None


class Asked:
    """The log of a cell whose data set has so many samples."""

    def __init__(self, n_samples):
        self.n_samples, self.numbers, self.is_known = n_samples, array("i"), 0 < n_samples <= MOST

    def note(self, indices):
        if not self.is_known:
            return
        try:
            self.numbers.extend(indices)
            self.is_known = len(self.numbers) <= MOST
        except Exception:  # it brought none, or one that is no number of a sample
            self.is_known = False
        if not self.is_known:
            self.numbers = None

    def more_and_fewer(self, n_epochs):
        """How many samples were asked for more and less often than once an epoch; None: not known."""
        if not self.is_known:
            return None
        if not self.numbers:
            return 0, self.n_samples if n_epochs else 0
        numbers = torch.frombuffer(self.numbers, dtype=torch.int32, count=len(self.numbers), offset=0)
        if numbers.min() < 0 or numbers.max() >= self.n_samples:
            return None
        times = torch.bincount(numbers, minlength=self.n_samples)
        n_asked = torch.bincount(times, minlength=n_epochs + 1).tolist()  # how many samples were asked for so many times
        return sum(n_asked[n_epochs + 1 :]), sum(n_asked[:n_epochs])
