"""Finds what holds transforms in the user's data set: a Compose, whatever its class, torch.nn.Sequential, and what has one transform alone. Part of
loaders/torch/dlbench_serve.py.

It looks at what objects hold, within lists and dictionaries too, and at what the code of __getitem__ names: globals of its module, of
modules that it names, what it closes over, attributes of its class, and what functions and methods that it calls name. Nothing of the user's
runs for that: what an object is, its type tells, and no attribute is read that may be computed.
"""

import collections
import contextlib
import functools
import gc
import itertools
import types

from torch.utils.data import Dataset

PLAIN = (int, float, complex, bool, str, bytes, type(None), type, types.ModuleType, types.BuiltinFunctionType)
ASKED = ("__getitem__", "__getitems__", "__iter__", "__call__", "forward")
SINGLE = ("transform", "target_transform")  # attributes of torchvision's data sets, and of many others
MORE = ("__len__", "__getitem__", "__iter__", "__next__", "__contains__", "__enter__")  # what Python looks up in an object's class
IMAGES = {"torchvision", "PIL", "Image", "cv2", "imread", "imdecode", "imageio", "skimage", "accimage", "read_image", "decode_image", "decode_jpeg"}
LIBRARIES = {"torch", "torchvision", "numpy", "PIL"}  # whose functions name none of the user's transforms
DEPTH = 4  # of objects within a data set
NAMED_DEPTH = 2  # of what code names, and of what that holds
MOST_HELD = 16  # of a list or a dictionary: it may hold all samples
MOST_ATTRIBUTES = 1000  # of an object: one with more is no object of attributes
MOST_LOOKED_AT = 20000  # objects and functions
# Py_TPFLAGS_MANAGED_DICT of a class: the attributes lie within the object itself. Who reads its __dict__ makes one, and each attribute takes the
# user's code longer from then on: 15 ns in Python 3.11.
WITHIN = 1 << 4
NOWHERE = object()


def is_a(one, kinds):
    """As isinstance(), which asks an object for its __class__: a proxy computes that."""
    return issubclass(type(one), kinds)


def in_class(kind, name):
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), NOWHERE)


def dict_of(owner):
    made = in_class(type(owner), "__dict__")
    found = made.__get__(owner) if type(made) is types.GetSetDescriptorType else None
    return found if type(found) is dict else {}


def attributes_of(owner):
    """What an object holds, by name: in its __dict__ and in slots. Nothing that is computed: properties may do anything."""
    out = {}
    for kind in type(owner).__mro__:
        for name, one in vars(kind).items():
            if is_a(one, types.MemberDescriptorType):
                try:
                    out[name] = one.__get__(owner)
                except AttributeError:  # it was never set
                    continue
    return {**out, **dict_of(owner)}


def attribute_of(owner, name, default=None):
    """One of them."""
    of_class = in_class(type(owner), name)
    if not is_a(of_class, (types.MemberDescriptorType, types.FunctionType)) and hasattr(type(of_class), "__get__"):  # it may be computed
        return attributes_of(owner).get(name, default)
    try:
        found = object.__getattribute__(owner, name)
    except AttributeError:
        return default
    is_method = type(found) is types.MethodType and found.__func__ is of_class
    return default if found is of_class or is_method else found


def is_dict_of(owner, one):
    """Whether a dictionary that an object refers to is its __dict__, as far as attributes tell that no class has."""
    return dict.__len__(one) > 0 and all(
        type(name) is str and (in_class(type(owner), name) is not NOWHERE or attribute_of(owner, name, NOWHERE) is value)
        for name, value in dict.items(one)
    )


def values_of(owner):
    """All that it holds, without names."""
    if type(owner).__flags__ & WITHIN:
        held = gc.get_referents(owner)
        if len(held) <= MOST_ATTRIBUTES and not any(is_a(one, dict) and is_dict_of(owner, one) for one in held):
            return held
    return list(attributes_of(owner).values())


def is_sequential(owner):
    """torch.nn.Sequential itself: what a class derived from it does with its modules is not known."""
    return type(owner).__name__ == "Sequential" and type(owner).__module__ == "torch.nn.modules.container"


def steps_of(owner):
    """The transforms that an object calls one after the other; None: it is no such object."""
    if is_a(owner, PLAIN):
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


def is_only_called(one):
    """Whether an object can be called, and its class has nothing else that a stamp's would not have."""
    return callable(one) and all(in_class(type(one), name) is NOWHERE for name in MORE)


