"""Runs one PyTorch rung of `dlbench gap` in an interpreter of its own, or says what that interpreter has.

    rung.py --spec FILE --result FILE [--heartbeat-fd N]

The specification is the flat configuration that C rungs get ("gap.samples", ...) and, beside it:
    rung     "torch-dataloader" and so on; "probe": only says which torch there is
    array    a command that writes the array to its stdout: all rungs read the same bytes
    device   {"kind": "buffer" | "emulated" | "cuda", "pageable_bytes_per_s", "copy_s", "step_s"}
    check    the warm-up is a whole epoch, and its content is checksummed

The result is the JSON form of struct dlb_rung_result (scenarios/gap/rungs/rung_result.h). The measured epoch runs what a user would
write, without changes: time stamps are taken a few times for each batch, never for an item. Nothing here waits by spinning.
"""

import mmap
import os
import statistics
import sys
import time
import traceback

import dlbench_child
from account import (COUNTED, Board, Fetches, Parts, calls, count_polls, fault_cost, missing, stamp, thread_row, threads_now,
                     worker_parts)
from ends import TARGETS, Checksum, NotMeasured, read_array

POLL_S = 5.0  # torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL: how often DataLoader checks that its workers are alive


class Direct:
    """Contiguous slices, in order: the published 1x."""

    n_workers, slow, named, opening = 0, False, "slice", "start"

    def __init__(self, torch, x, spec):
        self.torch, self.x, self.batch = torch, x, spec["gap.batch_size"]

    def open(self):
        return iter(self.x[at : at + self.batch] for at in range(0, len(self.x), self.batch))


class Gather(Direct):
    """X[idx]: shuffled, vectorised, into new memory."""

    named, opening = "gather", "permutation"

    def open(self):
        n = len(self.x)
        order = self.torch.randperm(n)
        return iter(self.x[order[at : at + self.batch]] for at in range(0, n, self.batch))


class Loader(Direct):
    """DataLoader(TensorDataset(X), shuffle=True), as in the article."""

    slow, named, n_workers = True, "rest", 0

    def __init__(self, torch, x, spec):
        super().__init__(torch, x, spec)
        self.spec = spec

    def options(self):
        return {"shuffle": True}

    def open(self, rows=None, **other):
        data = self.torch.utils.data
        options = dict(self.options(), **other)
        return iter(data.DataLoader(data.TensorDataset(self.x if rows is None else self.x[:rows]), self.batch, **options))


class LoaderWorkers(Loader):
    named = "wait"

    def __init__(self, torch, x, spec):
        super().__init__(torch, x, spec)
        self.n_workers = spec["gap.workers"]

    def options(self):
        # Forked, as in the published run. Workers of another start method would not share the board of accounts.
        return {"shuffle": True, "num_workers": self.n_workers, "pin_memory": True, "multiprocessing_context": "fork"}


class OutOfOrder(LoaderWorkers):
    def options(self):
        return dict(super().options(), in_order=False)


class ListIndexing(Loader):
    """A sampler of whole batches: the data set is asked for a list of indices, not for each index."""

    slow = False

    def open(self, rows=None):
        data = self.torch.utils.data
        rows = data.TensorDataset(self.x if rows is None else self.x[:rows])
        sampler = data.BatchSampler(data.RandomSampler(rows), self.batch, False)
        return iter(data.DataLoader(rows, sampler=sampler, batch_size=None))


RUNGS = {
    "torch-direct": Direct,
    "torch-gather": Gather,
    "torch-dataloader": Loader,
    "torch-dataloader-workers": LoaderWorkers,
    "torch-batch-sampler": ListIndexing,
    "torch-out-of-order": OutOfOrder,
}


def bare(batch):
    """The tensor: TensorDataset and collate return a list with one tensor."""
    return batch[0] if isinstance(batch, (list, tuple)) else batch


