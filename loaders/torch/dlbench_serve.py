"""Serves the batches of a PyTorch DataLoader to one cell of dlbench (loaders/torch/ld_torch.c).

    dlbench_serve.py FD      FD: a socket of whole packets (SOCK_SEQPACKET)

The first packet is the set-up, a JSON object. What follows are records of little-endian u64: (question, number) from the cell, and
(answer, ...) to it. A NEXT is answered by BATCH, once the batch was copied as .to() copies it from pageable memory: samples, bytes, when
it was asked for, when a worker had finished it, when next() returned it, when it was copied, which worker. READY and FAILED carry JSON
behind their first number.

The loop is what a training script has: iter(), next(), and the batch of before is dropped when the next one is there. A script's loop
does not wait for another process to be scheduled. So the number of a NEXT says when the NEXT after it will come (0: at once; FOREVER:
that is not known), and from then on that one is answered before it comes. There is no thread here, and a question is waited for in
select() or recv(), without the interpreter's lock. Workers that are spawned import this file again, so
nothing happens on import.
"""

import contextlib
import errno
import gc
import inspect
import json
import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import os
import select
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback

from dlbench_batches import Batches, Count, Pages
from dlbench_errors import Refused, describe, words_of
from dlbench_names import BESIDE, accepted, arguments, beside, called, named
from dlbench_returned import check_dataset, check_loader, check_numbered

EPOCH, NEXT, STOP, WINDOW, STATS, PING = 1, 2, 3, 4, 5, 6
READY, FAILED, BEGUN, BATCH, END = 1, 2, 3, 4, 5
QUESTION = struct.Struct("<2Q")
ANSWER = struct.Struct("<8Q")
FOREVER = 2**64 - 1
STAMP_NEXT = 3  # dlbench_stamps.NEXT
SOON_NS = 1000000  # a batch that takes no longer was there when it was asked for, if no stamp tells
NO_LENGTH = (TypeError, AttributeError, NotImplementedError)  # what a __len__ raises that has no answer
ITERABLE = 1  # torch's _DatasetKind.Iterable
ENDS_S = 1  # how long a worker may take to end behind its last message
WEIGHT_BYTES = 33500000  # just below the 32 MiB up to which a freed block raises malloc's limits


def loader_settings(setup, torch):
    """The cell's settings by the names that DataLoader has for them; one that this torch lacks is refused."""
    get = setup["settings"].get
    workers = get("loader.num_workers")
    out = {
        "batch_size": get("loader.batch_size"),
        "num_workers": workers,
        "pin_memory": False,  # with an accelerator torch would pin for it, and these cells have an emulated one
        "drop_last": bool(get("loader.drop_last")),
        "shuffle": bool(get("loader.shuffle")),
    }
    if workers > 0:
        out["prefetch_factor"] = get("loader.prefetch_factor")
        out["persistent_workers"] = bool(get("loader.persistent_workers"))
        out["timeout"] = get("loader.timeout_s") or 0
        if get("python.start_method") and get("python.start_method") != "default":
            out["multiprocessing_context"] = get("python.start_method")
        if get("loader.order") == "any":
            if "in_order" in inspect.signature(torch.utils.data.DataLoader.__init__).parameters:
                out["in_order"] = False
            else:
                raise Refused("PYTHON_SETTING_MISSING", "torch %s has no in_order: torch 2.6 and newer have it" % torch.__version__)
    return out


