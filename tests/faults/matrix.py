#!/usr/bin/env python3
"""Plants faults in runs of dlbench, and holds what follows to one rule (docs/reliability.md). The table is table.py.

  matrix.py --all | --pairwise | --one NAME | --list      DLB_BIN: the program; DLB_FAULTS_SO: tests/support/faults.c, built, or
                                                          several libraries to preload

Of each run it is checked that it ends in time; that it exits with 0 only if every sample was delivered with its right bytes; that
an error has a code, and path and cause where the table asks for them; that an earlier result is kept by a run that fails; and that
no process, no scratch and no change of the data set stays behind.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import table

BIN = os.environ.get("DLB_BIN", "")
PRELOAD = os.environ.get("DLB_FAULTS_SO", "")
TIMEOUT_S = 1  # loader.timeout_s where something hangs
GRACE_S = 15  # of a loader that is told to stop, and of an interrupted cell
LIMIT_S = 2 * (TIMEOUT_S + GRACE_S)  # from the fault to the end
SLOW_JOBS = 8  # of those that only wait
START_S = 60  # until the fault, on a busy machine
SAMPLES = 64
JOURNAL = "journal.jsonl"
COMMON = ["--loader.batch_size", "4", "--device.step_ms", "0", "--run.repeats", "1", "--run.checksum", "true"]


class Store:
    """The data sets, each with the checksum of its samples, and an earlier result."""

    def __init__(self, folder):
        self.folder, self.sums, self.missing = folder, {}, set()

    def path(self, variant, zstd):
        return os.path.join(self.folder, variant.name + ("-zstd" if zstd else ""), "data")

    def make(self, variant, zstd):
        path = self.path(variant, zstd)
        made = dlbench("gen", variant, zstd, path, ["--generate.samples", str(SAMPLES), "--generate.sample_bytes", "4000",
                                                    "--generate.classes", "4", *variant.gen])
        if "E_MISSING" in made.stderr:
            self.missing.add(variant.name)
            return
        results = os.path.join(self.folder, "results")
        ran = made if made.returncode else dlbench("run", variant, zstd, path, [
            *COMMON, *variant.more, "--results", results, "--run-name", "r", "--overwrite", "--json"])
        if ran.returncode:
            sys.exit(f"matrix: {variant.name}: without a fault: {ran.stderr}")
        self.sums[variant.name, zstd] = sum_of(json.loads(ran.stdout))

    def earlier(self):
        return os.path.join(self.folder, "results")


def dlbench(verb, variant, zstd, path, more):
    codec = "zstd" if zstd else "raw"
    argv = [BIN, verb, "--dataset.format", variant.format, "--dataset.codec", codec, "--dataset.path", path]
    argv += ["--dataset.access", variant.access] if verb == "run" else []
    return subprocess.run(argv + more, capture_output=True, text=True, check=False)


def sum_of(doc):
    cell = doc["cells"][0]
    return [(e["samples"], e["unique"], e["skipped"], e["set_checksum"]) for e in cell["epochs"]]


def digest(folder):
    """Names and contents of all files below, without the journal that a run leaves until it has ended."""
    found = hashlib.sha256()
    for at, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(set(files) - {JOURNAL}):
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                found.update(os.path.relpath(path, folder).encode() + b"\0" + f.read() + b"\0")
    return found.hexdigest()


def processes_of(word):
    """Ids of the processes whose command line has this word."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if word.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def victim_of(data):
    """The last of the largest files: a reader comes to it late."""
    files = [os.path.join(at, name) for at, _, names in os.walk(data) for name in names if not name.startswith(".")]
    largest = max(os.path.getsize(f) for f in files)
    return max(f for f in files if os.path.getsize(f) * 2 > largest)