class Session:
    def __init__(self, torch, spec, beat):
        self.torch, self.spec, self.beat = torch, spec, beat
        kind = RUNGS[spec["rung"]]
        if kind is OutOfOrder and not has_in_order(torch):
            raise NotMeasured("torch %s has no in_order; it needs 2.6 or newer: pip install --upgrade torch" % torch.__version__)
        torch.manual_seed(spec["gap.seed"])
        start_ns = time.monotonic_ns()
        self.x = read_array(torch, spec)
        array_ns = time.monotonic_ns()
        self.target = TARGETS[spec["device"]["kind"]](torch, spec, spec["device"])
        self.start_up = {"array": (array_ns - start_ns) / 1e9, "device": (time.monotonic_ns() - array_ns) / 1e9}
        self.rung = kind(torch, self.x, spec)
        self.board = Board(self.rung.n_workers)
        self.fetches = Fetches(torch, self.board)
        self.n_batches = -(-spec["gap.samples"] // spec["gap.batch_size"])

    def warm_up(self):
        n = self.spec["gap.warmup_epochs"]
        if n == 0:
            return None
        if self.spec["check"]:
            total = Checksum(self.torch, self.spec["gap.features"])
            self.epoch(see=total.add)
            return total.text()
        if n == 1 and self.rung.slow:  # one batch warms a DataLoader up as well as an epoch does
            for batch in self.rung.open(rows=self.rung.batch):
                self.target.ready(bare(batch))
                self.target.copy(bare(batch))
            return None
        for _ in range(n):
            self.epoch()
        return None

    def epoch(self, see=None):
        parts, copies, syncs, polls = Parts(), [], [], [0]
        before, last = threads_now(), None
        self.board.clear()
        self.fetches.seen, next_ns = [], []
        begin = at = stamp()
        batches = self.rung.open()
        count_polls(batches, polls)
        at = parts.add(self.rung.opening, at)
        n = 0
        while True:
            next_ns.append(at)
            batch = next(batches, None)
            at = parts.add(self.rung.named, at)
            if batch is None:
                break
            batch = bare(batch)
            n += 1
            if n == self.n_batches:
                last = threads_now()  # some threads have ended when the iterator ends
                at = parts.add("account", at)
            since = at
            self.target.ready(batch)
            at = parts.add("sync", at)
            syncs.append(at[0] - since[0])
            since = at
            self.target.copy(batch)
            at = parts.add("copy", at)
            copies.append(at[0] - since[0])
            self.target.step()
            if see:
                see(batch)
            at = parts.add("step", at)
            self.beat(len(batch))
        self.target.wait()
        since, at = at, parts.add("sync", at)
        syncs.append(at[0] - since[0])
        del batches
        end = parts.add("end", at)
        self.split(parts, next_ns)
        return {
            "ns": end[0] - begin[0],
            "parts": parts,
            "copies": copies,
            "syncs": syncs,
            "polls": polls[0],
            "os": self.os(before, last or before, begin[0], end[0]),
            "workers": [self.board.read(i) for i in range(self.rung.n_workers)],
        }

    def split(self, parts, next_ns):
        """Splits the time that DataLoader spends inside next() in this process: drawing indices, items, collate."""
        seen, drawn = self.fetches.seen, []
        for since, (start, collate, collated, end) in zip(next_ns, seen):
            drawn.append((start[0] - since[0], start[1] - since[1]))
            names = ("gather" if isinstance(self.rung, ListIndexing) else "index", "stack", "free")
            for name, one, other in zip(names, (start, collate, collated), (collate, collated, end)):
                parts.move(name, other[0] - one[0], other[1] - one[1], self.rung.named)
        if not drawn:
            return
        for ns, faults in drawn:
            parts.move("list_and_sampler", ns, faults, self.rung.named)
        if len(drawn) > 1:  # the first one draws the whole permutation and makes a list of it
            usual = [statistics.median_low(pair[i] for pair in drawn[1:]) for i in range(2)]
            first = [max(drawn[0][i] - usual[i], 0) for i in range(2)]
            parts.move("permutation", first[0], first[1], "list_and_sampler")

    def os(self, before, last, begin_ns, end_ns):
        after, rows = threads_now(), []
        seen = {**last, **after}
        for tid in sorted(seen, key=lambda tid: (tid != os.getpid(), tid)):  # the loop first
            name, counted, seen_ns = seen[tid]
            zero = before.get(tid, (None, dict.fromkeys(COUNTED, 0), None))[1]
            counted = {key: counted[key] - zero[key] for key in COUNTED}
            rows.append(thread_row(name, False, counted, (end_ns if tid in after else seen_ns) - begin_ns))
        for i in range(self.rung.n_workers):
            row = self.board.read(i)
            rows.append(thread_row("worker %d" % i, True, row, row["end_ns"] - row["start_ns"]) if row else missing("worker %d" % i))
        known = os.getpid() in seen and all(row["cpu_ns"] is not None for row in rows)
        sums = {key: sum(row[key] for row in rows) if known else None for key in COUNTED + ("blocked_ns", "wall_ns")}
        return {"process": sums, "threads": rows, "page_bytes": mmap.PAGESIZE}

    def ordered(self):
        """A few batches of the same work in order: a shuffle takes longer than this because of cache and TLB misses."""
        batch, wanted = self.rung.batch, min(3, self.n_batches)
        rows = min(batch * wanted, len(self.x))
        if type(self.rung) is not Loader or not self.fetches.works or rows <= batch:
            return None
        self.fetches.seen = []
        for piece in self.rung.open(rows=rows, shuffle=False):
            self.beat()
        ns = sum(collated[0] - collate[0] for _, collate, collated, _ in self.fetches.seen[1:])
        return {"part": "stack", "seconds_per_sample": ns / 1e9 / (rows - batch)}

    def measure(self):
        checksum = self.warm_up()
        epochs = [self.epoch() for _ in range(self.spec["gap.epochs"])]
        shown = sorted(epochs, key=lambda epoch: epoch["ns"])[(len(epochs) - 1) // 2]
        shared = self.rung.n_workers > 0
        own_ns, page_bytes = fault_cost(self.torch, False)
        ns = fault_cost(self.torch, True)[0] if shared else own_ns
        workers = [row for row in shown["workers"] if row]
        filling = sum(row["stack_faults"] for row in workers) + sum(
            shown["parts"].faults.get(name, 0) for name in ("stack", "gather")
        )
        of_batches = filling + shown["parts"].faults.get("copy", 0)
        faults = shown["os"]["process"]["minor_faults"]
        known = faults is not None and len(workers) == self.rung.n_workers
        return {
            "status": "ok",
            "seconds": shown["ns"] / 1e9,
            "epochs": [epoch["ns"] / 1e9 for epoch in epochs],
            "n_samples": self.spec["gap.samples"],
            "n_batches": self.n_batches,
            "batch_bytes": self.rung.batch * self.spec["gap.features"] * 4,
            "n_workers": self.rung.n_workers,
            "checksum": checksum,
            "huge_pages": {"asked": self.spec["gap.pages"], "batches_asked": "kernel", "array_frac": None, "batch_frac": None},
            "parts": shown["parts"].document(shown["ns"]),
            "worker_parts": worker_parts(workers),
            "start_up": self.start_up,
            "faults": {
                "ns": ns,
                "kind": "shared" if shared else "private",
                "page_bytes": page_bytes,
                "seconds": (ns * of_batches + own_ns * max(faults - of_batches, 0)) / 1e9 if known else None,
                "per_batch": filling * self.rung.batch / self.spec["gap.samples"] if known else None,
            },
            "os": shown["os"],
            "copy_calls": calls([ns for epoch in epochs for ns in epoch["copies"]]),
            "sync_calls": calls([ns for epoch in epochs for ns in epoch["syncs"]]),
            "liveness_polls": {"count": shown["polls"], "seconds": shown["polls"] * POLL_S},
            "ordered": self.ordered() if self.spec["check"] else None,
        }


def has_in_order(torch):
    return "in_order" in torch.utils.data.DataLoader.__init__.__code__.co_varnames


def row_seconds(torch, features):
    """What a DataLoader takes for a row: how long the ladder will take follows from it. Batches are too large for the caches, as those of
    the ladder are: of 8,192 rows each takes half as long. None: it failed, and the rungs will say why."""
    data, rows, batch = torch.utils.data, 65536, 32768
    try:
        loader = data.DataLoader(data.TensorDataset(torch.zeros(rows, features)), batch, shuffle=True)
        start_ns = time.monotonic_ns()
        for _ in loader:
            pass
    except Exception:
        return None
    return (time.monotonic_ns() - start_ns) / 1e9 / rows


def measured(spec, beat):
    start_ns = time.monotonic_ns()
    try:
        import torch
        import torch.utils.data
    except ImportError as why:
        return {"status": "not-measured", "reason": "it cannot import torch (%s)" % why}
    import_s = (time.monotonic_ns() - start_ns) / 1e9
    found = {"python": sys.executable, "python_version": sys.version.split()[0], "torch": str(torch.__version__)}
    if spec["rung"] == "probe":
        torch.ones(2).sum()  # a broken library crashes here and not later
        about = dict(cuda=bool(torch.cuda.is_available()), in_order=has_in_order(torch), threads=torch.get_num_threads())
        return dict(found, status="ok", import_s=import_s, row_s=row_seconds(torch, spec["gap.features"]), **about)
    session = Session(torch, spec, beat)
    session.start_up["import"] = import_s
    return dict(found, rung=spec["rung"], **session.measure())


def answer(spec, beat):
    try:
        return measured(spec, beat)
    except NotMeasured as why:
        return {"status": "not-measured", "reason": str(why)}
    except Exception as why:  # an exception of torch costs only this rung
        traceback.print_exc()
        return {"status": "failed", "reason": "%s: %s" % (type(why).__name__, " ".join(str(why).split())[:400])}


if __name__ == "__main__":
    dlbench_child.run(answer)