class Source:
    """The loader, and what is known of it."""

    def __init__(self, torch, setup):
        self.torch, self.setup = torch, setup
        get = setup["settings"].get
        self.known = loader_settings(setup, torch)
        self.args = arguments(setup["settings"])
        self.n_samples, self.dataset, self.sampler = None, None, None
        self.board, self.costs, self.decodes = None, None, False
        self.asked, self.indices = None, None  # the log; what the last batch's worker was asked for
        self.given, self.made, self.accepted, self.collate, self.count = [], [], None, None, None
        if get("python.loader"):
            self.iterable = True
            self.loader = self.users_loader(get("python.loader"))
        else:
            if get("python.dataset"):
                module, make = named(get("python.dataset"), "python.dataset", setup["folder"])
                dataset = called(make, "python.dataset", get("python.dataset"), self.args)
                check_dataset(dataset, get("python.dataset"), torch.utils.data)
                extras, self.made = beside(module, dataset)
                self.given = [name for name in BESIDE if name in extras]
            else:
                import dlbench_twins

                if self.args:
                    raise Refused("PYTHON_ARGS", "python.args are for python.dataset or python.loader, and neither is named")
                dataset, extras = dlbench_twins.make(setup, Refused)
                if "collate_fn" in extras:
                    self.collate, self.count = extras["collate_fn"].__name__, dlbench_twins.count_ragged
            self.loader = self.data_loader(dataset, extras)
        self.exact = not self.iterable and self.sampler is None
        self.most = self.most_samples()
        if get("python.count"):
            self.count = named(get("python.count"), "python.count", setup["folder"])[1]

    def users_loader(self, spec):
        make = named(spec, "python.loader", self.setup["folder"])[1]
        settings = dict(self.known, seed=self.setup["seed"], rank=self.setup["rank"], world=self.setup["world"])
        settings.update({"in_order": settings.get("in_order", True)})
        for name in self.args:
            if name in settings:  # it would hide what the cell is about
                raise Refused("PYTHON_ARGS", "python.args.%s is among the settings that python.loader is given" % name)
        given = accepted(make, settings, self.args)
        self.accepted = sorted(given)
        loader = called(make, "python.loader", spec, dict(given, **self.args))
        check_loader(loader, spec, self.torch.utils.data, bool(self.setup["settings"].get("python.count")))
        return loader

    def data_loader(self, dataset, extras):
        import dlbench_asked
        import dlbench_cost
        import dlbench_stamps
        import dlbench_wrap

        torch, settings = self.torch, dict(self.known)
        data = torch.utils.data
        self.iterable = isinstance(dataset, data.IterableDataset)
        generator = torch.Generator()
        generator.manual_seed(self.setup["seed"])
        if self.iterable:
            if not isinstance(dataset, getattr(data, "IterDataPipe", ())):  # these DataLoader itself shuffles
                settings.pop("shuffle")
        else:
            has_sampler = extras.get("sampler") is not None or extras.get("batch_sampler") is not None
            if not has_sampler:
                check_numbered(dataset, self.setup["settings"].get("python.dataset"))
            with contextlib.suppress(*NO_LENGTH) if has_sampler else contextlib.nullcontext():  # only DataLoader's own sampler needs it
                self.n_samples = len(dataset)
            if self.setup["world"] > 1 and not has_sampler:
                extras["sampler"] = data.distributed.DistributedSampler(
                    dataset,
                    num_replicas=self.setup["world"],
                    rank=self.setup["rank"],
                    shuffle=settings["shuffle"],
                    seed=self.setup["seed"] & 0x7FFFFFFF,
                    drop_last=settings["drop_last"],
                )
        if extras.get("sampler") is not None or extras.get("batch_sampler") is not None:
            settings.pop("shuffle", None)
        if extras.get("batch_sampler") is not None:
            settings.pop("batch_size")
            settings.pop("drop_last")
        self.sampler = extras["sampler"] if extras.get("sampler") is not None else extras.get("batch_sampler")
        self.dataset = dataset
        collate = data.default_collate if extras.get("collate_fn") is None else extras["collate_fn"]
        extras["collate_fn"] = Count(collate)
        if self.setup["settings"].get("python.stamps"):
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stamps")
            try:
                self.board = dlbench_stamps.Board(path, settings["num_workers"], self.setup.get("trace"))
            except OSError as why:
                raise Refused("NO_SPACE" if why.errno == errno.ENOSPC else "IO", "%s: %s" % (path, why.strerror)) from None
            self.asked = dlbench_asked.Asked(self.n_samples) if self.n_samples else None
            self.board.batch_size = self.known["batch_size"]
            twins = sys.modules.get("dlbench_twins")
            self.decodes = not twins or self.setup["settings"].get("dataset.codec") in twins.DECODED
            dataset = dlbench_wrap.stamped(self.board, dataset, twins.COMPOSED if twins else [], twins.OPENERS if twins else [])
            extras["collate_fn"] = dlbench_stamps.Collate(self.board, dlbench_stamps.COLLATE, collate)
            if settings["num_workers"] > 0:
                extras["worker_init_fn"] = dlbench_wrap.Init(self.board, extras.get("worker_init_fn"))
            if self.setup["mode"] == "measure":
                self.costs = dlbench_cost.measured(self.board, dataset)
            dlbench_stamps.stamp_collections(self.board)
        return data.DataLoader(dataset, generator=generator, **settings, **extras)

    def opened(self, batch, worker):
        """A batch; of how many samples it was made (0: not known); the worker that made it; when that was; and whether this is known."""
        if self.dataset is None or batch is None:
            return batch, 0, worker, 0, False
        ready_ns = 0
        if self.board:
            batch, worker, ready_ns, n, self.indices = batch[:5]
        else:
            batch, n = batch
        n = 0 if self.iterable and n == 1 else n  # one item may be a batch of the user's own, which collate_fn passes on
        return batch, n, worker, ready_ns, self.board is not None

    def length(self):
        """How many samples an epoch has, as far as the objects tell."""
        if self.n_samples is not None:
            return self.n_samples
        for tell in (lambda: len(self.loader.dataset), lambda: len(self.loader) * self.known["batch_size"]):
            try:
                return tell()
            except NO_LENGTH:
                continue
        return None

    def most_samples(self, n_own=0):
        """Of an epoch of iterable data, beyond which it is taken for endless: such a run has no other end. None: any number.
        Where nothing splits the data by worker, each worker gives all of them, and that ends. n_own: workers of a python.loader, which
        need not keep to the setting."""
        get = self.setup["settings"].get
        if not self.iterable or not self.setup["samples"] or get("run.max_batches"):
            return None
        n_workers = max(get("loader.num_workers"), n_own)
        in_flight = get("loader.batch_size") * n_workers * (get("loader.prefetch_factor") or 0)
        return max(2, n_workers + 1) * self.setup["samples"] + in_flight

    def about(self):
        torch = self.torch
        get = self.setup["settings"].get
        method = get("python.start_method")
        if not method or method == "default":
            method = torch.multiprocessing.get_start_method()
        return {
            "torch": str(torch.__version__),
            "python": sys.version.split()[0],
            "interpreter": sys.executable,
            "iterable": not self.exact,
            "iterable_dataset": self.iterable and self.dataset is not None,
            "samples": self.n_samples if self.exact else None,
            "start_method": method if get("loader.num_workers") else None,
            "threads": torch.get_num_threads(),
            "stamp_words": self.board.n_words if self.board else 0,
            "given": self.given,
            "made": self.made,
            "accepted": self.accepted,
            "collate": self.collate,
        }


