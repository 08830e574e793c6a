#!/usr/bin/env bash
# What is told of code that goes wrong in PyTorch's cells: the sample, all lines of the message, the user's frames. Parts of
# loaders/torch/*.py by themselves, and cells, with a stand-in for torch.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_parts.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX

cat >own.py <<'PY'
import sys
import torch
from torch.utils.data import Dataset


class Mine(Dataset):
    def __init__(self, how="key"):
        self.how = how

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 37 and self.how == "key":
            return {"a": 1}["missing key"]
        if i == 37 and self.how == "lines":
            raise ValueError("first line\n  second line: hint\n")
        if i == 37 and self.how == "stop":
            raise StopIteration
        if i == 37 and self.how == "exit":
            sys.exit("bye")
        return torch.zeros(8)


class Together(Mine):
    def __getitems__(self, indices):
        return [self[i] for i in indices]


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        for i in range(40):
            if i == 37:
                raise ValueError("broke")
            yield torch.zeros(8)


def make_none(batch_size=8):
    pass
PY

# --- the sample that raised, however it was asked for, in this process and as torch hands it on from a worker
holds <<'PY'
import traceback
import dlbench_stamps
import own
from dlbench_errors import describe
from dlbench_stamps import Samples
from dlbench_streams import Stream
from dlbench_turns import Kind

board = dlbench_stamps.Board("stamps", 0)


def raised(call):
    try:
        call()
    except Exception as why:
        return why


def handed_on(why):
    """As torch's ExceptionWrapper does."""
    text = "Caught %s in DataLoader worker process 0.\nOriginal %s" % (type(why).__name__, "".join(traceback.format_exception(type(why), why, why.__traceback__)))
    return type(why)(text)


def expect(call, reason, where):
    why = raised(call)
    for one in (why, handed_on(why)):
        told = describe(one)
        assert told["reason"] == reason and told["code"] == "PYTHON_RAISED", told
        assert [frame.rpartition("/")[2] for frame in told["frames"]] == where, told


for n_parts, board.turns.between in (0, 0), (3, 0), (0, 100):  # drawn, and not
    board.kind = Kind(n_parts)
    ask = lambda how: Samples(board, own.Mine(how)).__getitems__(range(64))
    expect(lambda: ask("key"), "sample 37: KeyError: 'missing key'", ["own.py:15 in __getitem__"])
    expect(lambda: ask("lines"), "sample 37: ValueError: first line | second line: hint", ["own.py:17 in __getitem__"])
    expect(lambda: ask("stop"), "sample 37: StopIteration", ["own.py:19 in __getitem__"])
    expect(lambda: ask("exit"), "sample 37: SystemExit: bye", ["own.py:21 in __getitem__"])
expect(lambda: Samples(board, own.Together()).__getitems__(range(36, 40)), "one of samples 36, 37, 38, 39: KeyError: 'missing key'",
       ["own.py:27 in __getitems__", "own.py:27 in <listcomp>", "own.py:15 in __getitem__"])
before = list(Samples(board, own.Mine("none")).__getitems__(range(10)))
for board.batch_size, board.turns.between in (1, 0), (1, 1000), (8, 0), (8, 1000), (64, 0), (64, 1000):
    expect(lambda: list(Stream(board, own.Stream())), "sample 37 of a worker's stream: ValueError: broke", ["own.py:34 in __iter__"])
PY

# --- texts of tracebacks: frames of torch and multiprocessing only where there are no others; a cause of the user's own is not the sample
holds <<'PY'
import multiprocessing.process
import os
from dlbench_errors import describe

library = os.path.dirname(torch.__file__) + "/utils/data/fetch.py"
process = multiprocessing.process.__file__
head = "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
frame = '  File "%s", line %d, in %s\n    code\n'


def told(*lines):
    return describe(ValueError(head + "".join(lines)))


inner = frame % ("/home/me/own.py", 7, "load"), frame % (library, 52, "fetch"), frame % (process, 3, "run")
one = told(*inner, "ValueError: it broke\n")
assert one["frames"] == ["/home/me/own.py:7 in load"] and one["reason"] == "ValueError: it broke", one
one = told(*inner[1:], "ValueError: it broke\n")
assert one["frames"] == ["%s:52 in fetch" % library, "%s:3 in run" % process], one
one = told(*inner, "mine.Broken: a\n\nb: c\n  d\n")
assert one["reason"] == "Broken: a | b: c | d", one
middle = "\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
one = told(*inner, "OSError: gone\n", middle, *inner, "ValueError: it broke\n")
assert one["reason"] == "ValueError: it broke" and len(one["frames"]) == 2, one
PY

# --- libraries that the user's code calls: the user's own lines stay, with the innermost one; what argparse said
cat >lines.py <<'PY'
import argparse
import json


def configure():
    return json.loads("{bad")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.parse_args([])
PY
holds <<'PY'
import contextlib
import io
import lines
from dlbench_errors import describe, users


def told(call):
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            call()
        except BaseException as why:
            return describe(why)


one = told(lines.configure)
own, inner = [frame.rpartition("/")[2] for frame in one["frames"][-2:]]
assert own == "lines.py:6 in configure" and inner.startswith("decoder.py:"), one
one = told(lines.parse)
assert "--data" in one["reason"] and "__main__" in one["reason"], one
assert any(frame.endswith("lines.py:12 in parse") for frame in one["frames"]), one
installed = [("/usr/lib/python3/dist-packages/far/a.py", 1, "f"), ("/v/lib/site-packages/far/b.py", 2, "g")]
assert len(users(installed)) == 2, users(installed)
assert [frame[:8] for frame in users([("/me/a.py", n, "f") for n in range(5)] + installed)] == ["/me/a.py", "/me/a.py", "/v/lib/s"]
PY

