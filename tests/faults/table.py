"""Which faults are planted at which points of a run, in which formats and loaders, and what must follow.

A row plants one fault at one point (the DLB_FAULT of tests/support/faults.c). `wants` is what dlbench must do then:

  right   exit 0, and every sample with its right bytes
  noted   exit 0, with a note of what was skipped, and where
  spared  an error, with code, path and cause; the new result is whole, with every sample, but has no page
  told    an error, with a code, and with path and cause where these are given
  either  one of the two: what was lost is told, or nothing was
  ended   dlbench waits, as it says; an interrupt ends it, with 130
  killed  the program itself is killed: the earlier result is whole, and the next run removes what is left

`empty` says why there is no row.
"""

FAULTS = ["EIO", "short", "EINTR", "ENOSPC", "EMFILE", "hang", "truncate", "grow", "replace", "delete", "SIGKILL", "SIGSTOP",
          "SIGSEGV", "fork", "mmap", "nomem"]
POINTS = ["open", "list", "read", "decode", "collate", "copy", "write"]
LOADERS = ["inline", "threads", "processes"]
CHANGES = ["truncate", "grow", "replace", "delete"]
SIGNALS = ["SIGKILL", "SIGSTOP", "SIGSEGV"]
CAUSES = {"EIO": "Input/output error", "EMFILE": "Too many open files", "ENOSPC": "No space left on device"}


class Variant:
    """A format, read in one way. `folder`: a data set is a folder that is listed. `maps`: by a map, not by read calls."""

    def __init__(self, name, format, access="auto", folder=False, maps=False, zstd=False, library=False, gen=(), more=()):
        self.name, self.format, self.access, self.folder, self.maps = name, format, access, folder, maps
        self.zstd, self.library, self.gen, self.more = zstd, library, list(gen), list(more)
        self.uring = "io_uring" in self.more


SHARDS = ["--webdataset.shard_samples", "8", "--tfrecord.shard_samples", "8"]
VARIANTS = [
    Variant("files", "files", folder=True, zstd=True),
    Variant("files-uring", "files", folder=True, zstd=True, more=["--loader.io", "io_uring"]),
    Variant("webdataset", "webdataset", "stream", folder=True, zstd=True, library=True, gen=SHARDS),
    Variant("webdataset-indexed", "webdataset", "indexed", folder=True, zstd=True, library=True, gen=SHARDS),
    Variant("webdataset-packed", "webdataset", "stream", folder=True, library=True,
            gen=SHARDS + ["--webdataset.compression", "zst"]),
    Variant("tokens-mmap", "tokens", "mmap", folder=True, maps=True,
            gen=["--tokens.seq_len", "1000", "--tokens.file_tokens", "9000"], more=["--tokens.seq_len", "1000"]),
    Variant("tokens-pread", "tokens", "pread", folder=True,
            gen=["--tokens.seq_len", "1000", "--tokens.file_tokens", "9000"], more=["--tokens.seq_len", "1000"]),
    Variant("hdf5-library", "hdf5", "library", zstd=True, library=True),
    Variant("hdf5-chunks", "hdf5", "chunks", zstd=True, library=True),
    Variant("lmdb", "lmdb", maps=True, zstd=True, library=True),
    Variant("tfrecord", "tfrecord", folder=True, zstd=True, gen=SHARDS),
    Variant("npz", "npz"),
]


class Row:
    def __init__(self, fault, point, name, plant, wants, path=False, cause="", act="", fits=None, slow=None, more=()):
        self.fault, self.point, self.name, self.plant, self.wants = fault, point, name, plant, wants
        self.path, self.cause, self.act, self.more = path, cause, act, list(more)
        self.fits = fits or (lambda variant, loader: True)
        self.slow = slow or (lambda loader: False)  # waits for the 15 s that an interrupted cell has

    def wanted(self, loader):
        return self.wants(loader) if callable(self.wants) else self.wants


ROWS = []


def row(fault, point, name, plant, wants, **more):
    ROWS.append(Row(fault, point, name, plant, wants, **more))