def n_own_workers(loader):
    """How many workers the user's loader may have: what it says, or the processes and threads that are there."""
    n = getattr(loader, "num_workers", 0)
    seen = len(multiprocessing.active_children()) + threading.active_count() - 1
    return max(n if isinstance(n, int) else 0, seen)


def ended_worker(iterator):
    """An exception that tells of a worker of DataLoader's that ended, if there is one; it may be about to. One whose stream is at its
    end ends, too, with exit code 0."""
    workers = [one for one in getattr(iterator, "_workers", ()) if hasattr(one, "sentinel")]
    there = [one.sentinel for one in workers if one.exitcode is None]
    if there and not any(one.exitcode for one in workers):
        multiprocessing.connection.wait(there, ENDS_S)
    usual = {None, 0} if getattr(iterator, "_dataset_kind", None) == ITERABLE else {None}
    ended = sorted((one.exitcode == 0, i, one.exitcode) for i, one in enumerate(workers) if one.exitcode not in usual)
    for _, i, code in ended[:1]:
        how = "with exit code %d" % code if code >= 0 else "by signal %d" % -code
        return Refused("PYTHON_RAISED", "worker %d of DataLoader ended %s: does its code call sys.exit?" % (i, how))
    return None


def set_epoch(sampler, epoch):
    """Of a sampler or a batch_sampler, which may have a sampler within."""
    for one in sampler, getattr(sampler, "sampler", None):
        if hasattr(one, "set_epoch"):
            one.set_epoch(epoch)
            return


