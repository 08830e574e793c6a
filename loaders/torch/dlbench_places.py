"""Where transforms with stamps are: in lists, and as attributes. The stamps are taken out for samples whose parts are not timed (dlbench_turns.py): a
call through a wrapper that times nothing takes 1 us, and a transform of a small image 10. Part of loaders/torch/dlbench_serve.py.

Of each process: a worker that is not forked has copies of the objects, and notes them itself. Wrappers elsewhere stay.
"""

from dlbench_find import attribute_of

_places = []
_are_in = True


class InList:
    """A list of transforms, and the wrappers in it: (index, wrapper, what it wraps)."""

    def __init__(self, steps, found):
        self.owner, self.name, self.found = steps, None, found

    def put(self, at, old, new):
        steps = self.owner
        if at >= len(steps) or steps[at] is not old:  # the user moved it, or took it away
            at = next((i for i, one in enumerate(steps) if one is old), None)
        if at is not None:
            steps[at] = new


class InAttribute:
    def __init__(self, owner, name, wrapper):
        self.owner, self.name, self.found = owner, name, [(None, wrapper, wrapper.dlbench_function)]

    def put(self, _, old, new):
        if attribute_of(self.owner, self.name) is old:
            object.__setattr__(self.owner, self.name, new)


def is_known(owner, name=None):
    return any(place.owner is owner and place.name == name for place in _places)


def note(steps, kind):
    """A list in which there may be wrappers, which are of that type."""
    found = [(at, one, one.dlbench_function) for at, one in enumerate(steps) if type(one) is kind]
    if found and not is_known(steps):
        _places.append(InList(steps, found))


def note_attribute(owner, name, wrapper):
    """One that can be set without the user's code."""
    if type(owner).__setattr__ is object.__setattr__ and not is_known(owner, name):
        _places.append(InAttribute(owner, name, wrapper))


def stages():
    """Those of the wrappers."""
    return {wrapper.dlbench_stage for place in _places for _, wrapper, _ in place.found}


def put(are_in):
    """The wrappers into their places, or what they wrap. What the user has put there since then stays."""
    global _are_in
    if are_in == _are_in:
        return
    _are_in = are_in
    for place in _places:
        for at, wrapper, function in place.found:
            place.put(at, *((function, wrapper) if are_in else (wrapper, function)))