# Calls that the preload reaches in this variant: io_uring's and a map's are not calls of libc.
def by_calls(variant, loader):
    return not variant.uring and not variant.maps


def listed(variant, loader):
    return variant.folder


# liblmdb takes a short read of its file's head, or one that EINTR ends, for an error. dlbench opens the file again, ten times in
# all. A storm ends each of two reads, one after the other, so no opening survives it: that is told.
def only_lmdb(variant, loader):
    return variant.format == "lmdb"


def not_lmdb(variant, loader):
    return variant.format != "lmdb"


def reopens(variant, loader):
    """It opens files while batches flow."""
    return by_calls(variant, loader) and variant.name in ("files", "webdataset", "webdataset-packed", "tfrecord")


def workers(loader):
    return loader == "processes"


def stuck(loader):
    """A training loop that loads itself has no timeout, as in PyTorch: the runner's five minutes, or an interrupt, end it."""
    return "ended" if loader == "inline" else "told"


def stopped(loader):
    """SIGSTOP stops a worker process, or the cell itself."""
    return "told" if workers(loader) else "ended"


LOOK, CELL, RUN = "in=look", "in=cell", "in=cell,phase=run"
DATA = "path=/data"

# The opening: by the program, which looks at the data first, and by each cell.
for error in ["EIO", "EMFILE"]:
    for place, where in [("look", LOOK), ("cell", CELL)]:
        row(error, "open", place, f"at=open,{where},{DATA},effect={error}", "told", path=True, cause=CAUSES[error])
        row(error, "list", place, f"at=list,{where},{DATA},effect={error}", "told", path=True, cause=CAUSES[error], fits=listed)
for place, where in [("look", LOOK), ("cell", CELL)]:
    row("EINTR", "open", place, f"at=open,{where},{DATA},effect=storm", "right")
    row("hang", "open", place, f"at=open,{where},{DATA},effect=hang", "ended", path=place == "look",
        slow=lambda loader, place=place: place == "cell")
    row("hang", "list", place, f"at=list,{where},{DATA},effect=hang", "ended", path=place == "look", fits=listed,
        slow=lambda loader, place=place: place == "cell")
    row("nomem", "open", place, f"at=open,{where},{DATA},effect=arm,next=malloc", "either")
    row("nomem", "list", place, f"at=list,{where},{DATA},effect=arm,next=malloc", "either", fits=listed)
    row("EIO", "read", "head-" + place, f"at=read,phase=open,{where},{DATA},effect=EIO", "either", path=True)
    row("short", "read", "head-" + place, f"at=read,phase=open,{where},{DATA},effect=short", "right", fits=not_lmdb)
    row("short", "read", "lmdb-" + place, f"at=read,phase=open,{where},{DATA},effect=short", "either", fits=only_lmdb)
    row("EINTR", "read", "head-" + place, f"at=read,phase=open,{where},{DATA},effect=storm", "right", fits=not_lmdb)
    row("EINTR", "read", "lmdb-" + place, f"at=read,phase=open,{where},{DATA},effect=storm", "either", fits=only_lmdb)
    for fault, effect in [("short", "short"), ("EINTR", "EINTR")]:  # dlbench reads the head four times before
        row(fault, "read", "lmdb-few-" + place, f"at=read,phase=open,{where},{DATA},after=4,times=5,effect={effect}", "right",
            fits=only_lmdb)
    for signal in ["SIGKILL", "SIGSEGV"]:
        row(signal, "open", place, f"at=open,{where},{DATA},times=1,effect={signal}", "told")
        row(signal, "list", place, f"at=list,{where},{DATA},times=1,effect={signal}", "told", fits=listed)
row("mmap", "open", "data", f"at=mmap,{DATA},effect=ENOMEM", "told", path=True, fits=lambda v, l: v.maps)
row("fork", "open", "look", "at=fork,in=look,effect=EAGAIN", "told", cause="Resource temporarily unavailable")
row("fork", "open", "cell", "at=fork,in=look,after=1,effect=EAGAIN", "told", cause="Resource temporarily unavailable")
row("fork", "read", "workers", "at=fork,in=cell,effect=EAGAIN", lambda l: "either" if l == "inline" else "told")
row("fork", "read", "second", "at=fork,in=cell,after=2,effect=EAGAIN", "either")

