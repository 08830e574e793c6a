"""What the figures of a page must show: computed from the document alone, as rows of numbers and texts. For pages.py."""

import json
import math

MAX_CELLS, MAX_LINES, FITTED_POINTS = 40, 12, 33 # of a chart
WORKERS = "loader.num_workers"
ANY = object() # a name that is not compared


# --- what a document has

def number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def numbers(of, *keys):
    return [number((of or {}).get(key)) for key in keys]


def rate_key(document):
    key = document.get("ranked_by") or ""
    return key if "samples_per_s" in key else "samples_per_s"


def rate(document, cell):
    return cell.get(rate_key(document)) or {}


def median(document, cell):
    return number(rate(document, cell).get("median"))


def with_interval(figures):
    """A single repetition has none."""
    low, high = numbers(figures, "low", "high")
    one = figures.get("interval") == "none"
    return [number(figures.get("median")), None if one else low, None if one else high]


def share(document, cell, key):
    """Of the time that the rate is of."""
    prefix = rate_key(document)[:-len("samples_per_s")]
    return number(cell.get(prefix + key)) if prefix else number((cell.get(key) or {}).get("median"))


def cells_of(document):
    return list(enumerate(document.get("cells") or []))


def offered(document):
    """The cell whose settings are offered."""
    places = [document.get(key) for key in ("recommended_cell", "best_cell")]
    return next((document["cells"][place] for place in places if place is not None), {})


def ran(document):
    return [(at, cell) for at, cell in cells_of(document) if cell.get("status") == "ok" and median(document, cell) is not None]


def fastest(document):
    return sorted(sorted(ran(document), key=lambda one: -median(document, one[1]))[:MAX_CELLS], key=lambda one: one[0])


def workers_of(cell):
    return number((cell.get("config") or {}).get(WORKERS))


def by_workers(document):
    """Whether a chart has the workers along its axis."""
    values = {str((cell.get("config") or {}).get(WORKERS)) for _, cell in cells_of(document) if cell.get("status") == "ok"}
    return len(values) > 1 and not document.get("storage")


def axes_of(document):
    return [key for key, values in (document.get("axes") or {}).items() if len(values) > 1]


def settings(document, cell):
    """By which a line differs from the others."""
    config = cell.get("config") or {}
    return json.dumps([cell.get("pipeline")] + [config.get(key) for key in axes_of(document) if key != WORKERS])


def lines(document):
    """The combinations of settings with the fastest cells."""
    most = {}
    for _, cell in ran(document):
        key = settings(document, cell)
        most[key] = max(most.get(key, 0), median(document, cell))
    return sorted(most, key=most.get, reverse=True)[:MAX_LINES]


def spent(stages, keys):
    """Nanoseconds in stages that are shown as one; None: not measured."""
    known = [stage for stage in map((stages or {}).get, keys) if stage is not None]
    return sum(stage["sum_ns"] if stage["count"] else 0 for stage in known) if known else None


# --- the rows of each figure: the number of the cell that it is about, or None, and its values

WINDOW = (("compute",), ("exposed_copy",), ("idle_input",), ("idle_other",))
LOOP = (("input_wait",), ("copy_call",), ("step_call",), ("host",), ("device_wait", "oversleep"), ("epoch_start", "barrier"),
        ("account", "release"))
WORK = (("read",), ("decode",), ("transform",), ("collate",), ("pin",))


def parts(document, stages, groups, whole):
    """Of each cell its stages, over what `whole` makes of the cell and of their sum."""
    rows = []
    for at, cell in fastest(document):
        own = [spent(cell.get(stages), keys) for keys in groups]
        total = whole(cell, sum(filter(None, own)))
        if total:
            rows.append((at, [ANY] + [None if ns is None else ns / total for ns in own]))
    return rows


def window(document):
    return parts(document, "device_stages", WINDOW, lambda cell, total: total if "idle_input" in cell.get("device_stages", {}) else 0)


def loop(document):
    return parts(document, "consumer_stages", LOOP, lambda cell, total: total)


def work(document):
    return parts(document, "worker_stages", WORK, lambda cell, total: total and cell.get("worker_samples"))


def spread(document):
    cell, watch = offered(document), document.get("watch") or {}
    stages = [stage for key in ("device_stages", "consumer_stages", "worker_stages") for stage in (cell.get(key) or {}).values()]
    stages += [cell.get("reads"), watch.get("waits"), watch.get("step_to_step")]
    rows = [numbers(stage, "count", "p50_ns", "p99_ns", "p999_ns", "max_ns") for stage in stages]
    return [(cell.get("index"), [ANY] + row) for row in rows if row[0] and row[1]]


