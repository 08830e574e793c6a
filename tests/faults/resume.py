#!/usr/bin/env python3
"""Kills runs of dlbench at random moments, and goes on with them (--resume) until they end.

  resume.py --kills N [--seed S] [--only KIND ...]     DLB_BIN: the program; DLB_FAULTS_SO: tests/support/faults.c, built

A kill takes the program itself (program); a random process below it, and then the program (below); the program before it writes
a record to its journal (write), or between this and the sync (sync); or that, and the record is cut at a random byte, as a power
loss leaves it (power); or the program while it writes what it measured so far, or the result (result). Of each run it is checked that the next process goes on; that what was written of ended blocks is in the last journal
byte by byte; that each repetition counts once, and that the summary has just those; that the time counts on; and that no process,
shared memory, scratch or temporary folder stays. At the end there is a table.
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

BIN = os.environ.get("DLB_BIN", "")
PRELOAD = os.environ.get("DLB_FAULTS_SO", "")
HERE = os.path.dirname(os.path.abspath(__file__))
DOUBLE = os.path.join(HERE, "../support/torch_double")
LIMIT_S = 120
SHARED = re.compile(r"dlbench|torch_")  # names of shared memory that dlbench and torch make
MOST_KILLS = 4  # of one run
TARGETS = ["program", "below", "write", "sync", "power", "result"]
MOST_RESULTS = 4  # after each block, and at the end

SYNTHETIC = ["--dataset.format", "synthetic", "--dataset.codec", "raw", "--generate.sample_bytes", "256", "--loader.batch_size", "16"]
KINDS = {
    "sweep": ["sweep", *SYNTHETIC, "--generate.samples", "320", "--device.step_ms", "0.5", "--run.repeats", "2", "--exhaustive",
              "--set", "sweep.loader.num_workers=[0, 1]"],
    "race": ["sweep", *SYNTHETIC, "--generate.samples", "100000", "--loader.sample_sleep_us", "3000", "--device.step_ms", "1",
             "--run.max_batches", "12", "--set", "sweep.loader.num_workers=[1, 2]", "--set", "sweep.max_minutes=0.2", "--set",
             "sweep.confirm=none"],
    "storage": ["storage", *SYNTHETIC, "--generate.samples", "4000", "--device.step_ms", "4", "--run.max_batches", "10",
                "--run.repeats", "2", "--loader.pin_memory", "true", "--set", "storage.max_accelerators=2", "--set",
                "storage.allow_small=true", "--set", "workload.gate=0.5"],
    "gap": ["gap", "--samples", "20000", "--features", "10", "--batch-size", "3000", "--set", "gap.repeats=2", "--set",
            "device.step_ms=0.1"],
    "torch": ["run", *SYNTHETIC, "--generate.samples", "320", "--device.step_ms", "1", "--run.repeats", "3", "--loader.kind",
              "torch", "--loader.num_workers", "1"],
}


def records_of(text):
    """Records of a journal's whole lines, and the bytes that they take."""
    found, n = [], 0
    for line in text.splitlines(keepends=True):
        if not line.endswith(b"}\n"):
            break
        found.append(json.loads(line)["record"])
        n += len(line)
    return found, n


def ended(records):
    """The repetitions that count: those of blocks that ended, without what a resumed run measured anew. And how many do not."""
    counted, open_, lost = [], [], 0
    for record in records[1:]:
        if record["is"] == "repetition":
            open_.append(record)
        elif record["is"] == "block":
            counted += open_
            open_ = []
        else:
            lost += len(open_)
            open_ = []
    return counted, lost + len(open_)


def key(record):
    return record["task"], record["index"], record["block"], record["again"]


def is_of_others(name, mark):
    """An entry of /dev/shm that names a process which runs and is not of this trial."""
    pids = [int(n) for n in re.findall(r"\d+", name)]
    return any(os.path.exists(f"/proc/{pid}") and pid not in marked(mark) for pid in pids)


def figure(kind, record):
    """What a repetition says in the summary."""
    if kind == "gap":
        return record["document"]["seconds"]
    return record["result"]["n_samples"] * 1e9 / record["result"]["window_ns"]


