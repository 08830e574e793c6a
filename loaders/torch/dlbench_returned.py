"""What the user's functions returned: one data set or one loader, or why it is neither. Part of loaders/torch/serve.py."""

from collections.abc import Mapping

from dlbench_errors import Refused


class Other(Exception):
    """In place of what the function is to return: what that is, and what to do."""


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
    return Other("a dictionary with %s" % ", ".join(map(repr, list(returned)[:4])), "return one of its values")


def check_samples(returned, data):
    """That DataLoader can read it."""
    check_single(returned, data)
    kind = "an object of type %s" % type(returned).__name__
    if isinstance(returned, data.DataLoader):
        raise Other(kind, "the function that makes a DataLoader is named by python.loader")
    if isinstance(returned, Mapping) and len(returned) > 0 and 0 not in returned:
        raise dictionary(returned)
    if not isinstance(returned, data.IterableDataset) and not hasattr(returned, "__getitem__"):
        raise Other(kind, "return a Dataset, with __getitem__ and __len__, or an IterableDataset; what gives batches is named by python.loader")


def check_batches(returned, data):
    """That it iterates over batches. A map-style data set would do so over samples, without an end."""
    check_single(returned, data)
    kind = "an object of type %s" % type(returned).__name__
    if isinstance(returned, Mapping):
        raise dictionary(returned)
    if isinstance(returned, data.Dataset) and not hasattr(returned, "__iter__"):
        raise Other(kind, "the function that makes a data set is named by python.dataset")
    if not hasattr(returned, "__iter__") and not hasattr(returned, "__getitem__"):
        raise Other(kind, "return what iterates over batches")


CHECKS = {"python.dataset": check_samples, "python.loader": check_batches}


def check(returned, what, spec, data):
    """what: "python.dataset" or "python.loader", whose value is spec."""
    try:
        CHECKS[what](returned, data)
    except Other as other:
        raise Refused("PYTHON_NO_DATA", '%s = "%s" returned %s: %s' % (what, spec, *other.args)) from None


def check_length(dataset):
    """Of data whose samples DataLoader numbers itself."""
    if not hasattr(dataset, "__len__"):
        name = type(dataset).__name__
        raise Refused("PYTHON_NO_DATA", "%s has no __len__: add it, name a sampler, or make it an IterableDataset" % name)