class Server:
    def __init__(self, channel, source, batches, kept):
        self.channel, self.source, self.batches, self.kept = channel, source, batches, kept
        self.iterator, self.batch, self.n_made_of, self.pages = None, None, 0, None
        self.n_epochs, self.n_taken, self.n_samples, self.window, self.opened, self.opened_ns, self.drawn = 0, 0, 0, None, None, 0, None
        self.had_batches = False  # in an epoch before
        self.foreseen_ns, self.is_ahead = None, False  # the next NEXT; whether it is answered

    def say(self, kind, a=0, b=0, c=0, d=0, e=0, f=0, g=0):
        self.channel.send(ANSWER.pack(kind, a, b, c, d, e, f, g))

    def tell(self, kind, document):
        self.channel.send(struct.pack("<Q", kind) + json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))

    def begin(self, epoch):
        if not self.kept:
            self.iterator = None
            set_epoch(self.source.sampler, epoch)
            self.iterator, self.n_taken, self.n_samples = iter(self.source.loader), 0, 0
        self.say(BEGUN)

    def keep_one(self):
        """For a ceiling: the first batch stays, and its loader goes."""
        iterator = iter(self.source.loader)
        self.batch, self.n_made_of = self.source.opened(next(iterator, None), 0)[:2]
        if self.batch is None:
            raise Refused("PYTHON_NO_BATCH", "the loader has no batch")
        del iterator
        self.pages = Pages(self.batches.blocks(self.batches.tensors(self.batch, [])))

    def look(self):
        """For a probe: how many samples there are, and what one takes in a batch."""
        self.keep_one()
        _, n_samples, n_bytes = self.batches.measure(self.batch, self.n_made_of)
        return {"samples": self.source.length(), "sample_bytes": n_bytes // max(n_samples, 1)}

    def next(self):
        asked_ns = ready_ns = time.monotonic_ns()
        worker, stamped = self.n_taken, True
        if self.kept:
            self.pages.unmap()
        else:
            try:
                self.batch, self.n_made_of, worker, ready_ns, stamped = self.source.opened(next(self.iterator), worker)
            except StopIteration:
                return self.end()
            except (OSError, EOFError) as why:  # what a worker that ended has left behind is not there
                if "Original Traceback" in words_of(why):  # a worker's own, which it told of
                    raise
                raise ended_worker(self.iterator) or why
        self.n_taken += 1
        board = None if self.kept else self.source.board
        taken_ns = board.add(STAMP_NEXT, asked_ns) if board else time.monotonic_ns()
        if not stamped:
            ready_ns = asked_ns if taken_ns - asked_ns < SOON_NS else taken_ns
        blocks, n_samples, n_bytes = self.batches.measure(self.batch, self.n_made_of)
        self.batches.copy(blocks)
        copied_ns = time.monotonic_ns()
        self.check_end(n_samples)
        self.say(BATCH, n_samples, n_bytes, asked_ns, ready_ns, taken_ns, copied_ns, worker)
        if board and self.source.asked:
            self.source.asked.note(self.source.indices)

    def end(self):
        """Of an epoch. A generator has one alone, and no training has epochs without a batch."""
        if self.had_batches and self.n_taken == 0:
            raise Refused(
                "PYTHON_ONE_EPOCH",
                "epoch %d has no batch, and an epoch before had some: what gives them can be iterated once, as a generator can: return an "
                "object whose __iter__ begins anew" % self.n_epochs,
            )
        self.iterator = None
        self.n_epochs += 1
        self.had_batches = self.had_batches or self.n_taken > 0
        self.say(END)

    def check_end(self, n_samples):
        """Whether the epoch may still come to its end, after so many samples more."""
        self.n_samples += n_samples
        if self.kept or self.source.most is None or self.n_samples <= self.source.most:
            return
        self.source.most = self.source.most_samples(n_own_workers(self.source.loader))
        if self.n_samples <= self.source.most:
            return
        raise Refused(
            "PYTHON_ENDLESS",
            "one epoch gave %d samples, and python.samples is %d: set run.max_batches if it has no end, or python.samples to what "
            "it has (each worker gives all of it, unless its code asks get_worker_info)" % (self.n_samples, self.source.setup["samples"]),
        )

    def mark(self, opens):
        """The measured window opens or closes."""
        board = self.source.board
        now_ns = time.monotonic_ns()
        if board and opens:
            self.opened, self.opened_ns, self.drawn = board.read(), now_ns, board.drawn()
        elif board and self.opened:
            self.window = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(self.opened, board.read())]
            self.drawn = board.drawn().since(self.drawn)
            board.end_window(self.opened_ns, now_ns)

    def stats(self):
        """The stages within the window; and whether each sample was asked for once an epoch, if whole epochs were read."""
        unknown = dict.fromkeys(("timed", "stamp_ns", "stamps_frac", "computing_frac", "once"))
        board, costs, out = self.source.board, self.source.costs, {"stages": [], **unknown}
        if costs:
            out["stamp_ns"] = costs.stamp.apart
        if costs and self.window:
            from dlbench_account import computing_frac, stages

            drawn = self.drawn if costs.groups else self.drawn._replace(samples=None)
            is_own = bool(self.source.setup["settings"].get("python.dataset"))  # what others read is known
            out["stages"] = stages(board.names, self.window, self.source.decodes, drawn, is_own)
            out["timed"] = drawn.samples
            out["computing_frac"] = computing_frac(self.window)
            out["stamps_frac"] = costs.frac(self.window, self.drawn)
        if board and board.trace:
            from dlbench_account import track

            out["names"] = track(board.names, self.source.decodes)
        whole = self.n_epochs > 0 and self.iterator is None and self.source.setup["world"] == 1  # of several, each has its share
        if board and self.source.asked and whole and not self.source.iterable:
            wrong = self.source.asked.more_and_fewer(self.n_epochs)
            out["once"] = {"epochs": self.n_epochs, "more": wrong[0], "fewer": wrong[1]} if wrong else None
        self.tell(READY, out)

    def answer_next(self, foreseen_ns):
        if not self.is_ahead:
            self.next()
        has_more = self.kept or self.iterator is not None
        self.is_ahead, self.foreseen_ns = False, foreseen_ns if has_more and foreseen_ns != FOREVER else None

    def answer_ahead(self):
        """Answers the foreseen question if it is time and no question is there."""
        left_ns = max(self.foreseen_ns - time.monotonic_ns(), 0)
        if not select.select([self.channel], [], [], left_ns / 1e9)[0]:
            self.next()
            self.is_ahead, self.foreseen_ns = True, None

    def serve(self):
        question = bytearray(QUESTION.size)
        while True:
            if self.foreseen_ns is not None:
                self.answer_ahead()
            try:
                if self.channel.recv_into(question) != QUESTION.size:
                    return  # the cell is gone
            except ConnectionResetError:  # it is gone, and had not read an answer
                return
            kind, number = QUESTION.unpack(question)
            if kind == NEXT:
                self.answer_next(number)
            elif kind == EPOCH:
                self.begin(number)
            elif kind == WINDOW:
                self.mark(number == 1)
            elif kind == PING:
                self.say(BEGUN)
            elif kind == STATS:
                self.stats()
            else:
                return


