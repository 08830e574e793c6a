#!/usr/bin/env python3
"""Plants faults in the interpreters of cells of loader.kind = "torch" (docs/reliability.md). The table is torch_table.py.

  torch_matrix.py --all | --one NAME | --list [--real]    DLB_BIN and DLB_FAULTS_SO as for matrix.py
                                                          PYTHON or VIRTUAL_ENV: a Python with torch

Of each row it is checked that the cell fails with its code, path and cause; that the sound cell of the same sweep is right; that an
earlier result is kept by a run that fails; and that no process and no scratch stays behind.
"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import matrix
import torch_table

HERE = os.path.dirname(os.path.abspath(__file__))
DOUBLE = os.path.join(HERE, "../support/torch_double")
SAMPLES = 64
# Runs the program where the folder of results has little space; that needs root.
SMALL_DISK = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m none results && exec "$@"', "sh"]
IMPORT_S = 300  # of torch itself, on a busy machine
SOUND_S = 300  # for cells that deliver all, on a busy machine
GOOD = '''
import itertools, os, resource, signal, time
import torch

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.zeros(8)

def count(batch):
    return len(batch)

def reached():
    with open(os.environ["DLB_REACHED"], "a") as file:
        file.write("reached\\n")

def cell():
    """The process that the keeper has as its parent."""
    with open("/proc/%d/stat" % os.getppid()) as file:
        return int(file.read().rpartition(")")[2].split()[1])

def daemon():
    """A process that hides in a session of its own, with another parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)

def limit_memory():
    """For what is mapped so far, and a little more."""
    with open("/proc/self/statm") as file:
        n_bytes = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE") + (1 << 28)
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))

def fill():
    """The folder of results, until this process ends."""
    global filled
    filled = open(os.path.join(os.path.dirname(os.environ["DLB_REACHED"]), "results", "filled"), "wb", buffering=0)
    os.unlink(filled.name)
    try:
        while filled.write(bytes(4096)):
            pass
    except OSError:
        pass

def gone():
    path = os.environ["DLB_REACHED"] + ".folder"
    os.makedirs(path, exist_ok=True)
    os.chdir(path)
    os.rmdir(path)
    return "."

def mine():
    """A file of the user's at the descriptor that was dlbench's."""
    global kept
    kept = open(os.environ["DLB_REACHED"] + ".mine", "w+")
'''
BAD = '''
import itertools, os, resource, signal, threading, time
import torch
import good
from good import cell, daemon, fill, gone, limit_memory, mine, reached

class Silent(Exception):
    def __str__(self):
        raise ValueError("no text")

steps = itertools.count()
held = threading.Lock()
threading.Thread(target=held.acquire).start()

def at_import():
    {import}

def at_make():
    {make}

def at_count(batch):
    {count}
    return 8

def at_collate(samples):
    {collate}
    return torch.utils.data.default_collate(samples)

class Data(good.Data):
    def __init__(self):
        at_make()

    def __len__(self):
        return {n}

    def __getitem__(self, i):
        if i == {at}:
            {sample}
        return super().__getitem__(i)