def marked(mark):
    """Processes with this mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark.encode() in f.read() and open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Trial:
    def __init__(self, kind, rng, folder):
        self.kind, self.rng = kind, rng
        self.work = tempfile.mkdtemp(prefix="k", dir=folder)
        self.mark = "DLB_TRIAL=" + uuid.uuid4().hex
        self.results = os.path.join(self.work, "results")
        self.tmp = os.path.join(self.work, "tmp")
        os.mkdir(self.tmp)
        self.result = os.path.join(self.results, "r")
        self.journal = os.path.join(self.result, "journal.jsonl")
        self.keep = os.path.join(self.work, "kept")
        self.wrong, self.kills, self.seen = [], collections.Counter(), b""
        self.shm, self.codes = set(os.listdir("/dev/shm")), (0,)

    def env(self, plant=None):
        name, value = self.mark.split("=")
        env = dict(os.environ, CUDA_VISIBLE_DEVICES="-1", TMPDIR=self.tmp, PYTHONDONTWRITEBYTECODE="1", **{name: value})
        if self.kind == "torch":
            env["PYTHONPATH"] = DOUBLE
        if plant:
            env.update(LD_PRELOAD=PRELOAD, DLB_FAULT=plant)
        return env

    def argv(self):
        if not os.path.exists(self.journal):
            return [BIN, *KINDS[self.kind], "--results", self.results, "--run-name", "r", "--overwrite", "--json"]
        return [BIN, KINDS[self.kind][0], "--resume", self.result, "--json"]

    def start(self, plant=None):
        out, err = (open(os.path.join(self.work, name), "w") for name in ("out", "err"))
        child = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.env(plant))
        out.close()
        err.close()
        return child

    def said(self, name):
        with open(os.path.join(self.work, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def kill_once(self, length_s):
        """Starts it, and kills; its exit code."""
        target = self.rng.choice(TARGETS)
        nth = self.rng.randrange(12)
        call = {"write": "write", "sync": "fsync", "power": "fsync"}.get(target)
        plant = call and f"at={call},in=look,path=/journal.jsonl,after={nth},effect=SIGKILL"
        if target == "result":
            plant = f"at=rename,in=look,path=summary.json,after={nth % MOST_RESULTS},effect=SIGKILL"
        child = self.start(plant)
        if not plant:
            time.sleep(self.rng.random() * length_s)
            below = [pid for pid in marked(self.mark) if pid != child.pid]
            if target == "below" and below:
                try:
                    os.kill(self.rng.choice(below), signal.SIGKILL)
                    self.codes = (0, 3)  # a cell whose process was killed has failed: of the only cell, the run has
                except ProcessLookupError:
                    pass
                time.sleep(self.rng.random() * length_s / 4)
            child.kill()
        code = self.wait(child)
        self.kills[target] += code == -signal.SIGKILL
        if code == -signal.SIGKILL and target == "power" and os.path.exists(self.journal):
            self.cut_last()
        return code

    def cut_last(self):
        """Of what was not synced, any part may be there."""
        with open(self.journal, "rb") as f:
            text = f.read()
        last = text.rstrip(b"\n").rfind(b"\n") + 1
        if last >= max(1, len(self.seen)):  # else it is a record of an earlier process, and was synced
            os.truncate(self.journal, self.rng.randrange(last, len(text) + 1))

    def look_at_journal(self):
        """What a kill left: it begins with all that counted before."""
        if not os.path.exists(self.journal):
            return
        with open(self.journal, "rb") as f:
            text = f.read()
        records, n = records_of(text)
        if not text.startswith(self.seen):
            self.wrong.append("the journal lost what it had")
        self.seen = text[:n]
        if len(records) and not os.path.exists(self.keep) and len(records) > 1:
            os.link(self.journal, self.keep)

    def execute(self, length_s):
        for _ in range(self.rng.randint(1, MOST_KILLS)):
            code = self.kill_once(length_s)
            self.wait_for_processes()
            if code != -signal.SIGKILL:
                break
            if self.seen and not os.path.exists(self.journal):  # the kill came when the result was whole
                code = 0
                break
            self.look_at_journal()
        else:
            code = self.wait(self.start())
        if code not in self.codes:
            self.wrong.append(f"exit code {code}: {self.said('err')[-400:]}")
        self.check_end()

    def wait(self, child):
        try:
            return child.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            self.wrong.append("it does not end")
            return child.wait()

    def check_end(self):
        self.wait_for_processes()
        if os.path.exists(self.journal):
            self.wrong.append("a journal stays")
        left = [name for at, folders, files in os.walk(self.results) for name in folders + files
                if name.startswith(".cells-") or name.endswith(".tmp") or ".next-" in name]
        left += os.listdir(self.tmp)
        left += [name for name in set(os.listdir("/dev/shm")) - self.shm if SHARED.match(name) and not is_of_others(name, self.mark)]
        if left:
            self.wrong.append(f"it left {left}")
        try:
            with open(os.path.join(self.result, "summary.json"), encoding="utf-8") as f:
                summary = json.load(f)
        except (OSError, ValueError) as e:
            self.wrong.append(f"no summary: {e}")
            return
        if os.path.exists(self.keep):
            self.check_counts(summary)

    def check_counts(self, summary):
        with open(self.keep, "rb") as f:
            text = f.read()
        records, n = records_of(text)
        counted, lost = ended(records)
        if not text.startswith(self.seen) or n != len(text):
            self.wrong.append("the last journal lost what the killed ones had")
        twice = [k for k, n in collections.Counter(key(r) for r in counted if r["task"] != "warm").items() if n > 1]
        if twice:
            self.wrong.append(f"counted twice: {twice[:3]}")
        spent = [r["elapsed_s"] for r in records[1:] if "elapsed_s" in r]
        if spent != sorted(spent):
            self.wrong.append("time went back")
        # One that finds all of it measured only writes the result, and does not count as another process.
        times = sum(r["is"] == "resumed" for r in records[1:])
        resumed = summary["resumed"]
        if ((resumed["times"], resumed["unjudged_repetitions"]) if resumed else (0, 0)) != (times, lost):
            self.wrong.append(f"resumed {times} times, {lost} repetitions do not count: the summary has {resumed}")
        self.check_cells(summary, counted)

    def check_cells(self, summary, counted):
        """The summary's figures are those of the repetitions that count, each of them once."""
        for index, cell in enumerate(summary["gap"]["rungs"] if self.kind == "gap" else summary["cells"]):
            blocks = {}
            for r in (r for r in counted if r["task"] == "cell" and r["index"] == index and r["result"]["status"] == "ok"):
                blocks[r["block"]] = r if r["block"] not in blocks or r["again"] else blocks[r["block"]]
            values = (cell["seconds"] if self.kind == "gap" else cell["samples_per_s"])["values"]
            found = sorted(v for v in values if v is not None)
            wanted = sorted(figure(self.kind, r) for r in blocks.values() if self.kind == "gap" or r["result"].get("window_ns"))
            same = len(wanted) == len(found) and all(abs(a - b) <= 1e-9 * a for a, b in zip(wanted, found))
            if cell["status"] == "ok" and not same:
                self.wrong.append(f"cell {index} has {found}, not {wanted}")

    def wait_for_processes(self):
        """5 s; of torch more: a worker of DataLoader looks every 5 s whether its parent lives, where the kill took the keeper of them all."""
        end = time.monotonic() + (10 if self.kind == "torch" else 5)
        while time.monotonic() < end:
            if not marked(self.mark):
                return
            time.sleep(0.05)
        for pid in marked(self.mark):
            self.wrong.append(f"process {pid} stays: {open(f'/proc/{pid}/cmdline').read()[:80]}")
            os.kill(pid, signal.SIGKILL)