# The data set changes after the program looked at it, before the cell opens it.
for change in CHANGES:
    row(change, "open", "cell", f"at=open,in=cell,{DATA},times=1,effect=hang", "either", act=change)
    row(change, "list", "cell", f"at=list,in=cell,{DATA},times=1,effect=hang", "either", act=change, fits=listed)
    # Between two samples; from a worker that has one in its hands.
    row(change, "read", "between", "at=collate,in=cell,after=2,times=1,effect=hang", "either", act=change)

# Reading, while batches flow.
row("EIO", "read", "first", f"at=read,{RUN},{DATA},effect=EIO", "told", path=True, cause=CAUSES["EIO"], fits=by_calls)
row("EIO", "read", "later", f"at=read,{RUN},{DATA},after=5,times=1,effect=EIO", "told", path=True, fits=by_calls)
row("EIO", "read", "skipped", f"at=read,{RUN},{DATA},times=1,effect=EIO", "noted", fits=by_calls,
    more=["--dataset.on_error", "skip"])
row("short", "read", "always", f"at=read,{RUN},{DATA},effect=short", "right", fits=by_calls)
row("EINTR", "read", "always", f"at=read,{RUN},{DATA},effect=storm", "right", fits=by_calls)
for error in ["EIO", "EMFILE"]:
    row(error, "read", "open", f"at=open,{RUN},{DATA},effect={error}", "told", path=True, cause=CAUSES[error], fits=reopens)
    # Of the others, the file is opened again for what is told of the page cache, or by libhdf5 in a worker.
    row(error, "read", "open-after", f"at=open,{RUN},{DATA},effect={error}", "either", path=True,
        fits=lambda v, l: by_calls(v, l) and not reopens(v, l))
row("EINTR", "read", "open", f"at=open,{RUN},{DATA},effect=storm", "right", fits=by_calls)
row("hang", "read", "once", f"at=read,{RUN},{DATA},effect=hang,times=1", stuck, fits=by_calls, slow=lambda l: l == "inline")
for signal in ["SIGKILL", "SIGSEGV"]:
    row(signal, "read", "once", f"at=read,{RUN},{DATA},times=1,effect={signal}", "told", cause=signal, fits=by_calls)
row("SIGSTOP", "read", "once", f"at=read,{RUN},{DATA},times=1,effect=SIGSTOP", stopped, fits=by_calls, slow=lambda l: not workers(l))
row("mmap", "read", "armed", "at=collate,in=cell,after=2,effect=arm,next=mmap", "either")
row("nomem", "read", "armed", f"at=read,{RUN},{DATA},effect=arm,next=malloc", "either", fits=by_calls)

# Points without a system call: decode by libzstd, the hash of a sample in place, the hash of a batch on the device.
for point, after in [("decode", "phase=run,after=2"), ("collate", "after=3"), ("copy", "after=1")]:
    fits = (lambda v, l: v.zstd) if point == "decode" else None
    at = f"at={point},in=cell,{after}"
    for signal in ["SIGKILL", "SIGSEGV"]:
        row(signal, point, "once", f"{at},times=1,effect={signal}", "told", cause=signal, fits=fits)
    row("nomem", point, "armed", f"{at},effect=arm,next=malloc", "either", fits=fits)
    if point != "copy":
        row("hang", point, "once", f"{at},times=1,effect=hang", stuck, fits=fits, slow=lambda l: l == "inline")
        row("SIGSTOP", point, "once", f"{at},times=1,effect=SIGSTOP", stopped, fits=fits, slow=lambda l: not workers(l))
row("hang", "copy", "once", "at=copy,in=cell,after=1,times=1,effect=hang", "ended", slow=lambda l: True)
row("SIGSTOP", "copy", "once", "at=copy,in=cell,after=1,times=1,effect=SIGSTOP", "ended", slow=lambda l: True)
for signal in SIGNALS:  # of a worker, while the training loop copies
    row(signal, "copy", "worker", "at=copy,in=cell,after=1,times=1,effect=hang", "told", act=signal, fits=lambda v, l: workers(l))