def rates(document):
    if document.get("storage"):
        return []
    if not by_workers(document):
        return [(at, [ANY] + with_interval(rate(document, cell))) for at, cell in fastest(document)]
    shown = lines(document)
    return [(at, [ANY, workers_of(cell)] + with_interval(rate(document, cell))) for at, cell in ran(document)
            if settings(document, cell) in shown]


def race(document):
    """The cell with the least loss first. Blocks count from 1 here."""
    def row(cell):
        last = max((block + 1 for block in cell.get("blocks") or []), default=None)
        loss = numbers(cell["race"].get("loss_frac"), "median", "low", "high")
        return [ANY, cell["race"]["state"]] + numbers(cell, "repeats") + [last] + numbers(cell["race"], "probability") + loss
    rows = [(at, row(cell)) for at, cell in cells_of(document) if cell.get("race")]
    return sorted(rows, key=lambda one: math.inf if one[1][5] is None else one[1][5])[:MAX_CELLS]


def in_c(document):
    for at, cell in cells_of(document):
        own = cell.get("in_c") or {}
        if own.get("runs") and own.get("same_work") and own.get("python_sample_ns") is not None:
            rows = [numbers(own["python_stages_ns"], key) + numbers(own["stages_ns"], key) for key, in WORK[:4]]
            return [(at, [ANY] + row) for row in rows + [numbers(own, "python_sample_ns", "sample_ns")]]
    return []


def python(document):
    cell = offered(document)
    return [(cell.get("index"), [stage["name"], stage["part"], stage["count"], stage["sum_ns"] / stage["count"] if stage["count"] else None,
                                 stage["sum_ns"]]) for stage in (cell.get("python") or {}).get("stages", [])]


def curve(document):
    points = (document.get("storage") or {}).get("curve") or []
    keys = ("accelerators", "au", "au_low", "au_high", "repeats", "samples_per_s", "bytes_per_s",
            "read_p50_ns", "read_p99_ns", "read_p999_ns")
    return [(point.get("cell"), [ANY] + numbers(point, *keys)) for point in points] + fitted(document)


def fitted(document):
    """The curve that crosses the gate at fit.at."""
    storage = document.get("storage") or {}
    gate, (at, sharp) = storage.get("gate"), numbers(storage.get("fit"), "at", "sharpness")
    if at is None or not storage.get("curve"):
        return []
    knee = gate * at if sharp is None else at / (gate ** -sharp - 1) ** (1 / sharp)
    most = max(point["accelerators"] for point in storage["curve"])
    places = [1 + (most - 1) * i / (FITTED_POINTS - 1) for i in range(FITTED_POINTS)] if most > 1 else [1]
    used = [min(1, knee / n) if sharp is None else (1 + (n / knee) ** sharp) ** (-1 / sharp) for n in places]
    return [(None, [ANY, n, utilisation] + 8 * [None]) for n, utilisation in zip(places, used)]


def ladder(document):
    return [(None, [rung["rung"]] + with_interval(rung["seconds"]) + numbers(rung, "ratio_to_direct", "ratio_to_floor") +
             [len(rung["seconds"]["values"]), "" if rung["status"] == "ok" else rung["reason"]])
            for rung in (document.get("gap") or {}).get("rungs", [])]


def waterfall(document):
    gap = document.get("gap") or {}
    rows = [[part["part"]] + numbers(part, "seconds", "low", "high", "frac") + [part.get("label") or "", part.get("removed_by") or ""]
            for part in gap.get("decomposition") or []]
    total = [[ANY] + numbers(gap, "total_seconds", "total_low", "total_high") + [1, "", ""]] if rows else []
    return [(None, row) for row in rows + total]


def epochs(document):
    keys = ("steps", "samples_per_s", "steps_per_s", "wait_frac", "first_wait_ns")
    return [(None, [epoch["number"], epoch["ended"]] + numbers(epoch, *keys)) for epoch in (document.get("watch") or {}).get("epochs", [])]


def changes(document):
    """The mean of all, and the largest changes in the order of the document."""
    compare = document.get("compare") or {}
    pairs = list(enumerate(compare.get("cells", [])))
    size = lambda one: 1 if one[1]["change_frac"] is None else -abs(one[1]["change_frac"])
    shown = [pair for _, pair in sorted(sorted(pairs, key=size)[:MAX_CELLS], key=lambda one: one[0])]
    shown = [compare["overall"]] + shown if len(pairs) > 1 else shown
    return [(None, [ANY, pair["verdict"]] + numbers(pair, "a", "b", "change_frac", "low", "high")) for pair in shown]


