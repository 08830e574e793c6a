"""Watches a live training loop: how long the host waits for each batch. Reads results of dlbench. One file, standard library only.

    import dlbench

    loader = dlbench.watch(DataLoader(...))
    for epoch in range(epochs):
        for batch in loader:
            train(batch)

    dlbench report results/watch-20260101-120000

A wait is the time in next(loader), as the host's clock shows it. It is not the GPU's idle time: steps that are queued may still run.
watch(loader, replay=True) repeats one kept batch: what the same loop does with data that are always ready.

    dlbench.read("results/sweep")       # summary.json, as dicts and lists
    dlbench.tables("results/sweep")     # rows: of cells, of repetitions, of stages
    dlbench.frames("results/sweep")     # the same as pandas' data frames
"""

import atexit
import collections.abc
import itertools
import json
import os
import platform
import socket
import sys
import threading
import time
import weakref

__version__ = "0.1.0"
__all__ = ["watch", "read", "tables", "frames", "ResultError"]

SCHEMA_VERSION = 2
SAVE_EVERY_NS = 10 * 10**9
WAIT_AT_END_S = 10  # for another thread that saves
FEW = 100  # with fewer values there is no p99, only a maximum
LOOK_AT = 16  # entries of a container in which a tensor is looked for
COST_STEPS = 2000
TIMED = 10  # timed steps for each that is not: a rate is then at most a tenth too high

_clock = time.perf_counter_ns


class Times:
    """Durations in nanoseconds: their number, sum and maximum, and a histogram with buckets of 1/32 of their value."""

    __slots__ = ("n", "sum", "max", "buckets")

    def __init__(self):
        self.n, self.sum, self.max, self.buckets = 0, 0, 0, {}

    def add(self, ns):
        self.n += 1
        self.sum += ns
        if ns > self.max:
            self.max = ns
        bits = ns.bit_length() - 6
        key = ns if bits <= 0 else bits << 6 | ns >> bits
        self.buckets[key] = self.buckets.get(key, 0) + 1

    def merge(self, other):
        self.n += other.n
        self.sum += other.sum
        self.max = max(self.max, other.max)
        for key, n in list(other.buckets.items()):  # another thread may add to it
            self.buckets[key] = self.buckets.get(key, 0) + n

    def quantile(self, frac):
        rank, seen = frac * self.n, 0
        for key in sorted(self.buckets):
            seen += self.buckets[key]
            if seen >= rank:
                bits = key >> 6
                return min(((key & 63) << bits) + (1 << bits >> 1), self.max)
        return self.max

    def document(self):
        return {
            "count": self.n,
            "sum_ns": self.sum,
            "p50_ns": self.quantile(0.5) if self.n else None,
            "p99_ns": self.quantile(0.99) if self.n >= FEW else None,
            "max_ns": self.max if self.n else None,
        }


def first_dimension(batch):
    """Dimension 0 of the first tensor of a batch, in lists, tuples and dicts; None: there is no tensor, or one without a shape."""
    try:
        shape = getattr(batch, "shape", None)
        if shape is not None:
            return int(shape[0]) if len(shape) > 0 else None
    except Exception:  # the user's own class: its errors are not the training's
        return None
    if isinstance(batch, collections.abc.Mapping):
        batch = batch.values()
    elif not isinstance(batch, (list, tuple)):
        return None
    for part in itertools.islice(batch, LOOK_AT):
        n = first_dimension(part)
        if n is not None:
            return n
    return None


