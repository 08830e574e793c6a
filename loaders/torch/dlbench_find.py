"""Finds what holds transforms in the user's data set: a Compose, whatever its class, and torch.nn.Sequential. Part of loaders/torch/serve.py.

It looks at what objects hold, within lists and dictionaries too, and at what the code of __getitem__ names: globals of its module, of
modules that it names, what it closes over, and what functions and methods that it calls name. Nothing of the user's runs for that.
"""

import contextlib
import gc
import inspect
import itertools
import types

PLAIN = (int, float, complex, bool, str, bytes, type(None), type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
ASKED = ("__getitem__", "__getitems__", "__iter__")
IMAGES = {"torchvision", "PIL", "Image", "cv2", "imread", "imdecode", "imageio", "skimage", "accimage", "read_image", "decode_image", "decode_jpeg"}
DEPTH = 4  # of objects within objects
MOST_HELD = 16  # of a list or a dictionary: it may hold all samples
MOST_LOOKED_AT = 5000  # objects and functions
# Py_TPFLAGS_MANAGED_DICT of a class: the attributes lie within the object itself. Who reads its __dict__ makes one, and each attribute takes the
# user's code longer from then on: 15 ns in Python 3.11.
WITHIN = 1 << 4


def attributes_of(owner):
    """What an object holds, by name: in its __dict__ and in slots. Nothing that is computed: properties may do anything."""
    out = {}
    for kind in type(owner).__mro__:
        for name, one in vars(kind).items():
            if isinstance(one, types.MemberDescriptorType):
                try:
                    out[name] = one.__get__(owner)
                except AttributeError:  # it was never set
                    continue
    found = getattr(owner, "__dict__", None)
    return {**out, **found} if isinstance(found, dict) else out


def attribute_of(owner, name, default=None):
    """One of them."""
    in_class = next((vars(kind)[name] for kind in type(owner).__mro__ if name in vars(kind)), None)
    if in_class is not None and not isinstance(in_class, types.MemberDescriptorType):  # it may be computed
        return attributes_of(owner).get(name, default)
    try:
        return object.__getattribute__(owner, name)
    except AttributeError:
        return default


def values_of(owner):
    """All of them, without their names."""
    held = gc.get_referents(owner) if type(owner).__flags__ & WITHIN else [{}]
    if any(isinstance(one, dict) for one in held):  # which may be its __dict__
        return list(attributes_of(owner).values())
    return held


def is_sequential(owner):
    """torch.nn.Sequential itself: what a class derived from it does with its modules is not known."""
    return type(owner).__name__ == "Sequential" and type(owner).__module__ == "torch.nn.modules.container"


def steps_of(owner):
    """The transforms that an object calls one after the other; None: it is no such object."""
    if isinstance(owner, PLAIN):
        return None
    if is_sequential(owner):
        return list(owner._modules.values())
    steps = attribute_of(owner, "transforms")
    return list(steps) if type(steps) in (list, tuple) and steps and all(map(callable, steps)) else None


def set_steps(owner, steps):
    """Puts others in their place, unless the class forbids it."""
    if is_sequential(owner):
        owner._modules.update(zip(owner._modules, steps))
    elif isinstance(owner.transforms, list):
        owner.transforms[:] = steps
    else:
        with contextlib.suppress(Exception):
            owner.transforms = tuple(steps)


def held_by(owner):
    if isinstance(owner, dict):
        return list(itertools.islice(dict.values(owner), MOST_HELD))
    for kind in list, tuple:
        if isinstance(owner, kind):  # a class derived from it may do anything
            return list(itertools.islice(kind.__iter__(owner), MOST_HELD))
    return values_of(owner)


def names_in(code):
    """What a function's code names, in what is defined within it, too."""
    names = list(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            names += names_in(one)
    return names


def closed_over(function):
    out = []
    for cell in function.__closure__ or ():
        try:
            out.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            continue
    return out


def function_of(found):
    """That of a method; None: it is none that has code."""
    found = getattr(found, "__func__", None) or getattr(found, "fget", None) or found
    return found if isinstance(found, types.FunctionType) else None


def opens_images(function):
    """Whether that is what it does, as far as its code names what does: `loader` may open anything."""
    function = getattr(function, "func", function)  # of functools.partial
    code = getattr(function_of(function), "__code__", None)
    home = str(getattr(function, "__module__", "")).split(".")[0]
    return home in IMAGES or bool(code and IMAGES.intersection(names_in(code)))


class Search:
    def __init__(self):
        self.found, self.seen, self.kept = [], set(), []

    def is_new(self, one):
        if id(one) in self.seen or len(self.seen) >= MOST_LOOKED_AT:
            return False
        self.seen.add(id(one))
        self.kept.append(one)  # so that no other object gets its number
        return True

    def visit(self, owner, depth, is_held):
        """`is_held`: the data set holds it, so that a copy of the data set has a copy of it."""
        if depth == 0 or isinstance(owner, PLAIN) or not self.is_new(owner):
            return
        steps = steps_of(owner)
        if steps is not None:
            self.found.append((owner, is_held))
            for step in steps:
                if steps_of(step) is not None:
                    self.visit(step, depth, is_held)
            return
        for name in ASKED:
            function = function_of(inspect.getattr_static(type(owner), name, None))
            if function:
                self.look_at(function, type(owner), DEPTH - 1)
        for one in held_by(owner):
            self.visit(one, depth - 1, is_held)

    def look_at(self, function, kind, depth):
        """What a function names; `kind`: the class whose method it is, or None."""
        if depth == 0 or not self.is_new(function.__code__):
            return
        names = dict.fromkeys(names_in(function.__code__))
        values = closed_over(function) + [function.__globals__[name] for name in names if name in function.__globals__]
        for module in [one for one in values if isinstance(one, types.ModuleType)]:
            values += [vars(module)[name] for name in names if name in vars(module)]
        for one in values:
            if isinstance(one, types.FunctionType):
                self.look_at(one, None, depth - 1)
            else:
                self.visit(one, 2, False)
        for name in names if kind else ():
            method = function_of(inspect.getattr_static(kind, name, None))
            if method:
                self.look_at(method, kind, depth - 1)


def holders_in(dataset):
    """What holds transforms, each with whether the data set holds it: the outer ones first, and in the same order in each process."""
    search = Search()
    search.visit(dataset, DEPTH, True)
    return search.found