def act(what, work):
    """What happens beside the program while one of its processes waits in a call."""
    if what in table.SIGNALS:
        pids = [pid for pid in processes_of(work) if open(f"/proc/{pid}/comm").read().startswith("dlb-worker")]
        os.kill(min(pids), getattr(signal, what))
        return
    if what == "delete-results":
        shutil.rmtree(os.path.join(work, "results/r"))
        return
    path = victim_of(os.path.join(work, "data"))
    size = os.path.getsize(path)
    if what == "truncate":
        os.truncate(path, size // 2)
    elif what == "grow":
        with open(path, "ab") as f:
            f.write(b"x" * 10000)
    elif what == "replace":
        with open(path, "rb") as old, open(path + ".new", "wb") as new:
            new.write(old.read(size // 2))
        os.rename(path + ".new", path)
    elif what == "delete":
        os.unlink(path)


class Run:
    """One run with one fault."""

    def __init__(self, combo, store, folder):
        self.row, self.variant, self.loader = combo
        self.combo, self.store = combo, store
        self.work = tempfile.mkdtemp(prefix="w", dir=folder)
        self.zstd = self.row.point == "decode"
        self.changes = self.row.act in table.CHANGES
        self.log, self.wait = os.path.join(self.work, "log"), os.path.join(self.work, "wait")
        self.data = store.path(self.variant, self.zstd)
        if self.changes:
            self.data = shutil.copytree(self.data, os.path.join(self.work, "data"))
        self.results = shutil.copytree(store.earlier(), os.path.join(self.work, "results"))
        self.before = digest(self.results)
        self.data_before = digest(self.data)

    def argv(self):
        hangs = "hang" in (self.row.fault, *self.row.plant.split("=")) or self.row.fault == "SIGSTOP"
        codec = "zstd" if self.zstd else "raw"
        return [BIN, "run", "--dataset.format", self.variant.format, "--dataset.codec", codec, "--dataset.path", self.data,
                "--dataset.access", self.variant.access, "--loader.kind", self.loader,
                "--loader.num_workers", "0" if self.loader == "inline" else "2", "--loader.timeout_s",
                str(TIMEOUT_S if hangs and not self.changes else START_S), *COMMON, *self.variant.more, *self.row.more, "--results", self.results,
                "--run-name", "r", "--overwrite", "--json"]

    def plant(self):
        until = f",until={self.wait}" if self.row.act else ""
        return f"{self.row.plant},log={self.log}{until}"

    def execute(self):
        """Sets code, out, err, fired, late."""
        if self.row.act:
            open(self.wait, "w").close()
        env = dict(os.environ, LD_PRELOAD=PRELOAD, DLB_FAULT=self.plant(), CUDA_VISIBLE_DEVICES="-1")
        with open(os.path.join(self.work, "out"), "w+") as out, open(os.path.join(self.work, "err"), "w+") as err:
            child = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)
            self.follow(child)
            out.seek(0)
            err.seek(0)
            self.code, self.out, self.err = child.returncode, out.read(), err.read()

    def has_fired(self):  # each process opens the log when it starts
        return os.path.exists(self.log) and os.path.getsize(self.log) > 0

    def follow(self, child):
        start = time.monotonic()
        fired_at = None
        self.late = acted = False
        wanted = self.row.wanted(self.loader)
        while child.poll() is None:
            now = time.monotonic()
            if fired_at is None and self.has_fired():
                fired_at = now
            if fired_at is not None and not acted and (self.row.act or now - fired_at > 0.5):
                acted = True
                if self.row.act:
                    act(self.row.act, self.work)
                    os.unlink(self.wait)
                elif wanted == "ended":
                    child.send_signal(signal.SIGINT)
                elif wanted == "killed":
                    child.kill()
            if now - (fired_at or start) > (LIMIT_S if fired_at else START_S):
                self.late = True
                child.kill()
            time.sleep(0.01)
        self.fired = self.has_fired()

    def wrong(self):
        """What breaks the rule."""
        found = []
        wanted = self.row.wanted(self.loader)
        wanted = wanted if self.fired else "right"
        if self.late:
            return [f"it did not end in {LIMIT_S} s"]
        if wanted == "killed":
            found += [] if self.code == -signal.SIGKILL else [f"exit code {self.code}, not killed"]
        elif self.code == 0:
            found += self.wrong_success(wanted)
        else:
            found += self.wrong_failure(wanted)
        return found + self.wrong_leavings(wanted)

    def wrong_success(self, wanted):
        if wanted in ("told", "ended", "spared"):
            return ["exit code 0"]
        try:
            doc = json.loads(self.out)
            with open(os.path.join(self.results, "r/summary.json")) as f:
                same = json.load(f)["cells"] == doc["cells"]
        except (OSError, ValueError) as e:
            return [f"exit code 0, and its summary cannot be read: {e}"]
        if wanted == "noted":
            told = any(n["code"] == "SAMPLES_SKIPPED" for n in doc["notes"]) and self.data in " ".join(doc["cells"][0]["skipped"])
            return [] if told else ["no note of what was skipped, with its path"]
        right = self.store.sums[self.variant.name, self.zstd]
        found = [] if same else ["stdout and summary.json differ"]
        if doc["cells"][0]["status"] != "ok" or sum_of(doc) != right:
            found.append(f"a clean exit with {sum_of(doc)}, not {right}")
        return found

    def wrong_failure(self, wanted):
        found = []
        errors = [line for line in self.err.splitlines() if line.startswith("dlbench: ")]
        codes = re.findall(r"\[(E_[A-Z0-9_]+)\]$", self.err, re.M)
        if wanted == "right":
            found.append(f"exit code {self.code}, though nothing was lost")
        if self.code != (130 if wanted == "ended" else 3):
            found.append(f"exit code {self.code}")
        if not codes and wanted != "ended":
            found.append("no code")
        if wanted != "ended" and self.row.path and not any(p in " ".join(errors) for p in (self.data, self.results)):
            found.append("no path")
        if wanted != "ended" and self.row.cause not in self.err:
            found.append(f"the cause is not told: {self.row.cause}")
        return found

    def wrong_leavings(self, wanted):
        found = self.wrong_after_kill() if wanted == "killed" else []
        if wanted == "spared":
            found += self.wrong_spared()
        elif self.code != 0 and self.row.act != "delete-results":
            kept = digest(os.path.join(self.results, "r")) == digest(os.path.join(self.store.earlier(), "r"))
            found += [] if kept else ["the earlier result was changed"]
            found += [] if wanted == "killed" else self.wrong_resumed()
        left = [os.path.join(at, name) for at, folders, files in os.walk(self.results) for name in folders + files
                if name.startswith(".cells-") or name.endswith(".tmp") or ".next-" in name]
        found += [f"it left {left}"] if left else []
        if not self.changes and digest(self.data) != self.data_before:
            found.append("the data set was changed")
        for _ in range(30):
            if not processes_of(self.work):
                break
            time.sleep(0.1)
        for pid in processes_of(self.work):
            found.append(f"process {pid} stays")
            os.kill(pid, signal.SIGKILL)
        return found

    def wrong_spared(self):
        """All but the page is new and whole."""
        folder = os.path.join(self.results, "r")
        with open(os.path.join(folder, "summary.json")) as new, open(os.path.join(self.store.earlier(), "r/summary.json")) as old:
            doc, earlier = json.load(new), json.load(old)
        right = self.store.sums[self.variant.name, self.zstd]
        found = [] if sum_of(doc) == right and not doc["partial"] else [f"a result without its page has {sum_of(doc)}, not {right}"]
        found += ["the earlier result stayed"] if doc == earlier else []
        left = sorted(os.listdir(folder))
        return found + ([] if left == ["environment.json", "summary.json", "summary.txt"] else [f"it left {left}"])

    def wrong_after_kill(self):
        """A program that is killed can remove nothing. The result is whole, and the next run removes the rest."""
        folder = os.path.join(self.results, "r")
        earlier = os.path.join(self.store.earlier(), "r")
        kept = shutil.copytree(self.results, os.path.join(self.work, "kept"))
        torn = [name for name in os.listdir(earlier)
                if open(os.path.join(folder, name)).read() != open(os.path.join(earlier, name)).read()]
        again = subprocess.run(self.argv(), capture_output=True, text=True, check=False)
        found = [f"{torn} are not what they were"] if torn else []
        found += [f"the next run ends with {again.returncode}: {again.stderr}"] if again.returncode else []
        beside = sorted(os.listdir(self.results))
        found += [f"the next run left {beside}"] if beside != ["r"] else []
        left = sorted(os.listdir(folder))
        found += [f"the next run left {left}"] if left != sorted(os.listdir(earlier)) else []
        shutil.rmtree(self.results)
        shutil.move(kept, self.results)
        found += self.wrong_resumed()
        shutil.rmtree(self.results)
        shutil.copytree(self.store.earlier(), self.results)
        return found

    def wrong_resumed(self):
        """What a run left that could not write, or was killed: --resume ends it, with every sample."""
        folder = os.path.join(self.results, "r")
        if self.row.point != "write" or not self.is_unfinished(folder):
            return []
        again = subprocess.run([BIN, "run", "--resume", folder, "--json"], capture_output=True, text=True, check=False)
        if again.returncode:
            return [f"--resume ends with {again.returncode}: {again.stderr}"]
        doc = json.loads(again.stdout)
        right = self.store.sums[self.variant.name, self.zstd]
        found = [] if sum_of(doc) == right else [f"resumed: {sum_of(doc)}, not {right}"]
        return found + ([f"--resume left {JOURNAL}"] if os.path.exists(os.path.join(folder, JOURNAL)) else [])

    @staticmethod
    def is_unfinished(folder):
        try:
            with open(os.path.join(folder, JOURNAL), "rb") as f:
                return len(f.readlines()) > 1
        except OSError:
            return False

    def end(self):
        shutil.rmtree(self.work, ignore_errors=True)


def run_one(combo, store, folder):
    run = Run(combo, store, folder)
    try:
        run.execute()
        wrong = run.wrong()
        return combo, run.fired, wrong, run.code, run.err, run.plant(), run.argv()
    finally:
        run.end()


def prepare(combos, folder):
    store = Store(os.path.join(folder, "store"))
    for variant in table.VARIANTS:
        for zstd in [False, True]:
            if any(c[1] is variant and (c[0].point == "decode") == zstd for c in combos):
                store.make(variant, zstd)
    if not os.path.isdir(store.earlier()):
        sys.exit("matrix: no format of these is in this build")
    return store


def report(results):
    """Fault x point: how many ran, in how many the fault was reached, how many broke the rule."""
    ran, reached, broken = collections.Counter(), collections.Counter(), collections.Counter()
    for combo, fired, wrong, *_ in results:
        key = combo[0].fault, combo[0].point
        ran[key] += 1
        reached[key] += fired
        broken[key] += bool(wrong)
    print(f"\n{'ran/reached/broke':18}" + "".join(f"{p:>13}" for p in table.POINTS))
    for fault in table.FAULTS:
        cells = [f"{ran[fault, p]}/{reached[fault, p]}/{broken[fault, p]}" if ran[fault, p] else "-" for p in table.POINTS]
        print(f"{fault:18}" + "".join(f"{c:>13}" for c in cells))
    unreached = sorted("/".join(k) for k in ran if not reached[k])
    print(f"\n{sum(ran.values())} runs, {sum(reached.values())} with the fault reached, {sum(broken.values())} broke the rule")
    if unreached:
        print("never reached: " + ", ".join(unreached))
    return sum(broken.values())


def show(result, verbose):
    combo, fired, wrong, code, err, plant, argv = result
    if not wrong and not verbose:
        return
    print(f"{'BROKE' if wrong else 'held '} {table.name_of(combo)}: exit code {code}, fault {'reached' if fired else 'not reached'}")
    for line in wrong:
        print(f"  {line}")
    print(f"  DLB_FAULT={plant}\n  {' '.join(argv)}")
    for line in err.splitlines():
        print(f"  | {line}")
    sys.stdout.flush()


def options(about, jobs):
    """A parser of what the matrices have in common."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all rows")
    parser.add_argument("--one", metavar="NAME", help="those whose name begins so")
    parser.add_argument("--list", action="store_true", help="names, and the reasons of empty cells")
    parser.add_argument("--jobs", type=int, default=jobs, help="runs at a time: most wait")
    parser.add_argument("--only", metavar="REGEX", default="", help="of these, those whose name matches")
    return parser


def main():
    parser = options(__doc__, 3)
    parser.add_argument("--pairwise", action="store_true", help="each two of fault, point, format and loader at least once")
    args = parser.parse_args()
    combos = table.combos()
    if args.pairwise:
        combos = table.pairwise([c for c in combos if not c[0].slow(c[2])])
    elif args.one is not None:
        combos = [c for c in combos if table.name_of(c).startswith(args.one)]
    combos = [c for c in combos if re.search(args.only, table.name_of(c))]
    if args.list:
        for combo in combos:
            print(table.name_of(combo), combo[0].wanted(combo[2]))
        for (fault, point), why in sorted(table.EMPTY.items()):
            print(f"{fault}/{point}: empty: {why}")
        return 0
    if not (args.all or args.pairwise or args.one is not None) or not BIN or not PRELOAD:
        parser.error("one of --all, --pairwise, --one and --list; DLB_BIN and DLB_FAULTS_SO are needed")
    with tempfile.TemporaryDirectory(prefix="dlb_faults_") as folder:
        store = prepare(combos, folder)
        combos = [c for c in combos if c[1].name not in store.missing]
        results = []
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, \
                concurrent.futures.ThreadPoolExecutor(SLOW_JOBS) as waiting:
            todo = [(waiting if c[0].slow(c[2]) else pool).submit(run_one, c, store, folder) for c in combos]
            for done in concurrent.futures.as_completed(todo):
                results.append(done.result())
                show(results[-1], args.one is not None)
        return 1 if report(results) else 0


if __name__ == "__main__":
    sys.exit(main())