# --- what returns nothing is named; a batch may be a dataclass; a worker that ended is found where its leavings are missed
holds <<'PY'
import dataclasses
import multiprocessing
import os
import types
from dlbench_batches import Batches
from dlbench_errors import Refused
from dlbench_names import called
from dlbench_serve import Server, ended_worker


@dataclasses.dataclass
class Batch:
    name: str
    image: object


batch = Batch("a", {"x": torch.zeros(8, 4)})
assert Batches(torch, None).measure([batch])[1:] == (8, 32)
try:
    called(lambda: None, "python.loader", "own.py:make_none", {})
    assert False
except Refused as why:
    assert why.code == "PYTHON_NAME" and "own.py:make_none" in str(why)

# Several data sets or loaders, a class, a data set for a loader and the reverse are refused before a sample is read. A map-style data set
# in place of a loader would iterate over samples, often without an end.
import collections
import torch.utils.data as data
from dlbench_returned import check_dataset, check_loader, check_numbered


class Map(data.Dataset):
    def __getitem__(self, i):
        return torch.zeros(4)


class Walked(Map):
    def __iter__(self):
        return iter([torch.zeros(4)])


class Together:
    def __getitems__(self, indices):
        return [torch.zeros(4) for _ in indices]


class Stream(data.IterableDataset):
    def __init__(self, *pipeline):
        self.pipeline = list(pipeline)

    def __iter__(self):
        return iter(())


class Names(collections.UserDict):
    def __contains__(self, key):
        raise TypeError("not a name")


def is_refused(check, *args):
    try:
        check(*args)
    except Refused as why:
        assert why.code == "PYTHON_NO_DATA" and "own.py:make" in str(why)
        return True
    return False


def refuses_samples(returned):
    return is_refused(check_dataset, returned, "own.py:make", data)


def refuses_batches(returned, counts=False):
    return is_refused(check_loader, returned, "own.py:make", data, counts)


loader, rows = data.DataLoader(Map()), torch.zeros(100, 4)
neither = [Map, [Map(), Map()], (loader, loader), "text", 7, os]
for returned in [Map(), Walked(), Together(), Stream(), [(1, 2)], {0: 1}, (torch.zeros(4), torch.zeros(4)), [rows, rows], (rows,)]:
    assert not refuses_samples(returned), returned
for returned in neither + [loader, Stream(loader), iter([]), (i for i in "ab"), (rows, torch.zeros(100))]:
    assert refuses_samples(returned), returned
for returned in [loader, Stream(loader), Stream(), [torch.zeros(4)], iter([])]:
    assert not refuses_batches(returned), returned
for returned in neither + [{"train": loader}, {}]:
    assert refuses_batches(returned) and refuses_batches(returned, True), returned
for returned in [Map(), Walked()]:
    assert refuses_batches(returned) and not refuses_batches(returned, True), returned
for returned in [Map(), {"a": 1}, Names({"a": 1})]:
    assert is_refused(check_numbered, returned, "own.py:make"), returned
for returned in [[], {}, {0: 1}]:
    assert not is_refused(check_numbered, returned, "own.py:make"), returned


class Iterator:
    def __init__(self, workers, why=FileNotFoundError(2, "No such file or directory")):
        self._workers, self.why = workers, why

    def __next__(self):
        raise self.why


context = multiprocessing.get_context("fork")
# what a worker tells of is its own error, although another one, whose stream is at its end, has left
told = FileNotFoundError("Caught FileNotFoundError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):")
gone, there = context.Process(target=os._exit, args=(3,)), context.Process(target=__import__("time").sleep, args=(60,))
gone.start(), there.start()
assert ended_worker(Iterator([there])) is None and ended_worker(object()) is None
server = Server(None, types.SimpleNamespace(board=None, opened=None), None, False)
for workers, kind in ([there, gone], Refused), ([there], FileNotFoundError):
    server.iterator = Iterator(workers)
    try:
        server.next()
        assert False
    except (Refused, FileNotFoundError) as why:
        assert type(why) is kind and (kind is not Refused or "exit code 3" in str(why)), why
# of those that ended the one that failed is named, and none whose stream was at its end
done, killed = context.Process(target=os._exit, args=(0,)), context.Process(target=lambda: os.kill(os.getpid(), 9))
done.start(), killed.start(), done.join(), killed.join()
streams = Iterator([done, killed])
assert "worker 1 of DataLoader ended by signal 9" in str(ended_worker(streams))
streams._workers = [done, there]
assert "exit code 0" in str(ended_worker(streams))
streams._dataset_kind = 1
assert ended_worker(streams) is None
server.iterator = Iterator([gone], told)
try:
    server.next()
    assert False
except FileNotFoundError as why:
    assert why is told
there.kill()
PY

# --- in cells
torch=(--set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set loader.batch_size=8
    --set loader.num_workers=0 --set device.step_ms=1 --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1
    --set python.samples=64 --set python.sample_bytes=8 --set loader.shuffle=false --results results --overwrite)
unset PYTHONPATH
export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
run "$dlbench" run "${torch[@]}" --set python.dataset=own.py:Mine --set python.args.how=stop
expect_code E_PYTHON_RAISED
expect_err 'sample 37: StopIteration at .*own.py:19 in __getitem__'
run "$dlbench" run "${torch[@]}" --set python.loader=own.py:Mine
expect_code E_PYTHON_NO_DATA
run "$dlbench" run "${torch[@]}" --set python.loader=own.py:make_none
expect_code E_PYTHON_NAME
expect_err 'own.py:make_none'

finish