class Epoch:
    """One pass over the loader: the iterator that the training loop holds. It keeps no batch."""

    def __init__(self, record, number, open_batches):
        self.record, self.number, self.ended = record, number, "running"
        self.waits, self.steps, self.samples = Times(), Times(), 0
        self.end_wait_ns = self.saved_ns = 0
        self.thread = threading.get_ident()
        self.start = _clock()
        self.batches = open_batches()
        self.last = _clock()  # when the last batch came
        self.start_ns = self.last - self.start
        self.first_wait_ns = None

    def __iter__(self):
        return self

    def __next__(self):
        asked = _clock()
        try:
            batch = next(self.batches)
        except StopIteration:
            self.finish(asked)
            raise
        got = _clock()
        last, self.last = self.last, got
        self.waits.add(got - asked)
        if self.first_wait_ns is None:
            self.first_wait_ns = got - asked
            self.thread = threading.get_ident()  # iter() may have been another's
        else:
            self.steps.add(got - last)
        if self.samples is not None:
            n = self.record.count(batch)
            self.samples = None if n is None else self.samples + n
        if got >= self.record.save_at:
            self.save(got)
        return batch

    def save(self, got):
        """The time of saving is not the training's."""
        self.record.save()
        self.last = _clock()
        self.saved_ns += self.last - got

    def finish(self, asked):
        if self.ended != "running":
            return
        now = _clock()
        self.end_wait_ns = now - asked
        self.last, self.ended = now, "exhausted"
        self.record.close(self)

    def __del__(self):
        record = getattr(self, "record", None)
        if record and getattr(self, "ended", "") == "running":
            self.ended = "left"
            record.close(self)

    def span(self):
        """When it ran, and whether the training on its last batch is missing in that."""
        return self.start, self.last, self.ended != "exhausted"

    def document(self):
        wall_ns = self.last - self.start - self.saved_ns
        wait_ns = self.start_ns + self.waits.sum + self.end_wait_ns
        return dict(
            rates(self.waits.n, self.samples, wall_ns, wait_ns, wall_ns, self.ended != "exhausted"),
            number=self.number,
            ended=self.ended,
            start_ns=self.start_ns,
            first_wait_ns=self.first_wait_ns,
            end_wait_ns=self.end_wait_ns,
            waits=self.waits.document(),
            step_to_step=self.steps.document(),
        )


def covered(spans):
    """The time of all spans, once where they overlap, and the number of stretches at whose end the last step is missing."""
    total = n_cut = until = was_cut = 0
    for begin, end, cut in sorted(spans):
        if begin > until:
            total += end - begin
            n_cut += cut
        elif end > until:
            total += end - until
            n_cut += cut - was_cut
        else:
            continue
        until, was_cut = end, cut
    return total, n_cut


def rates(steps, samples, wall_ns, wait_ns, elapsed_ns, n_cut):
    """wall_ns is the time of all threads, elapsed_ns the clock's. n_cut steps are not in them: with too many there is no rate."""
    known = wall_ns > 0 and steps - n_cut >= TIMED * n_cut
    return {
        "steps": steps,
        "samples": samples,
        "wall_ns": wall_ns,
        "wait_ns": wait_ns,
        "wait_frac": wait_ns / wall_ns if known and wait_ns <= wall_ns else None,  # threads that share an iterator wait at once
        "samples_per_s": samples * 1e9 / elapsed_ns if known and samples is not None else None,
        "steps_per_s": steps * 1e9 / elapsed_ns if known else None,
    }


