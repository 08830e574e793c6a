"""The program under test, as the checks of tests/gpu/acceptance run it, and the table of what held."""

import glob
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

BUDGET_S = 510
OUT_OF_TIME = "out of time"  # in the place of what would have been measured
HELD = {True: "yes", False: "NO", None: "-"}


class CannotRun(Exception):
    """Says why, for the table or for the end."""


class OutOfTime(CannotRun):
    """Nothing is known of what was not run."""


def end_session(process):
    """What a process started goes with it; one that the driver does not let go is left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass


def run_limited(argv, limit_s, look=None, **how):
    """CompletedProcess, or subprocess.TimeoutExpired. `look` is called some ten times a second."""
    end = time.monotonic() + limit_s
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True, **how)
    try:
        while True:
            left = max(0.05, end - time.monotonic())
            try:
                out, err = process.communicate(timeout=min(0.1, left) if look else left)
                return subprocess.CompletedProcess(argv, process.returncode, out, err)
            except subprocess.TimeoutExpired:
                if time.monotonic() >= end:
                    raise
                if look:
                    look()
    finally:
        if process.returncode is None:
            end_session(process)


def hold_drivers():
    """Descriptors that keep the driver up from run to run: with nobody there it takes a GPU down, and seconds to bring it up again."""
    held = []
    for path in sorted(glob.glob("/dev/nvidia[0-9]*")):
        try:
            held.append(os.open(path, os.O_RDONLY))
        except OSError:  # not handed in, or not ours
            pass
    return held


def watchers_of_cells(proc="/proc"):
    """Of each process that measures, by its command line: the libraries of compute-sanitizer in its memory."""
    found = {}
    for path in glob.glob(proc + "/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
            if b"cell" not in words[1:2] or b"--result" not in words:
                continue
            with open(os.path.join(os.path.dirname(path), "maps"), errors="replace") as file:
                found[int(path.split("/")[-2])] = set(re.findall(r"/(lib[^/\s]*(?:[Ss]anitizer|Injection)[^/\s]*)$", file.read(), re.M))
        except OSError:  # it has ended
            continue
    return found


class Bench:
    """Where the program is, what it is run with, how long it may take, and the rows of each check."""

    def __init__(self, bundle, work, args):
        self.bundle, self.work, self.emulated, self.quick = bundle, work, args.emulated, args.quick
        self.program = os.path.join(bundle, "bin", "dlbench")
        self.bare = os.path.join(bundle, "libexec", "bare_copy")
        self.kind = "emulated" if args.emulated else "cuda"
        self.end = time.monotonic() + BUDGET_S
        self.table, self.figures, self.numbers = {}, [], itertools.count(1)
        self.save, self.lock = lambda: None, threading.Lock()  # save is called after each row and figure
        self.check = ""
        self.drivers = []  # open until this program ends
        self.one_process = False  # the GPU's compute mode is "exclusive process"
        self.cpus = len(os.sched_getaffinity(0))

    @property
    def rows(self):
        return [row for rows in self.table.values() for row in rows]

    def row(self, name, wanted, measured, held, detail=""):
        with self.lock:
            self.table.setdefault(self.check, []).append({
                "check": self.check, "name": name, "wanted": wanted, "measured": measured, "held": held,
                "detail": " ".join(detail.split())})
            print(f"{HELD[held]:4} {name}: {measured}", file=sys.stderr, flush=True)
            self.save()

    def keep(self, **figures):
        """What a run measured, for the result: a row is of several."""
        with self.lock:
            self.figures.append({"check": self.check, **figures})
            self.save()

    def command(self, argv, limit_s=120, env=None, look=None):
        left = self.end - time.monotonic()
        try:
            if left <= 0:
                raise subprocess.TimeoutExpired(argv, 0)
            return run_limited(argv, min(limit_s, left), look, cwd=self.work, env={**os.environ, **(env or {})})
        except subprocess.TimeoutExpired:
            if limit_s > left:
                raise OutOfTime(f"what {self.check or 'the start'} may take of the {BUDGET_S} s for everything is used up")
            raise CannotRun(f"{' '.join(argv[:2])} did not end within {limit_s} s")

    def dlbench(self, verb, options, env=None, config=None, prefix=(), limit_s=120, look=None):
        """Exit code, document (None without one), stderr."""
        argv = [*prefix, self.program, verb]
        argv += ["--config", config] if config else []
        if verb != "gen":
            argv += ["--json", "--results", "results", "--run-name", f"{self.check}-{next(self.numbers)}"]
        for key, value in options.items():
            text = json.dumps(value) if isinstance(value, (list, bool)) else str(value)
            argv += ["--set", f"{key}={text}"]
        done = self.command(argv, limit_s, env, look)
        try:
            doc = json.loads(done.stdout) if verb != "gen" and done.stdout else None
        except ValueError:
            doc = None
        return done.returncode, doc, done.stderr

    def run(self, options, **how):
        """A run that has to succeed: its document and its cell."""
        options = {"device.kind": self.kind, "run.repeats": 1, **options}
        code, doc, err = self.dlbench("run", options, **how)
        if code != 0 or not doc or doc["cells"][0]["status"] != "ok":
            why = doc["cells"][0]["reason"] if doc else None
            raise CannotRun(f"dlbench run failed with {code}: {why or err.strip()[-300:]}")
        return doc, doc["cells"][0]

    def has_jpeg(self):
        modules = json.loads(self.command([self.program, "doctor", "--json"]).stdout)["modules"]
        return any(m["name"] == "jpeg" and m["available"] for m in modules)

    def bare_copy(self, *words):
        if not os.access(self.bare, os.X_OK):
            raise CannotRun("the bundle has no libexec/bare_copy: it was built without the CUDA toolkit")
        done = self.command([self.bare, *map(str, words)])
        if done.returncode != 0:
            raise CannotRun(done.stderr.strip()[-300:])
        return json.loads(done.stdout)