row("mmap", "collate", "slots", "at=mmap,in=cell,path=dlbench-slots,effect=ENOMEM", "told", cause="Cannot allocate memory",
    fits=lambda v, l: workers(l))

# Writing: the cell its figures, the program the result.
OURS, SCRATCH, JOURNAL = "path=/summary.", "path=/.cells-", "in=look,path=/journal.jsonl"
for error in ["EIO", "ENOSPC"]:
    row(error, "write", "write", f"at=write,in=look,{OURS},effect={error}", "told", path=True, cause=CAUSES[error])
    row(error, "write", "fsync", f"at=fsync,in=look,{OURS},effect={error}", "told", path=True, cause=CAUSES[error])
    row(error, "write", "rename", f"at=rename,in=look,path=/results/r,effect={error}", "told", path=True, cause=CAUSES[error])
    row(error, "write", "rename-second", f"at=rename,in=look,path=/summary,effect={error}", "told", path=True, cause=CAUSES[error])
    # The folder cannot be exchanged for the new one: the files are replaced one by one.
    row(error, "write", "exchange", f"at=rename,in=look,path=/results/r.next-,effect={error}", "right")
    row(error, "write", "cell", f"at=write,in=cell,{SCRATCH},effect={error}", "told", cause=CAUSES[error])
    row(error, "write", "cell-rename", f"at=rename,in=cell,{SCRATCH},effect={error}", "told", cause=CAUSES[error])
    for call in ["open", "write", "fsync"]:  # of the page alone
        row(error, "write", "page-" + call, f"at={call},in=look,path=/report.,effect={error}", "spared", path=True, cause=CAUSES[error])
row("short", "write", "page", "at=write,in=look,path=/report.,effect=short", "right")
row("SIGKILL", "write", "page", "at=fsync,in=look,path=/report.,effect=SIGKILL", "killed")
for place, where in [("result", f"in=look,{OURS}"), ("cell", f"in=cell,{SCRATCH}")]:
    row("short", "write", place, f"at=write,{where},effect=short", "right")
    row("EINTR", "write", place, f"at=write,{where},effect=storm", "right")
    row("EMFILE", "write", place, f"at=open,{where},effect=EMFILE", "told", path=place == "result", cause=CAUSES["EMFILE"])
row("EINTR", "write", "open", f"at=open,in=look,{OURS},effect=storm", "right")
row("EINTR", "write", "fsync", f"at=fsync,in=look,{OURS},effect=storm", "right")
row("hang", "write", "killed", f"at=fsync,in=look,{OURS},effect=hang", "killed")
row("SIGKILL", "write", "fsync", f"at=fsync,in=look,{OURS},effect=SIGKILL", "killed")
row("SIGKILL", "write", "rename", f"at=rename,in=look,{OURS},effect=SIGKILL", "killed")
row("SIGKILL", "write", "exchange", "at=rename,in=look,path=/results/r.next-,effect=SIGKILL", "killed")
row("SIGKILL", "write", "cell", f"at=fsync,in=cell,{SCRATCH},effect=SIGKILL", "told", cause="SIGKILL")
row("SIGSEGV", "write", "cell", f"at=fsync,in=cell,{SCRATCH},effect=SIGSEGV", "told", cause="SIGSEGV")
row("delete", "write", "folder", "at=collate,in=cell,after=2,times=1,effect=hang", "told", act="delete-results", path=True)
row("nomem", "write", "program", f"at=open,in=look,{OURS},effect=arm,next=malloc", "either")
row("nomem", "write", "cell", f"at=open,in=cell,{SCRATCH},effect=arm,next=malloc", "either")

