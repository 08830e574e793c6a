"""The user's code: found by its name, asked for what stands beside it, and called with the settings that it takes.
Part of loaders/torch/dlbench_serve.py."""

import errno
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
import types
import zlib

from dlbench_errors import Refused

ARGS = "python.args."
BESIDE = ("sampler", "batch_sampler", "collate_fn", "worker_init_fn")  # of the user's module, for DataLoader
NO_DATALOADERS = ("seed", "rank", "world")  # settings that DataLoader has no parameter for
# What DataLoader has where nothing else is set: for parameters without a default.
UNSET = {"prefetch_factor": None, "persistent_workers": False, "timeout": 0, "multiprocessing_context": None}


def named(spec, what, folder):
    """What "train.py:make" or "package.module:Class" names; files from that folder, because user's code may change the current one."""
    place, colon, attribute = spec.rpartition(":")
    if not colon or not place or not attribute:
        raise Refused("PYTHON_NAME", '%s = "%s" is not FILE.py:NAME or MODULE:NAME' % (what, spec))
    if place.endswith(".py"):
        module = of_file(os.path.normpath(os.path.join(folder, place)), spec, what, folder)
    else:
        module = importlib.import_module(place)
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            place = getattr(module, "__file__", None) or place
            raise Refused("PYTHON_NAME", '%s = "%s": %s has no %s' % (what, spec, place, attribute))
        found = getattr(found, part)
    if not callable(found):
        kind = type(found).__name__
        raise Refused("PYTHON_NAME", '%s = "%s": %s is of type %s: name a function or a class' % (what, spec, attribute, kind))
    return module, found


def of_file(path, spec, what, folder):
    """The module in a file: by the file's own name, where this leads to it."""
    if not os.path.isfile(path):
        raise Refused("PYTHON_NAME", '%s = "%s": there is no file %s' % (what, spec, path))
    if os.path.dirname(path) not in sys.path:
        sys.path.insert(0, os.path.dirname(path))
    name = os.path.basename(path)[:-3]
    try:
        module = importlib.import_module(name if "." not in name else alias(path))
        file = getattr(module, "__file__", None)
        if file and os.path.realpath(file) != os.path.realpath(path):  # a module of that name was there before
            module = importlib.import_module(alias(path))
        return module
    except ImportError as why:
        package = package_of(why, path, folder)
        if not package:
            raise
        advice = '%s: name it as a part of its package, %s = "%s%s"' % (why, what, package, spec[spec.rindex(":") :])
        raise ImportError(advice).with_traceback(why.__traceback__) from None


def package_of(why, path, folder):
    """By which name a module is a part of its package, if it failed for want of one; else None."""
    parts = os.path.relpath(path, folder)[:-3].split(os.sep)
    wants = str(why).startswith("attempted relative import") and traceback.extract_tb(why.__traceback__)[-1].filename == path
    return ".".join(parts) if wants and len(parts) > 1 and all(part.isidentifier() for part in parts) else None


def alias(path):
    """A name by which any process imports this file, spawned workers too: that of a module in dlbench's folder, which is on their path."""
    base = re.sub(r"\W", "_", os.path.basename(path)[:-3], flags=re.ASCII)
    name = "dlbench_file_%s_%08x" % (base[:60], zlib.crc32(os.fsencode(path)))
    stub = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    try:
        with open(stub, "w") as file:
            file.write("import dlbench_names\n\ndlbench_names.load(__name__, %a)\n" % path)
    except OSError as why:
        raise Refused("NO_SPACE" if why.errno == errno.ENOSPC else "IO", "%s: %s" % (stub, why.strerror)) from None
    importlib.invalidate_caches()
    return name


def load(name, path):
    """Makes a file the module of that name, in place of the one that is being imported."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def beside(module, dataset):
    """What the user's module names beside the data set, as arguments of DataLoader, and which of them it makes from the data set.
    What can be none, as a module of that name, is not."""
    out, made = {}, []
    for name in BESIDE:
        found = getattr(module, name, None)
        samples = name.endswith("sampler") and hasattr(found, "__iter__") and not isinstance(found, (str, bytes))
        if (callable(found) or samples) and not isinstance(found, types.ModuleType):
            makes = name.endswith("sampler") and (inspect.isclass(found) or not samples)
            if callable(found) and (makes or not samples):
                check_takes_one(found, name, module)
            out[name] = found(dataset) if makes else found
            if makes:
                made.append(name)
    return out, made


def refusal(function, *args, **named):
    """Why the function does not take these arguments, and its signature; None where it does, or where nobody can tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **named)
    except TypeError as why:
        return why, signature
    return None


def check_takes_one(function, name, module):
    """DataLoader's have one argument: the data set, a batch's samples, a worker's number. Others only share the name."""
    why = refusal(function, None)
    if why:
        raise Refused(
            "PYTHON_ARGS",
            "%s: %s of %s takes %s, and is called with one argument because of its name: give it another one, or name a function that "
            "makes the DataLoader by python.loader" % (why[0], name, getattr(module, "__file__", None) or module.__name__, why[1]),
        )


def arguments(settings):
    """What [python.args] holds."""
    return {key[len(ARGS) :]: value for key, value in settings.items() if key.startswith(ARGS) and value is not None}


def accepted(function, settings, args):
    """Those of the settings that the function has parameters for. **kwargs are DataLoader's. What `args` sets is left to it."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters, others = (), True
    else:
        others = any(one.kind == one.VAR_KEYWORD for one in parameters)
    own = {one.name: one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    out = {}
    for name, value in settings.items():
        usual = name == "in_order" and value  # older torches do not know it
        if name in own or (others and name not in NO_DATALOADERS and not usual):
            out[name] = value
    for name, value in UNSET.items():
        if name in own and name not in out and name not in args and own[name].default is inspect.Parameter.empty:
            out[name] = value
    return out


def called(function, what, spec, args):
    """What the function returns; arguments that it does not take are refused before it runs."""
    why = refusal(function, **args)
    if why:
        raise Refused("PYTHON_ARGS", '%s: %s = "%s" takes %s' % (why[0], what, spec, why[1]))
    out = function(**args)
    if out is None:
        raise Refused("PYTHON_NAME", '%s = "%s" returned None: does it end without a return?' % (what, spec))
    return out