class Record:
    """One result: epochs that ended, and the one that runs."""

    def __init__(self, folder, name, mode, loader, count):
        self.folder, self.name, self.mode, self.pid = folder, name, mode, os.getpid()
        self.count = (lambda batch: int(count(batch))) if count else first_dimension
        self.counted_by = "count" if count else "first tensor"
        self.loader = "%s.%s" % (type(loader).__module__, type(loader).__qualname__)
        self.settings = settings_of(loader)
        self.done, self.waits, self.steps = [], Times(), Times()
        self.running = {}  # by number, weak references
        self.spans, self.saved_ns = [], 0  # of `done`: (thread, span)
        self.numbers, self.cost_ns = itertools.count(), None  # of epochs
        self.save_at = _clock() + SAVE_EVERY_NS
        self.started = time.strftime("%Y-%m-%dT%H:%M:%S%z")

    def open(self, open_batches):
        epoch = Epoch(self, next(self.numbers), open_batches)
        self.running[epoch.number] = weakref.ref(epoch)
        return epoch

    def close(self, epoch):
        self.running.pop(epoch.number, None)
        if epoch.waits.n == 0 and epoch.ended == "left":
            return  # it was looked at, and not used
        self.done.append(epoch.document())
        self.spans.append((epoch.thread, epoch.span()))
        self.saved_ns += epoch.saved_ns
        self.waits.merge(epoch.waits)
        self.steps.merge(epoch.steps)

    def document(self, final=False):
        waits, steps, epochs, spans, saved_ns = Times(), Times(), list(self.done), list(self.spans), self.saved_ns
        waits.merge(self.waits)
        steps.merge(self.steps)
        for epoch in filter(None, [ref() for ref in list(self.running.values())]):
            if epoch.waits.n > 0:
                epochs.append(epoch.document())
                spans.append((epoch.thread, epoch.span()))
                saved_ns += epoch.saved_ns
                waits.merge(epoch.waits)
                steps.merge(epoch.steps)
        epochs.sort(key=lambda epoch: epoch["number"])
        samples = [epoch["samples"] for epoch in epochs]
        of_threads = [covered(span for by, span in spans if by == thread) for thread in {by for by, _ in spans}]
        wall_ns, n_cut = sum(time for time, _ in of_threads) - saved_ns, sum(cut for _, cut in of_threads)
        elapsed_ns = covered(span for _, span in spans)[0] - saved_ns / (len(of_threads) or 1)  # the others go on meanwhile
        raised = getattr(sys, "last_type", None) if final else None
        return {
            "schema_version": SCHEMA_VERSION,
            "command": "watch",
            "run_name": plain(self.name),
            "partial": not final or raised is not None,
            "interrupted": raised is KeyboardInterrupt,
            "dlbench": {"version": __version__, "commit": "dlbench.py"},
            "environment": environment(self.started),
            "rank": number_of("RANK", 0),
            "world": number_of("WORLD_SIZE", 1),
            "watch": dict(
                rates(sum(epoch["steps"] for epoch in epochs), None if None in samples else sum(samples),
                      wall_ns, sum(epoch["wait_ns"] for epoch in epochs), elapsed_ns, n_cut),
                mode=self.mode,
                loader=plain(self.loader),
                settings=self.settings,
                counted_by=self.counted_by,
                cost_ns=self.cost_ns,
                waits=waits.document(),
                step_to_step=steps.document(),
                epochs=epochs,
            ),
        }

    def save(self, final=False):
        """Never ends the training: what cannot be written is said on stderr."""
        self.save_at = _clock() + SAVE_EVERY_NS
        if self.folder is None or os.getpid() != self.pid:
            return
        path = os.path.join(self.folder, "summary.json")
        if not _saving.acquire(timeout=WAIT_AT_END_S if final else 0):
            return  # another thread is at it
        try:
            document = self.document(final)
            if final and not document["watch"]["epochs"] and not os.path.exists(path):
                os.rmdir(self.folder)
                return
            with open(path + ".part", "w", encoding="utf-8") as file:
                json.dump(document, file, indent=1)
                file.write("\n")
            os.replace(path + ".part", path)
            if final:
                say("the waits of this training are in %s" % path)
        except (OSError, ValueError) as why:
            say("cannot write %s: %s" % (path, why))
        finally:
            _saving.release()