def cells(document):
    """Settings that are numbers are compared; repetitions are texts (check_repetitions)."""
    pipelines = {cell.get("pipeline") or "" for _, cell in cells_of(document)}
    raced = any(cell.get("race") for _, cell in cells_of(document))

    def row(at, cell):
        values = [(cell.get("config") or {}).get(key) for key in axes_of(document)[:12]]
        gain, first = (cell.get("verdict") or {}).get("gain"), (cell.get("epochs") or [{}])[0]
        return ([at] + ([cell.get("pipeline") or ""] if len(pipelines) > 1 else []) +
                [value if value is None or number(value) is not None else ANY for value in values] +
                ([(cell.get("race") or {}).get("state") or ""] if raced else []) + with_interval(rate(document, cell)) +
                [share(document, cell, "gpu_idle_frac"), share(document, cell, "input_wait_frac")] + numbers(gain, "median") +
                numbers(cell, "read_bytes_per_s") + numbers(first, "first_batch_ns") +
                numbers(cell.get("memory"), "peak_pss_bytes") + [ANY, ANY])
    return [(at, row(at, cell)) for at, cell in cells_of(document)]


def ranks(document):
    """What each rank did; its name is that of rank and machine."""
    several = len(document.get("ranks") or []) > 1
    return [(None, [ANY] + numbers(rank, "samples_per_s", "gpu_idle_frac", "input_wait_frac", "done_s") + [rank["straggler"]])
            for rank in document.get("ranks") or [] if several]


TRAITS = (("cpus", "CPUs"), ("cpus_there", "CPUs there"), ("ram_bytes", "memory"), ("program", "program"), ("data_id", "data set"))


def unlike(document):
    """Of each machine the names of what more than half of the machines have otherwise; without such a half, the first one."""
    machines = document.get("nodes") or []
    out = [[] for _ in machines]
    for key, name in TRAITS:
        alike = (lambda a, b: abs(a - b) <= 0.01 * max(a, b)) if key == "ram_bytes" else (lambda a, b: a == b)
        known = [machine[key] for machine in machines if machine.get(key) is not None]
        most = [value for value in known if 2 * sum(alike(value, other) for other in known) > len(known)]
        usual = (most + known + [None])[0]
        for names, machine in zip(out, machines):
            names += [name] if machine.get(key) is not None and not alike(machine[key], usual) else []
    return [", ".join(names) for names in out]


def nodes(document):
    """The machines, where they differ."""
    apart = unlike(document) if len(document.get("ranks") or []) > 1 else []
    return [(None, [ANY, names] + numbers(machine, "ranks", "cpus", "cpus_there", "ram_bytes") + [machine["program"], machine["data_id"]])
            for names, machine in zip(apart, document.get("nodes") or []) if any(apart)]


def facts(document):
    """The figures of the lines about a job; None: there is no such line."""
    machines, clocks, traffic = document.get("nodes") or [], document.get("clock_offset_us"), document.get("ranks_traffic")
    out = dict.fromkeys(("ranks", "clocks", "MPI"))
    if len(document.get("ranks") or []) < 2 or not machines:
        return out
    odd, each, count = sum(map(bool, unlike(document))), sorted({machine["ranks"] for machine in machines}), len(document["ranks"])
    several = [len(machines), each[0], *each[1:][-1:]] if len(machines) > 1 else []
    out["ranks"] = [count, len(machines), odd] if odd else [count] + several + numbers(machines[0], "cpus", "cpus_there", "ram_bytes")
    out["clocks"] = [clocks[key] * 1e-6 for key in ("max", "error")] if clocks else None
    out["MPI"] = numbers(traffic, "calls", "bytes", "cpu_s") if traffic else None
    return out


def facts_ids(document):
    """Program and data set of machines that are alike."""
    alike = facts(document)["ranks"] and not any(unlike(document))
    return [document["nodes"][0][key] for key in ("program", "data_id")] if alike else []


def timeline(document):
    """The sums of each lane; shares have six digits."""
    span_ns = (document.get("timeline") or {}).get("span_ns")
    shapes = [(lane, name, spans) for lane, by_name in lanes(document) for name, spans in by_name.items()]
    sums = [(lane, name, len(spans), sum(length for _, length in spans)) for lane, name, spans in shapes]
    return [(None, [lane, name, n, ns, float("%.6g" % (ns / span_ns))]) for lane, name, n, ns in sums]


def lanes(document):
    """Of each lane its name, and of each name of spans where they begin and how long they are."""
    own, out = document.get("timeline") or {}, []
    for track in own.get("tracks", []):
        by_name = {}
        for span in sorted(track["lane"], key=lambda span: span[0]):
            by_name.setdefault(own["names"][span[0]], []).append(span[1:3])
        if by_name:
            out.append((track["name"], by_name))
    return out


FIGURES = (changes, curve, ladder, waterfall, timeline, rates, window, loop, work, in_c, python, spread, epochs, ranks, nodes, race, cells)