def held_by(owner):
    if is_a(owner, dict):
        return list(itertools.islice(dict.values(owner), MOST_HELD))
    for kind in list, tuple:
        if is_a(owner, kind):  # a class derived from it may do anything
            first = next(kind.__iter__(owner), None)
            most = MOST_LOOKED_AT if is_a(first, Dataset) else MOST_HELD  # data sets that are left out would have no stamps
            return list(itertools.islice(kind.__iter__(owner), most))
    if is_a(owner, functools.partial):
        return [owner.func, *owner.args, *owner.keywords.values()]
    if is_a(owner, types.MethodType):
        return [owner.__self__]
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
    if is_a(found, (types.MethodType, staticmethod, classmethod)):
        found = found.__func__
    elif is_a(found, property):
        found = found.fget
    elif is_a(found, functools.cached_property):
        found = found.func
    return found if type(found) is types.FunctionType else None


def definitions(kind, name):
    """What classes have by that name: the first one, and those behind it as far as each asks the next one by super()."""
    for one in kind.__mro__:
        if name in vars(one):
            found = vars(one)[name]
            yield found
            function = function_of(found)
            if function is None or "super" not in names_in(function.__code__):
                return


def opens_images(function):
    """Whether that is what it does, as far as its code names what does: `loader` may open anything."""
    function = function.func if is_a(function, functools.partial) else function
    code = getattr(function_of(function), "__code__", None)
    home = str(getattr(function, "__module__", "")).split(".")[0]
    return home in IMAGES or bool(code and IMAGES.intersection(names_in(code)))


class Search:
    """What is near comes first, so that it is found where there is too much to look at all; the same order in each process. What holds
    transforms and what has one alone come with their data set, or None: the code names them."""

    def __init__(self, dataset):
        self.datasets, self.holders, self.singles = [], [], []
        self.seen, self.kept, self.kinds = set(), [], set()
        self.objects, self.functions = collections.deque([(dataset, DEPTH, dataset)]), collections.deque()
        while self.objects or self.functions:
            if self.objects:
                self.visit(*self.objects.popleft())
            else:
                self.look_at(*self.functions.popleft())

    def is_new(self, one):
        if id(one) in self.seen or len(self.seen) >= MOST_LOOKED_AT:
            return False
        self.seen.add(id(one))
        self.kept.append(one)  # so that no other object gets its number
        return True

    def visit(self, owner, depth, home):
        if is_a(owner, types.FunctionType):
            self.functions.append((owner, None, DEPTH - 1))
            return
        if is_a(owner, Dataset):
            depth, home = DEPTH, owner
        if depth == 0 or is_a(owner, PLAIN) or not self.is_new(owner):
            return
        steps = steps_of(owner)
        if steps is not None:
            self.holders.append((owner, home))
            self.objects.extend((step, depth, home) for step in steps if steps_of(step) is not None)
            if owner is not home:
                return
            self.is_new(attribute_of(owner, "transforms"))  # the data set has more than these
        if owner is home:
            self.datasets.append(owner)
        if home is not None:
            self.singles += [(owner, name, home) for name in SINGLE if self.is_single(attribute_of(owner, name))]
        if is_a(owner, types.MethodType) and function_of(owner):  # else it is another object's, which has no code
            self.functions.append((owner.__func__, type(owner.__self__), DEPTH - 1))
        if id(type(owner)) not in self.kinds:
            self.kinds.add(id(type(owner)))
            for name in ASKED:
                self.look_at_class(type(owner), name, DEPTH - 1)
        self.objects.extend((one, depth - 1, home) for one in held_by(owner))

    @staticmethod
    def is_single(one):
        return is_only_called(one) and steps_of(one) is None

    def look_at_class(self, kind, name, depth):
        for found in definitions(kind, name):
            function = function_of(found)
            if function:
                self.functions.append((function, kind, depth))
            elif not hasattr(type(found), "__get__"):
                self.objects.append((found, NAMED_DEPTH, None))

    def look_at(self, function, kind, depth):
        """What a function names; `kind`: the class whose method it is, or None."""
        if depth == 0 or str(function.__module__).split(".")[0] in LIBRARIES or not self.is_new(function):
            return
        names = dict.fromkeys(names_in(function.__code__))
        values = closed_over(function) + [function.__globals__[name] for name in names if name in function.__globals__]
        for module in [one for one in values if is_a(one, types.ModuleType)]:
            values += [vars(module)[name] for name in names if name in vars(module)]
        for one in values:
            if is_a(one, types.FunctionType):
                self.functions.append((one, None, depth - 1))
            else:
                self.objects.append((one, NAMED_DEPTH, None))
        for name in names if kind else ():
            self.look_at_class(kind, name, depth - 1)


def is_alone(transform):
    """Whether no transform within it has a stamp of its own: what both take would count twice. A method, or what holds its data set, comes to
    the object that has it, and to that one's other transform, which it does not call."""
    within = Search(transform)
    others = [owner for owner, _, _ in within.singles if all(attribute_of(owner, name) is not transform for name in SINGLE)]
    return not within.holders and not others