class Watch:
    """Iterates over the loader as the loader itself does; other attributes are the loader's."""

    def __init__(self, loader, record, repeats):
        self._loader, self._record, self._repeats = loader, record, repeats
        self._kept = None  # a list with the batch that is repeated

    def __iter__(self):
        if self._record.mode == "replay":
            return self._record.open(self._replayed())
        return self._record.open(lambda: iter(self._loader))

    def _replayed(self):
        if self._kept is None:
            self._kept = list(itertools.islice(self._loader, 1))  # its iterator, and its workers, end here
            end_persistent_workers(self._loader)
        kept = self._kept
        n = self._repeats if self._repeats is not None else len(self._loader)
        return lambda: itertools.chain.from_iterable(itertools.repeat(kept, n))

    def __getattr__(self, name):
        if name.startswith("__") or "_loader" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._loader, name)


def end_persistent_workers(loader):
    """torch's DataLoader keeps its iterator where its workers outlive an epoch. A next one begins anew."""
    end = getattr(getattr(loader, "_iterator", None), "_shutdown_workers", None)
    if callable(end):
        end()
        loader._iterator = None


class SizedWatch(Watch):
    def __len__(self):
        return len(self._loader) if self._repeats is None else self._repeats


_records = []
_saving = threading.Lock()
_of_loader = weakref.WeakKeyDictionary()


def say(text):
    """Names of files may hold anything; a terminal is given no control characters."""
    text = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    print("dlbench: " + text, file=sys.stderr)