def lengths(kinds, folder):
    """How long each takes without a kill."""
    found = {}
    for kind in kinds:
        trial = Trial(kind, random.Random(0), folder)
        start = time.monotonic()
        child = trial.start()
        child.wait(LIMIT_S)
        found[kind] = time.monotonic() - start
        if child.returncode:
            sys.exit(f"resume: {kind} without a kill: exit code {child.returncode}: {trial.said('err')}")
        shutil.rmtree(trial.work)
    return found


def show(table, kinds):
    columns = ["runs", *TARGETS, "wrong"]
    print(f"{'':10}" + "".join(f"{c:>10}" for c in columns))
    for kind in kinds:
        print(f"{kind:10}" + "".join(f"{table[kind][c]:10}" for c in columns))
    total = sum(table.values(), collections.Counter())
    print(f"{sum(total[t] for t in TARGETS)} kills, {total['runs']} runs, {total['wrong']} wrong")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=sorted(KINDS))
    args = parser.parse_args()
    table = {kind: collections.Counter() for kind in args.only}
    try:
        with tempfile.TemporaryDirectory(prefix="dlb_resume_") as folder:
            length_s = lengths(args.only, folder)
            turn = 0
            while sum(table[kind][t] for kind in table for t in TARGETS) < args.kills:
                kind = args.only[turn % len(args.only)]
                trial = Trial(kind, random.Random(f"{args.seed}/{turn}"), folder)
                turn += 1
                trial.execute(length_s[kind])
                table[kind].update(trial.kills)
                table[kind].update(runs=1, wrong=bool(trial.wrong))
                for why in trial.wrong:
                    print(f"WRONG {kind} (run {turn}): {why}", flush=True)
                shutil.rmtree(trial.work, ignore_errors=True)
    except KeyboardInterrupt:
        print("interrupted")
    show(table, args.only)
    return 1 if any(table[kind]["wrong"] for kind in table) else 0


if __name__ == "__main__":
    sys.exit(main())