collate_fn = at_collate
at_import()
'''
PROGRAMS = {
    "no_torch": "#!/bin/sh\nexec env -u PYTHONPATH {python} -S \"$@\"\n",
    "syntax.py": "this is no Python\n",
    "no_program": "\x7fELF and no more",
    "no_shebang": "#!/nowhere/sh\n",
    "broken_torch": "#!/bin/sh\nPYTHONPATH={work}/broken exec {python} \"$@\"\n",
    "crashing_torch": "#!/bin/sh\nPYTHONPATH={work}/crashing exec {python} \"$@\"\n",
    "broken/torch.py": "raise ImportError('libc10.so: cannot open shared object file')\n",
    "crashing/torch.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
}


def processes_of(work):
    """Ids of the processes that were started with this folder in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"DLB_REACHED={work}/".encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Run:
    """One row."""

    def __init__(self, row, python, earlier, folder):
        self.row, self.python, self.earlier = row, python, earlier
        self.work = tempfile.mkdtemp(prefix="w", dir=folder)
        self.reached = os.path.join(self.work, "reached")
        self.results = shutil.copytree(earlier, self.path("results"))
        os.mkdir(self.path("tmp"))
        for name, text in {"good.py": GOOD, "bad.py": self.module(), **PROGRAMS}.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as f:
                f.write(text if name.endswith(".py") else text.format(work=self.work, python=python))
            os.chmod(self.path(name), 0o644 if name.endswith(".py") else 0o755)

    def path(self, name):
        return os.path.join(self.work, name)

    def module(self):
        parts = dict.fromkeys(["import", "make", "sample", "collate", "count"], "pass")
        if self.row.source:
            point = self.row.point.replace("look", "sample")
            parts[point] = f"reached()\n{' ' * (12 if point == 'sample' else 4)}{self.row.source}"
        return BAD.format(n=SAMPLES, at=2 if self.row.point == "look" else 20, **parts)

    def environment(self):
        env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")}
        env.update(DLB_REACHED=self.reached, TMPDIR=self.path("tmp"), PYTHONDONTWRITEBYTECODE="1", CUDA_VISIBLE_DEVICES="-1")
        if not self.row.real:
            env["PYTHONPATH"] = DOUBLE
        if self.row.plant:
            env.update(LD_PRELOAD=matrix.PRELOAD, DLB_FAULT=f"{self.row.plant},log={self.reached}")
        return env

    def argv(self):
        row = self.row
        out = [*(SMALL_DISK if row.small_disk else []), matrix.BIN, "sweep" if row.sweep else "run"]
        values = {"loader.kind": "torch", "dataset.format": "python", "loader.batch_size": 8, "loader.num_workers": row.workers,
                  "loader.timeout_s": row.timeout_s, "loader.shuffle": "false", "loader.pin_memory": "false", "device.step_ms": 1,
                  "device.prefetch": 0, "run.warmup_batches": 0, "run.repeats": 1,
                  "python.interpreter": row.interpreter.format(work=self.work) or self.python,
                  "python.dataset": "bad.py:Data" if row.source else "good.py:Data"}
        if row.point != "look" and "in=look" not in row.plant:
            values.update({"python.samples": SAMPLES, "python.sample_bytes": 8, "python.iterable": "false"})
        if row.point == "count":
            values["python.count"] = "bad.py:at_count"
        if row.sweep:
            key, sound = ("python.interpreter", self.python) if row.interpreter else ("python.dataset", "good.py:Data")
            values.update({"sweep." + key: json.dumps([sound, values[key]]), "sweep.exhaustive": "true"})
        for key, value in values.items():
            out += ["--set", f"{key}={value}"]
        return out + [*row.more, "--results", self.results, "--run-name", "r", "--overwrite", "--json"]

    def execute(self):
        """Sets code, out, err, fired, late."""
        with open(self.path("out"), "w+") as out, open(self.path("err"), "w+", errors="replace") as err:
            child = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment(),
                                     cwd=self.work)
            self.follow(child)
            out.seek(0)
            err.seek(0)
            self.code, self.out, self.err = child.returncode, out.read(), err.read()

    def has_fired(self):
        return bool(self.row.interpreter) or os.path.exists(self.reached) and os.path.getsize(self.reached) > 0

    def follow(self, child):
        start = time.monotonic()
        fired_at, killed, self.late = None, False, False
        more_s = SOUND_S if self.row.sweep or not self.row.code else 0
        start_s = IMPORT_S if self.row.real else matrix.START_S
        limit_s = 2 * (self.row.timeout_s + matrix.GRACE_S) + more_s
        while child.poll() is None:
            now = time.monotonic()
            if fired_at is None and self.has_fired():
                fired_at = now
            if fired_at and not killed and self.row.kills and now - fired_at > 0.3:
                killed = True
                child.send_signal(getattr(signal, self.row.kills))
            if now - (fired_at or start) > (limit_s if fired_at else start_s):
                self.late = True
                child.kill()
            time.sleep(0.01)
        self.fired = self.has_fired()

    def wrong(self):
        """What breaks the rule."""
        if self.late:
            found = ["it did not end in time"]
        elif not self.fired:
            found = ["the fault was not reached"]
        elif self.row.kills == "SIGKILL":
            found = self.wrong_after_kill()
        elif self.row.sweep:
            found = self.wrong_sweep()
        else:
            found = self.wrong_run()
        return found + self.wrong_leavings()

    def wrong_run(self):
        if not self.row.code and not self.row.kills:
            return [f"exit code {self.code}"] if self.code else self.wrong_success(json.loads(self.out)["cells"][0])
        found = []
        if self.code not in ((130,) if self.row.kills else (2, 3)):
            found.append(f"exit code {self.code}")
        if not self.row.kills:
            codes = re.findall(r"\[(E_[A-Z0-9_]+)\]$", self.err, re.M)
            found += self.wrong_text(codes[-1] if codes else "none", self.err)
        kept = matrix.digest(os.path.join(self.results, "r")) == matrix.digest(os.path.join(self.earlier, "r"))
        return found + ([] if kept else ["the earlier result was changed"])

    def wrong_text(self, code, text):
        found = [] if re.fullmatch(self.row.code, code) else [f"the code is {code}, not {self.row.code}"]
        paths = (self.python, self.work, "/nowhere", "/bin/")
        if not self.row.code.startswith("E_CELL") and not any(p in text for p in paths):
            found.append("no path")
        if not re.search(self.row.cause, text):
            found.append(f"the cause is not told: {self.row.cause}")
        return found

    def wrong_sweep(self):
        try:
            doc = json.loads(self.out)
        except ValueError as e:
            return [f"exit code {self.code}, and no summary: {e}"]
        good, bad = doc["cells"]
        found = self.wrong_success(good)
        found += [] if self.code == 0 and doc["partial"] else [f"exit code {self.code}, partial: {doc['partial']}"]
        if bad["status"] != "failed":
            return found + [f"the cell is {bad['status']}: {bad['epochs']}"]
        return found + self.wrong_text(bad["code"], bad["reason"])

    @staticmethod
    def wrong_success(cell):
        if cell["status"] != "ok":
            return [f"cell {cell['index']}: {cell['status']} {cell['code']} {cell['reason']}"]
        wrong = [e for e in cell["epochs"] if e["samples"] != min(e["expected"], SAMPLES)]
        return [f"cell {cell['index']} delivered {wrong}"] if wrong else []

    def wrong_after_kill(self):
        """The interpreters of a program that is killed end; its next run removes the rest."""
        self.wait_for_end()
        left = processes_of(self.work)
        again = subprocess.run([w.replace("bad.py", "good.py") for w in self.argv()], capture_output=True, text=True, check=False,
                               env=self.environment(), cwd=self.work)
        found = [f"process {pid} stays" for pid in left] + ([] if self.code == -9 else [f"exit code {self.code}"])
        return found + ([] if again.returncode == 0 else [f"the next run ends with {again.returncode}: {again.stderr}"])

    def wait_for_end(self):
        for _ in range(30):
            if not processes_of(self.work):
                return
            time.sleep(0.1)

    def wrong_leavings(self):
        found = []
        self.wait_for_end()
        for pid in processes_of(self.work):
            with open(f"/proc/{pid}/cmdline") as f:
                found.append(f"process {pid} stays: {f.read()}")
            os.kill(pid, signal.SIGKILL)
        beside = [name for name in os.listdir(self.results) if name not in ("r", "r.partial")] + os.listdir(self.path("tmp"))
        beside += [name for name in os.listdir(os.path.join(self.results, "r")) if name.startswith(".cells-")]
        found += [f"it left {beside}"] if beside else []
        mine = self.reached + ".mine"
        found += ["the user's file was written to"] if os.path.exists(mine) and os.path.getsize(mine) else []
        return found + (["an escape sequence is printed"] if "\x1b" in self.err + self.out else [])


def run_one(row, python, earlier, folder):
    run = Run(row, python, earlier, folder)
    try:
        run.execute()
        return row, run.wrong(), run.code, run.err, run.argv()
    finally:
        shutil.rmtree(run.work, ignore_errors=True)


def earlier_result(folder):
    """A result as a run leaves it."""
    os.makedirs(os.path.join(folder, "results/r"))
    with open(os.path.join(folder, "results/r/summary.json"), "w") as f:
        f.write('{"schema_version": 2, "run_name": "r", "dlbench": {}}')
    return os.path.join(folder, "results")


def find_torch():
    """A Python that imports torch; None: there is none."""
    for named in [os.environ.get("PYTHON", ""), os.path.join(os.environ.get("VIRTUAL_ENV", "/nowhere"), "bin/python3")]:
        python = shutil.which(named)
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    parser = matrix.options(__doc__, 4)
    parser.add_argument("--real", action="store_true", help="with torch itself in all rows, not in those alone that need it")
    args = parser.parse_args()
    rows = [r for r in torch_table.ROWS if r.full_name().startswith(args.one or "") and re.search(args.only, r.full_name())]
    if not rows:
        parser.error("no row has that name")
    for row in rows:
        row.real = row.real or args.real
    if args.list:
        for row in rows:
            print(row.full_name(), row.code or "right", "torch" if row.real else "double")
        return 0
    if not (args.all or args.one is not None) or not matrix.BIN or not matrix.PRELOAD:
        parser.error("one of --all, --one and --list; DLB_BIN and DLB_FAULTS_SO are needed")
    torch = find_torch() if any(r.real for r in rows) else None
    left_out = 0 if torch else sum(r.real for r in rows)
    rows = [r for r in rows if torch or not r.real]
    n_broken = 0
    with tempfile.TemporaryDirectory(prefix="dlb_torch_") as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        earlier = earlier_result(folder)
        todo = [pool.submit(run_one, r, torch if r.real else sys.executable, earlier, folder) for r in rows]
        for done in concurrent.futures.as_completed(todo):
            row, wrong, code, err, argv = done.result()
            n_broken += bool(wrong)
            if wrong or args.one is not None:
                print(f"{'BROKE' if wrong else 'held '} {row.full_name()}: exit code {code}")
                print("".join(f"  {line}\n" for line in wrong) + f"  {' '.join(argv)}")
                print("".join(f"  | {line}\n" for line in err.splitlines()), end="", flush=True)
    print(f"torch: {len(rows)} rows, {n_broken} broke the rule; {left_out} left out, for want of torch")
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
