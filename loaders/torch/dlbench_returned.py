"""What the user's functions returned: one data set or one loader, or why it is neither. Part of loaders/torch/dlbench_serve.py."""

import itertools
from collections.abc import Mapping

from dlbench_errors import Refused

MOST_FIELDS = 4  # images, labels, weights, ...: a tuple of so many arrays is one data set in parts


class Other(Exception):
    """In place of what the function is to return: what that is, and what to do."""


def kind(returned):
    return "an object of type %s" % type(returned).__name__


def is_loader(returned, data):
    """Whether it is DataLoader, or webdataset's pipeline behind one."""
    stages = getattr(returned, "pipeline", None)
    return isinstance(returned, data.DataLoader) or (isinstance(stages, list) and any(isinstance(one, data.DataLoader) for one in stages))


def is_in_parts(returned):
    """(images, labels): fewer arrays than each has rows."""
    if not isinstance(returned, tuple) or not 2 <= len(returned) <= MOST_FIELDS:
        return False
    rows = {shape[0] if shape else 0 for shape in (tuple(getattr(one, "shape", ())) for one in returned)}
    return len(rows) == 1 and rows.pop() > MOST_FIELDS


def check_single(returned, data):
    """That it is not a class, nor several data sets or loaders. data: torch.utils.data."""
    several = (data.Dataset, data.DataLoader)
    if isinstance(returned, type):
        raise Other("the class %s" % returned.__name__, "return an object of it")
    if isinstance(returned, (str, bytes)):
        raise Other("text", "return an object")
    if isinstance(returned, (list, tuple)) and any(isinstance(one, several) for one in returned):
        raise Other("a %s of %d" % (type(returned).__name__, len(returned)), "return one of them")


def dictionary(returned):
    names = ", ".join(repr(one)[:40] for one in itertools.islice(returned, 4))
    return Other("a dictionary with %s" % names, "return one of its values")


def check_samples(returned, data):
    """That DataLoader can read it."""
    check_single(returned, data)
    if is_loader(returned, data):
        raise Other(kind(returned), "the function that makes a loader is named by python.loader")
    if is_in_parts(returned):
        raise Other("a tuple of %d arrays" % len(returned), "torch.utils.data.TensorDataset makes a data set of them")
    if not isinstance(returned, data.IterableDataset) and not any(hasattr(returned, name) for name in ("__getitem__", "__getitems__")):
        raise Other(kind(returned), "return a Dataset, with __getitem__ and __len__, or an IterableDataset; what gives batches is named by python.loader")


def check_batches(returned, data, counts):
    """That it iterates over batches. A map-style data set would do so over samples, often without an end. counts: python.count is set."""
    check_single(returned, data)
    if isinstance(returned, Mapping):
        raise dictionary(returned)
    if not hasattr(returned, "__iter__") and not hasattr(returned, "__getitem__"):
        raise Other(kind(returned), "return what iterates over batches")
    gives_samples = hasattr(type(returned), "__getitem__") and not isinstance(returned, (list, tuple, data.IterableDataset))
    if gives_samples and not counts:
        advice = "it has __getitem__: name the function of a data set by python.dataset, or count the samples of its items by python.count"
        raise Other(kind(returned), advice)


def refused(what, spec, other):
    return Refused("PYTHON_NO_DATA", '%s = "%s" returned %s: %s' % (what, spec, *other.args))


def check_dataset(returned, spec, data):
    """spec: the value of python.dataset."""
    try:
        check_samples(returned, data)
    except Other as other:
        raise refused("python.dataset", spec, other) from None


def check_loader(returned, spec, data, counts):
    """spec: the value of python.loader."""
    try:
        check_batches(returned, data, counts)
    except Other as other:
        raise refused("python.loader", spec, other) from None


def check_numbered(dataset, spec):
    """That samples have the numbers which DataLoader makes up where no sampler is named: from 0 to a length."""
    if not hasattr(dataset, "__len__"):
        raise refused("python.dataset", spec, Other(kind(dataset), "it has no __len__: add it, name a sampler, or make it an IterableDataset"))
    if isinstance(dataset, Mapping) and len(dataset) > 0:
        try:
            is_numbered = 0 in dataset
        except Exception:  # it takes names alone
            is_numbered = False
        if not is_numbered:
            raise refused("python.dataset", spec, dictionary(dataset))