# The journal: once it is there (after=1), and when it is made. What was measured is taken over by --resume.
for error in ["EIO", "ENOSPC"]:
    row(error, "write", "journal", f"at=write,{JOURNAL},after=1,effect={error}", "told", path=True, cause=CAUSES[error])
    row(error, "write", "journal-sync", f"at=fsync,{JOURNAL},after=2,effect={error}", "told", path=True, cause=CAUSES[error])
    row(error, "write", "journal-first", f"at=write,{JOURNAL},effect={error}", "told", path=True, cause=CAUSES[error])
row("short", "write", "journal", f"at=write,{JOURNAL},effect=short", "right")
row("EINTR", "write", "journal", f"at=write,{JOURNAL},effect=storm", "right")
row("EINTR", "write", "journal-sync", f"at=fsync,{JOURNAL},effect=storm", "right")
row("EMFILE", "write", "journal", f"at=open,{JOURNAL},effect=EMFILE", "told", path=True, cause=CAUSES["EMFILE"])
row("hang", "write", "journal", f"at=fsync,{JOURNAL},after=2,effect=hang", "killed")
row("SIGKILL", "write", "journal", f"at=write,{JOURNAL},after=2,effect=SIGKILL", "killed")
row("SIGKILL", "write", "journal-sync", f"at=fsync,{JOURNAL},after=2,effect=SIGKILL", "killed")

NO_CALL = "makes no system call: a sample's bytes are in memory"
EMPTY = {
    ("short", "open"): "opening moves no bytes",
    ("short", "list"): "the kernel gives whole names; how many at once, no program sees",
    ("EINTR", "list"): "getdents is not interrupted on file systems that Linux has",
    ("ENOSPC", "open"): "opening to read takes no space",
    ("ENOSPC", "list"): "listing takes no space",
    ("ENOSPC", "read"): "reading takes no space",
    ("SIGSTOP", "open"): "as hang x open: what is stopped there is the process that opens",
    ("SIGSTOP", "list"): "as hang x list",
    ("fork", "list"): "the process that lists is the one that opens: fork x open",
    ("fork", "decode"): "starts no process", ("fork", "collate"): "starts no process", ("fork", "copy"): "starts no process",
    ("fork", "write"): "starts no process",
    ("mmap", "list"): "maps nothing", ("mmap", "decode"): "maps nothing", ("mmap", "copy"): "the emulated device maps nothing",
    ("mmap", "write"): "maps nothing",
    ("SIGSTOP", "write"): "as hang x write: the earlier result stays until the new one is renamed",
    ("truncate", "write"): "no program reads the files of a result while they are written",
    ("grow", "write"): "no program reads the files of a result while they are written",
    ("replace", "write"): "the lock and --overwrite decide before: cli/test_result_folder",
}
for fault in ["EIO", "short", "EINTR", "ENOSPC", "EMFILE"] + CHANGES:
    for point in ["decode", "collate", "copy"]:
        EMPTY[fault, point] = NO_CALL

NOT_HERE = [
    "io_uring: its reads do not go through libc. Changes of the data, signals and short memory cover these; short reads and errors "
    "of its completions are in contract/test_async_faults.",
    "maps (tokens by mmap, lmdb): pages are read by faults, not by calls. Changes of the data cover these.",
]


def combos():
    """The product: (row, variant, loader) of all that exist."""
    return [(r, v, l) for r in ROWS for v in VARIANTS for l in LOADERS if r.fits(v, l)]


def name_of(combo):
    r, v, l = combo
    return f"{r.fault}/{r.point}/{r.name}/{v.name}/{l}"


def pairwise(all_combos):
    """A subset in which every two of fault, point, row, variant and loader that occur together do so. Greedy, always the same."""
    def pairs(combo):
        r, v, l = combo
        factors = [("f", r.fault), ("p", r.point), ("v", v.name), ("l", l)]
        found = {(a, b) for i, a in enumerate(factors) for b in factors[i + 1:]}
        return frozenset(found | {("row", r.fault, r.point, r.name)})

    left = [(pairs(c), c) for c in all_combos]
    todo = frozenset().union(*(p for p, _ in left))
    chosen = []
    while todo:
        p, best = max(left, key=lambda each: len(each[0] & todo))
        chosen.append(best)
        todo -= p
        left = [each for each in left if each[0] & todo]
    return chosen