def make_temporary_folder(folder):
    """For multiprocessing's sockets, one for all workers; its path. In dlbench's folder, which is removed however the processes end, if
    sockets can be there."""
    kept = tempfile.tempdir
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as trial:  # its path is as long as they become
        trial.bind(os.path.join(folder, "pymp-01234567-listener-01234567"))
        tempfile.tempdir = folder
    made = multiprocessing.util.get_temp_dir()
    tempfile.tempdir = kept
    return made


def move_model(torch):
    """What a training script has done before its loop: a model was made on the CPU, and its weights were freed there when it moved to the
    accelerator. glibc then keeps blocks of such a size in the heap, and up to twice as much free memory at its end. Without that it
    gives the end of the heap back at twice the largest tensor freed so far, in one process at each batch and in another at none."""
    torch.empty(WEIGHT_BYTES, dtype=torch.uint8)


def collect_garbage():
    """Python collects all of its garbage when a quarter of its objects are new: with torch that is a pause of 80 ms and more, once in hundreds
    of batches. Imports decide when the first one comes. From here on this process and workers that are forked from it have as far to go in
    every cell; those that are spawned import anew, as a script's do."""
    gc.collect()


def run(server, setup):
    try:
        import torch
        import torch.utils.data
    except Exception as why:  # a library that it lacks raises OSError
        raise Refused("PYTHON_NO_TORCH", "it cannot import torch (%s)" % why) from None
    get = setup["settings"].get
    if get("python.threads"):
        torch.set_num_threads(get("python.threads"))
    move_model(torch)
    server.source = Source(torch, setup)
    server.batches = Batches(torch, server.source.count)
    about = server.source.about()
    if setup["mode"] == "probe":
        about.update(server.look())
    elif server.kept:
        server.keep_one()
    collect_garbage()
    server.tell(READY, about)
    server.serve()


def main():
    channel = socket.socket(fileno=int(sys.argv[1]))
    setup = json.loads(channel.recv(1 << 20))
    sys.argv = sys.argv[:1]
    server = Server(channel, None, None, setup["mode"] == "ceiling")
    temporary = None
    try:
        temporary = make_temporary_folder(os.path.dirname(os.path.abspath(__file__)))
        setup["folder"] = os.getcwd()
        sys.path.insert(1, setup["folder"])  # as `python train.py` there would have it, behind this file's folder
        run(server, setup)
    except BaseException as why:  # the cell fails with it
        if not isinstance(why, Refused):
            with contextlib.suppress(Exception):  # stderr may be closed
                traceback.print_exc()
        server.tell(FAILED, describe(why))
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
            if temporary:  # and no other, whatever the user's code has set
                shutil.rmtree(temporary, ignore_errors=True)
        os._exit(0)  # workers that hang, and exit handlers, cannot delay the end: the keeper ends what is left


if __name__ == "__main__":
    main()
