"""Lists of transforms with stamps. These are taken out for samples whose parts are not timed (dlbench_turns.py): a call through a wrapper that
times nothing takes 1 us, and a transform of a small image 10. Part of loaders/torch/serve.py.

Of each process: a worker that is not forked has copies of the lists, and notes them itself. Wrappers elsewhere stay.
"""

_places = []  # a list of transforms, and the wrappers in it: (index, wrapper, what it wraps)
_are_in = True


def note(steps, kind):
    """A list in which there may be wrappers, which are of that type."""
    found = [(at, one, one.function) for at, one in enumerate(steps) if type(one) is kind]
    if found and not any(known is steps for known, _ in _places):
        _places.append((steps, found))


def stages():
    """Those of the wrappers."""
    return {wrapper.stage for _, found in _places for _, wrapper, _ in found}


def put(are_in):
    """The wrappers into their places, or what they wrap. What the user has put there since then stays."""
    global _are_in
    if are_in == _are_in:
        return
    _are_in = are_in
    for steps, found in _places:
        for at, wrapper, function in found:
            old, new = (function, wrapper) if are_in else (wrapper, function)
            if at >= len(steps) or steps[at] is not old:  # the user moved it, or took it away
                at = next((i for i, one in enumerate(steps) if one is old), None)
            if at is not None:
                steps[at] = new
