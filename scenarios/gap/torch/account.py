"""Where the time of a PyTorch rung goes: time stamps, page faults, and what the kernel accounts to threads and workers.

Stamps are taken a few times for each batch, never for an item. Part of scenarios/gap/torch/rung.py.
"""

import mmap
import os
import resource
import struct
import time

FEW_CALLS = 100  # with fewer calls there is no p99, only a maximum


def stamp():
    return time.monotonic_ns(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class Parts:
    """The training loop's time: nanoseconds and page faults by name."""

    def __init__(self):
        self.ns, self.faults = {}, {}

    def put(self, name, ns, faults):
        self.ns[name] = self.ns.get(name, 0) + ns
        self.faults[name] = self.faults.get(name, 0) + faults

    def add(self, name, since):
        now = stamp()
        self.put(name, now[0] - since[0], now[1] - since[1])
        return now

    def move(self, name, ns, faults, whence):
        """Moves time from one part to another."""
        self.put(name, ns, faults)
        self.put(whence, -ns, -faults)

    def document(self, total_ns):
        out = {name: {"seconds": ns / 1e9, "minor_faults": max(self.faults[name], 0)} for name, ns in self.ns.items()}
        out["unexplained"] = {"seconds": (total_ns - sum(self.ns.values())) / 1e9}
        return out


def thread_account(folder):
    """Time on a CPU and waiting for one (schedstat, ns), switches and faults of one thread."""
    with open(folder + "/schedstat", encoding="ascii") as file:
        run_ns, wait_ns = (int(word) for word in file.read().split()[:2])
    with open(folder + "/status", encoding="ascii", errors="replace") as file:
        status = dict(line.split(":", 1) for line in file if ":" in line)
    with open(folder + "/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()  # a thread's name may hold anything
    return {
        "voluntary_switches": int(status["voluntary_ctxt_switches"]),
        "involuntary_switches": int(status["nonvoluntary_ctxt_switches"]),
        "cpu_ns": run_ns,
        "runqueue_wait_ns": wait_ns,
        "minor_faults": int(fields[7]),
        "major_faults": int(fields[9]),
    }


COUNTED = ("voluntary_switches", "involuntary_switches", "cpu_ns", "runqueue_wait_ns", "minor_faults", "major_faults")


def threads_now():
    """Of each thread by its number: name, account, and when it was read. Empty on a kernel without schedstat."""
    out = {}
    for tid in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % tid, encoding="utf-8", errors="replace") as file:
                name = "loop" if int(tid) == os.getpid() else file.read().strip()
            out[int(tid)] = (name, thread_account("/proc/self/task/" + tid), time.monotonic_ns())
        except (OSError, KeyError, ValueError, IndexError):
            continue  # the thread has ended meanwhile, or the kernel has no schedstat
    return out


def missing(name):
    """A row for a worker without an account."""
    return dict(dict.fromkeys(COUNTED + ("wall_ns", "blocked_ns")), name=name, own_process=True)


def thread_row(name, own_process, counted, wall_ns):
    row = {"name": name, "own_process": own_process}
    row.update({key: counted[key] for key in COUNTED})
    row["wall_ns"] = wall_ns
    row["blocked_ns"] = max(wall_ns - counted["cpu_ns"] - counted["runqueue_wait_ns"], 0)
    return row


class Board:
    """The numbers of each worker, in memory that forked processes share."""

    PARTS = ("index", "stack", "free")
    FIELDS = tuple(name + kind for name in PARTS for kind in ("_ns", "_faults")) + ("start_ns", "end_ns") + COUNTED

    def __init__(self, n_workers):
        self.n_workers = n_workers
        self.memory = mmap.mmap(-1, max(n_workers, 1) * len(self.FIELDS) * 8)

    def clear(self):
        self.memory[:] = bytes(len(self.memory))

    def read(self, worker):
        """None: the worker has written nothing, or the kernel has no schedstat."""
        row = self.row(worker)
        return row if row["cpu_ns"] > 0 else None

    def row(self, worker):
        size = len(self.FIELDS) * 8
        return dict(zip(self.FIELDS, struct.unpack_from("%dq" % len(self.FIELDS), self.memory, worker * size)))

    def write(self, worker, row):
        size = len(self.FIELDS) * 8
        struct.pack_into("%dq" % len(self.FIELDS), self.memory, worker * size, *(row[name] for name in self.FIELDS))

    def fetched(self, worker, start, collate, collated, end):
        row = self.row(worker)
        row["start_ns"] = row["start_ns"] or start[0]
        for name, since, until in zip(self.PARTS, (start, collate, collated), (collate, collated, end)):
            row[name + "_ns"] += until[0] - since[0]
            row[name + "_faults"] += until[1] - since[1]
        row["end_ns"] = end[0]
        rows = [counted for _, counted, _ in threads_now().values()]
        row.update({name: sum(each[name] for each in rows) for name in COUNTED})
        self.write(worker, row)


class Fetches:
    """Stamps around DataLoader's fetch of a batch: items, then collate, then freeing the items."""

    def __init__(self, torch, board):
        self.torch, self.board, self.seen = torch, board, []
        self.works = False
        try:
            fetcher = torch.utils.data._utils.fetch._MapDatasetFetcher
            plain = fetcher.fetch
        except AttributeError:
            return  # another version of torch: the fetch is not split
        fetches = self

        def fetch(self, index):
            collate, stamps = self.collate_fn, []

            def stamped(data):
                stamps.append(stamp())
                out = collate(data)
                stamps.append(stamp())
                return out

            self.collate_fn = stamped
            start = stamp()
            try:
                return plain(self, index)
            finally:
                self.collate_fn = collate
                if len(stamps) == 2:
                    fetches.done(start, stamps[0], stamps[1], stamp())

        fetcher.fetch = fetch
        self.works = True

    def done(self, *stamps):
        worker = self.torch.utils.data.get_worker_info()
        if worker is None:
            self.seen.append(stamps)
        else:
            self.board.fetched(worker.id, *stamps)


def count_polls(batches, polls):
    """Counts waits of 5.0 s that end because DataLoader checks on its workers, and not because a batch is there."""
    plain = getattr(batches, "_try_get_data", None)
    if plain is None:
        return

    def counted(*args, **kwargs):
        out = plain(*args, **kwargs)
        polls[0] += not out[0]
        return out

    batches._try_get_data = counted


def calls(ns):
    ns = sorted(ns)
    enough = len(ns) >= FEW_CALLS
    return {
        "count": len(ns),
        "sum_ns": sum(ns),
        "p50_ns": ns[len(ns) // 2] if enough else None,
        "p99_ns": ns[len(ns) * 99 // 100] if enough else None,
        "max_ns": ns[-1] if ns else None,
    }


def worker_parts(rows):
    return {
        name: {
            "seconds": sum(row[name + "_ns"] for row in rows) / 1e9,
            "minor_faults": sum(row[name + "_faults"] for row in rows),
        }
        for name in Board.PARTS
    } if rows else {}


def fault_cost(torch, shared):
    """The price of a fresh page of the kernel's default size, in nanoseconds of CPU, and that size: writing 64 MiB of fresh pages
    and unmapping them, less writing the same pages again."""
    n_bytes, costs, n_threads = 64 << 20, [], torch.get_num_threads()
    torch.set_num_threads(1)
    for _ in range(5):
        start, faults = time.thread_time_ns(), stamp()[1]
        memory = mmap.mmap(-1, n_bytes, mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE)
        x = torch.frombuffer(memory, dtype=torch.float32)
        x.fill_(1)
        fresh, n = time.thread_time_ns(), max(stamp()[1] - faults, 1)
        x.fill_(2)
        again = time.thread_time_ns()
        del x
        memory.close()
        end = time.thread_time_ns()
        costs.append(((fresh - start - (again - fresh) + end - again) / n, n))
    torch.set_num_threads(n_threads)
    ns, n = sorted(costs)[len(costs) // 2]
    return max(ns, 0.0), mmap.PAGESIZE if n * mmap.PAGESIZE * 2 > n_bytes else 2 << 20