def plain(text):
    """A text that JSON can hold."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def number_of(variable, otherwise):
    try:
        return max(int(os.environ.get(variable, "")), otherwise)
    except ValueError:
        return otherwise


def environment(started):
    torch = sys.modules.get("torch")
    return {
        "host": plain(socket.gethostname()),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "torch": plain(getattr(torch, "__version__", "")) or None,
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "timestamp": started,
    }


def settings_of(loader):
    """DataLoader's own settings, where the loader has them."""
    out = {}
    for name in ("batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "drop_last", "in_order"):
        value = getattr(loader, name, None)
        if isinstance(value, (bool, int)):
            out[name] = value
    return out


def is_watched(folder):
    """Whether it holds a result of this module."""
    try:
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            return json.load(file).get("command") == "watch"
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def make_folder(results, name, overwrite):
    """A new folder, and its name. A chosen name gets a number until it is new; one that was given must be new."""
    os.makedirs(results, exist_ok=True)
    rank = number_of("RANK", 0)
    base = (name or "watch-" + time.strftime("%Y%m%d-%H%M%S")) + ("-rank%d" % rank if number_of("WORLD_SIZE", 1) > 1 else "")
    for number in itertools.count(1):
        tried = base if number == 1 else "%s-%d" % (base, number)
        folder = os.path.abspath(os.path.join(results, tried))
        try:
            os.mkdir(folder)
            return folder, tried
        except FileExistsError:
            if name and overwrite and is_watched(folder):
                return folder, tried
            if name:
                raise FileExistsError("dlbench.watch: %s exists: give another run_name, or overwrite=True" % folder) from None


def usual_batch():
    torch = sys.modules.get("torch")
    try:
        return [torch.zeros(8, 8, device="cpu"), torch.zeros(8, device="cpu")]
    except AttributeError:  # no torch, or another module of that name
        return [memoryview(bytes(8)), 0]


def measured_cost(count):
    """What watching adds to a step, in nanoseconds, `count` left out: the least of five loops beside bare ones."""

    class Nowhere:
        save_at = sys.maxsize

        def close(self, epoch):
            pass

    record, costs, batches = Nowhere(), [], [usual_batch()] * (COST_STEPS // 5)
    record.count = (lambda batch: 8) if count else first_dimension
    for _ in range(5):
        start = _clock()
        for _batch in batches:
            pass
        bare = _clock()
        for _batch in Epoch(record, 0, lambda: iter(batches)):
            pass
        costs.append((_clock() - bare - (bare - start)) / len(batches))
    return max(min(costs), 0.0)


def has_len(loader):
    """A DataLoader of an IterableDataset has the method, which raises."""
    try:
        return len(loader) >= 0
    except (TypeError, NotImplementedError):
        return False


def watch(loader, *, replay=False, count=None, results="results", run_name=None, overwrite=False):
    """Returns `loader`, watched: iterate over it instead. Works with any iterable; wrap it once, before the loop over epochs.

    replay     True or "first": one batch is taken from the loader and repeated len(loader) times an epoch; a number: so often
    count      a function of a batch that gives its number of samples; without it dimension 0 of the batch's first tensor
    results    the result is a folder in here, RESULTS/RUN_NAME; None: nothing is written
    run_name   its name; a new one by default. With WORLD_SIZE above 1, "-rankN" is added
    overwrite  replace an earlier result of watch that has the name
    """
    repeats = None
    if replay is not False and replay is not True and replay != "first":
        if isinstance(replay, bool) or not isinstance(replay, int) or replay < 1:
            raise ValueError('replay is True, "first", or how often the batch is repeated, not %r' % (replay,))
        repeats = replay
    if run_name is not None and (os.path.basename(run_name) != run_name or run_name in ("", ".", "..")):
        raise ValueError("run_name is a plain name, not %r; results is the folder" % (run_name,))
    if replay and repeats is None and not has_len(loader):
        raise ValueError("the loader has no len(): say how often the batch is repeated, as in replay=1000")
    mode = "replay" if replay else "live"
    record = recorded(loader, mode, count, results, run_name, overwrite)
    sized = hasattr(loader, "__len__") or repeats is not None
    return (SizedWatch if sized else Watch)(loader, record, repeats)


def recorded(loader, mode, count, results, run_name, overwrite):
    """The result of an earlier call with the same loader, or a new one."""
    key = (mode, results, run_name)
    try:
        known = _of_loader.setdefault(loader, {})
    except TypeError:  # a list, say, cannot be referred to weakly
        known = {}
    if key in known:
        return known[key]
    folder, name = (None, run_name or "watch") if results is None else make_folder(results, run_name, overwrite)
    record = Record(folder, name, mode, loader, count)
    record.cost_ns = measured_cost(count)
    known[key] = record
    _records.append(record)
    return record


class ResultError(ValueError):
    """A file that is no result of dlbench, or a damaged one, or whose schema_version this module does not know."""


def read(path):
    """The summary.json of a result, or of its folder, as dicts and lists; also what `dlbench sweep --json` printed."""
    path = os.path.join(path, "summary.json") if os.path.isdir(path) else path
    with open(path, encoding="utf-8") as file:
        try:
            document = json.load(file)
        except (ValueError, RecursionError) as why:
            raise ResultError("%s is not JSON: %s" % (path, why)) from None
    if not isinstance(document, dict) or not {"schema_version", "command", "run_name"} <= document.keys():
        raise ResultError("%s is no result of dlbench: it lacks schema_version, command or run_name" % path)
    if document["schema_version"] != SCHEMA_VERSION:
        raise ResultError("%s has schema_version %r; this dlbench.py (%s) reads %d: use the dlbench.py of the dlbench that wrote it"
                          % (path, document["schema_version"], __version__, SCHEMA_VERSION))
    return document


# Objects of a cell or a rung, null where nothing was measured: no columns.
NESTED = {"accelerators", "au", "cache", "in_c", "io", "os", "parts", "python", "race", "reads", "start_up", "strain", "worker_parts"}


def flat(row, values):
    """Adds numbers and texts as they are, and of an estimate its median as NAME, its ends as NAME_low, NAME_high or NAME_max.

    The ends of one repetition ("none") are its median, and no interval.
    """
    for name, value in values.items():
        if isinstance(value, dict) and "median" in value:
            one = value.get("interval") == "none"
            row[name] = value["median"]
            row.update(("%s_%s" % (name, end), None if one else value[end]) for end in ("low", "high", "max") if end in value)
        elif name not in NESTED and not isinstance(value, (dict, list)):
            row[name] = value
    return row


def stage_rows(known, of, stages):
    return [flat(dict(known, of=of, stage=name), figures) for name, figures in (stages or {}).items()]


def add_cell(out, known, axes, cell):
    known = dict(known, cell=cell["index"])
    row = flat(dict(known), {name: value for name, value in cell.items() if name not in ("index", "config", "verdict")})
    verdict = cell["verdict"]
    row.update(verdict=verdict["class"], cause=verdict["cause"], severity=verdict["severity"], verdict_code=verdict.get("code"))
    flat(row, {"gain": verdict.get("gain")})
    row["peak_pss_bytes"] = (cell.get("memory") or {}).get("peak_pss_bytes")
    row.update(cell["config"])
    out["cells"].append(row)
    known["pipeline"] = cell.get("pipeline")
    known.update((key, cell["config"].get(key)) for key in axes)
    rates = {name: value["values"] for name, value in cell.items() if name.endswith("samples_per_s") and value}
    lost = {"skipped_frac": cell["skipped_frac"]} if "skipped_frac" in cell else {}
    for number in range(max(map(len, rates.values()), default=0)):
        values = ((name, values[number] if number < len(values) else None) for name, values in rates.items())
        out["repetitions"].append(dict(known, repetition=number, **dict(values), **lost))
    for of in ("worker", "consumer", "device"):
        out["stages"] += stage_rows(known, of, cell.get(of + "_stages"))
    of_python = (cell.get("python") or {}).get("stages", [])
    out["stages"] += [dict(known, of="python", stage=stage["name"], count=stage["count"], sum_ns=stage["sum_ns"]) for stage in of_python]


def add_rung(out, known, rung):
    known = dict(known, cell=rung["rung"])
    out["cells"].append(flat(dict(known), {name: value for name, value in rung.items() if name != "rung"}))
    out["repetitions"] += [dict(known, repetition=i, seconds=value) for i, value in enumerate(rung["seconds"]["values"])]
    for of, parts in (("loop", "parts"), ("worker", "worker_parts")):
        out["stages"] += stage_rows(known, of, rung.get(parts))


def tables(result):
    """{"cells", "repetitions", "stages"}: a list of rows each, a row a dict. `result` is a path, or what read() returned.

    Names of columns are those of summary.json, units are their ends (_ns, _bytes, _frac, _per_s); None was not measured.
    """
    document = result if isinstance(result, dict) else read(result)
    try:
        return tables_of(document)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as why:
        name = "the document" if isinstance(result, dict) else result
        raise ResultError("%s is damaged: what it must hold is missing, or of another type (%s: %s)"
                          % (name, type(why).__name__, why)) from None


def tables_of(document):
    out = {"cells": [], "repetitions": [], "stages": []}
    known = {"run_name": document["run_name"]}
    if document["command"] == "watch":
        watch_of = document["watch"]
        out["cells"].append(flat(dict(known, cell=0), watch_of))
        for epoch in watch_of["epochs"]:
            out["repetitions"].append(flat(dict(known, cell=0, repetition=epoch["number"]), epoch))
        out["stages"] = stage_rows(dict(known, cell=0), "loop", {name: watch_of.get(name) or {} for name in ("waits", "step_to_step")})
    for cell in document.get("cells", []):
        add_cell(out, known, document.get("axes", {}), cell)
    for rung in document.get("gap", {}).get("rungs", []):
        add_rung(out, known, rung)
    return out


def frames(result):
    """The rows of tables() as pandas' data frames, by the same names."""
    try:
        import pandas
    except ImportError:
        raise ImportError("dlbench.frames needs pandas (pip install pandas); dlbench.tables gives the same rows without it") from None
    out = {name: pandas.DataFrame(rows) for name, rows in tables(result).items()}
    for frame in out.values():
        for column in frame.columns[frame.isna().all()]:
            frame[column] = float("nan")  # not None, with which no column counts as one of numbers
    return out


@atexit.register
def _finish():
    for record in _records:
        record.save(final=True)
