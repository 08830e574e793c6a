"""What the stamps of a window tell, as the cell's result has it. Part of loaders/torch/dlbench_serve.py."""

from dlbench_stamps import COLLATE, COMPUTED, GETITEM, LOAD, ON_CPU, STAGES, WATCHED

OWN = "own computing"  # no name of Python's: no transform has it
LEAST = 0.05  # of __getitem__: less than that the ticks of the kernel's clock do not tell
FEWEST = 128  # samples whose parts were timed, if those of others were not: fewer say too little of where the time went
FEWEST_BATCHES = 8  # with stamps, if others had none
BY_CHANCE = 1.5  # times what they are within: so much more than that the parts of so many samples hardly come to by chance
TICK_NS = 4000000  # many kernels tell computing of the program from their own by what a thread does at each tick


def parts_of(names, decodes):
    """Which of the workers' stages each is a part of."""
    parts = {"getitem": "read", "load": "decode" if decodes else None, "collate": "collate"}
    return [parts.get(name) if i < len(STAGES) else "transform" for i, name in enumerate(names)]


def numbered(names):
    """Transforms of one name have numbers from the second on."""
    seen, out = {}, []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else "%s %d" % (name, seen[name]))
    return out


def own_computing(window, parts, in_collate_ns):
    """What __getitem__ computes beside its transforms and its loading, at the least: all of those may be computing. `window`: as within() has it."""
    (watched_ns, computed_ns), (n, whole_ns) = window[COMPUTED], window[GETITEM]
    within_ns = sum(ns for (_, ns), part in zip(window, parts) if part in ("decode", "transform"))
    if watched_ns == 0:
        return []
    own_ns = int(min(computed_ns / watched_ns, 1) * (whole_ns - in_collate_ns)) - (within_ns - in_collate_ns)
    least = max(LEAST, (TICK_NS / watched_ns) ** 0.5)  # two standard errors, of a half
    return [{"name": OWN, "part": "transform", "count": n, "sum_ns": own_ns}] if own_ns > least * whole_ns else []


def computing_frac(window):
    """The share of __getitem__'s time in which its process computed, the kernel's work included; None: not measured."""
    watched_ns, on_cpu_ns = window[ON_CPU]
    return min(on_cpu_ns / watched_ns, 1) if watched_ns else None


def bounded(window):
    """Where the parts of some samples count for others (dlbench_turns.py): by chance they may come to more than all of __getitem__. If they come
    to much more, they run in threads."""
    within = [LOAD, *range(len(STAGES), len(window))]
    within_ns, whole_ns = sum(window[i][1] for i in within), window[GETITEM][1]
    if not whole_ns < within_ns < BY_CHANCE * whole_ns:
        return window
    out = list(window)
    for i in within:
        out[i] = window[i][0], window[i][1] * whole_ns // within_ns
    return out


def within(window, in_collate_ns):
    """Transforms are parts of __getitem__. Those that collate_fn called count for it, and not for collate."""
    out = list(window)
    for stage, more_ns in (GETITEM, in_collate_ns), (COLLATE, -in_collate_ns):
        out[stage] = window[stage][0], max(window[stage][1] + more_ns, 0)
    return out


def stages(names, window, decodes, drawn=None, is_own=True):
    """Those of which there was one in the window. drawn: dlbench_stamps.Drawn; None: all were. is_own: data of the user's own, of which it is not
    known what they do beside their parts."""
    parts, in_collate_ns = parts_of(names, decodes), 0
    if window[GETITEM][0] == 0 or (drawn and drawn.whole < min(window[COLLATE][0], FEWEST_BATCHES)):
        parts = [None] * len(parts)
    if drawn:
        in_collate_ns = drawn.in_collate_ns
        window = within(window, in_collate_ns)
    if drawn and drawn.samples is not None and drawn.samples < window[GETITEM][0]:
        window = bounded(window)
        if drawn.samples < FEWEST:
            parts = [None] * len(parts)
    used = [i for i, (n, _) in enumerate(window) if n > 0 and i not in WATCHED]
    named = zip(used, numbered([names[i] for i in used]))
    out = [{"name": name, "part": parts[i], "count": window[i][0], "sum_ns": window[i][1]} for i, name in named]
    return out + (own_computing(window, parts, in_collate_ns) if is_own and parts[GETITEM] else [])


def track(names, decodes):
    """As a timeline has them."""
    return [{"name": name, "part": part or ""} for name, part in zip(numbered(names), parts_of(names, decodes))]
