#!/usr/bin/env bash
# loader.kind = "torch" with a stand-in for torch: batches and epochs, what user's code can do wrong, and that no process stays behind.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1
cat >train.py <<'PY'
import multiprocessing, os, signal, time
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

with open("%(pids)s", "a") as file:
    file.write("%%d\n" %% os.getpid())


class Mine(Dataset):
    def __init__(self, n=64, at=-1, what="nothing", wide=8):
        self.n, self.at, self.what, self.wide = n, at, what, wide

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.at:
            getattr(self, self.what)(i)
        return torch.zeros(self.wide)

    def fails(self, i):
        raise ValueError("sample %%d" %% i)

    def crashes(self, i):
        os.kill(os.getpid(), signal.SIGSEGV)

    def leaves(self, i):
        os._exit(3)

    def hangs(self, i):
        time.sleep(1000)

    def babbles(self, i):
        os.write(3, b"garbage")
        time.sleep(1000)

    def lies(self, i):
        os.write(3, (4).to_bytes(8, "little") * 2)
        time.sleep(1000)

    def closes(self, i):
        os.closerange(3, 256)

    def moves(self, i):
        multiprocessing.current_process()._config["tempdir"] = os.path.dirname("%(pids)s") + "/users"
        os.chdir("/")
        print("\x1b[31mmoved")


class Stream(IterableDataset):
    def __iter__(self):
        return (torch.zeros(8) for _ in range(60))


class Halve:
    def __call__(self, sample):
        return sample


class Compose:
    transforms = None

    def __init__(self):
        self.transforms = [Halve()]

    def __call__(self, sample):
        for one in self.transforms:
            sample = one(sample)
        return sample


class Named(Mine):
    def __init__(self):
        super().__init__()
        self.transform = Compose()

    def __getitem__(self, i):
        return self.transform(super().__getitem__(i))


def named():
    return Named()


class Sleep:
    def __call__(self, sample):
        time.sleep(0.003)
        return sample


def slow():
    data = Named()
    data.transform.transforms.append(Sleep())
    return data


def make(**args):
    return Mine(**args)


def stream():
    return Stream()


def loader(batch_size, samples):
    return [torch.zeros(batch_size, 4) for _ in range(samples // batch_size)]


def endless():
    data = Stream()
    Stream.__iter__ = lambda self: (torch.zeros(8) for _ in iter(int, 1))
    return data


def others(samples, **more):
    return loader(more.pop("batch_size"), samples) if set(more) < set(DataLoader.__init__.__code__.co_varnames) else None


def strict(batch_size, seed, prefetch_factor, persistent_workers, timeout, samples):
    return loader(batch_size, samples) if not prefetch_factor and not persistent_workers and timeout == 0 else None


def words():
    return [["a"], ["b"]]


def count(batch):
    return 7
PY
sed -i "s|%(pids)s|$tmp/pids|; s|%%|%|g" train.py
cat >init.py <<'PY'
import json as sampler
import train
from torch.utils.data import get_worker_info


class Slots:
    __slots__ = ("transform", "unset")


class Opened(train.Mine):
    """Each worker opens what it reads in worker_init_fn."""

    def __init__(self):
        super().__init__()
        self.file, self.held = None, Slots()
        self.held.transform = train.Compose()

    @property
    def loader(self):
        raise RuntimeError("nobody asked for it")

    def __getitem__(self, i):
        return self.held.transform(self.file[i])


def worker_init_fn(worker):
    get_worker_info().dataset.file = [train.torch.zeros(8)] * 64
PY
cp train.py train.v2.py
mkdir package
echo 'from . import other as make' >package/train.py
echo 'raise ModuleNotFoundError("none", name="skimage.io")' >lacks.py

torch=(--set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set loader.batch_size=8
    --set loader.num_workers=0 --set device.step_ms=1 --set device.prefetch=1 --set run.warmup_batches=0 --set run.repeats=1
    --set loader.shuffle=false --results results)
own=("${torch[@]}" --set python.dataset=train.py:make)

# Each process that ran the module is gone, and so are those that it started: they have no other group to hide in.
expect_no_process() {
    local pid
    while read -r pid; do
        for _ in $(seq 40); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
        kill -0 "$pid" 2>/dev/null && failed "process $pid should be gone"
    done <pids
    : >pids
    for _ in $(seq 40); do pgrep -f "$tmp/results.*/serve.py" >/dev/null || break; sleep 0.05; done
    pgrep -f "$tmp/results.*/serve.py" >/dev/null && failed "no interpreter should be left"
}

# --- no torch at all
run "$dlbench" run "${own[@]}" --run-name none --json
expect_code E_PYTHON_NO_TORCH

export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double

# --- batches, epochs and their ends; workers that hide in groups of their own; a ceiling copies what a worker put into shared
# memory, and each copy maps its pages again
export TORCH_DOUBLE_FAULTS=$tmp/faults
for workers in 0 2; do
    rm -f faults
    run "$dlbench" run "${own[@]}" --set python.args.wide=65536 --set device.step_ms=5 --set loader.num_workers=$workers --set run.epochs=3 \
        --run-name own-$workers --json
    expect_exit 0
    expect_json 'all(e["samples"] == e["expected"] == 64 for e in d["cells"][0]["epochs"]) and len(d["cells"][0]["epochs"]) == 3'
    expect_json 'd["cells"][0]["config"]["python.samples"] == 64 and d["cells"][0]["config"]["python.sample_bytes"] == 65536'
    expect_json 'd["cells"][0]["config"]["loader.transport"] is None and d["cells"][0]["config"]["python.threads"] == 0'
    expect_json 'd["cells"][0]["python"]["once"] == {"epochs": 3, "more": 0, "fewer": 0} and d["cells"][0]["python"]["round_trip_us"] > 0'
    expect_json 'len([s for s in d["cells"][0]["python"]["stages"] if s["name"] in ("getitem", "collate", "next") and s["count"] > 0]) == 3'
    expect_json 'd["cells"][0]["python"]["torch"] == "0.double" and d["cells"][0]["python"]["stamp_ns"] > 0'
    expect_json '(d["cells"][0]["io_bytes"], d["cells"][0]["read_bytes_per_s"], d["cells"][0]["worker_samples"] >= 192) == (None, None, True)'
    valid_summary "$out"
    found=$(python3 -c 'faults = [int(line) for line in open("faults")]; print(2 * sum(n >= 4 for n in faults) > len(faults) > 20)')
    [ "$found-$workers" = True-2 ] || [ "$found-$workers" = False-0 ] || failed "page faults in copies of the ceiling: $found"
    expect_no_process
done
unset TORCH_DOUBLE_FAULTS

# --- batches that lie ready are not late: what the device waits for are their copies; batches that the loop loads itself are late
slow=(--set device.step_ms=1 --set run.max_batches=60 --set run.warmup_batches=8 --set python.args.n=800)
export TORCH_DOUBLE_COPY_MS=4
for workers in 2 0; do
    run "$dlbench" run "${own[@]}" "${slow[@]}" --set loader.num_workers=$workers --run-name copies-$workers --json
    expect_exit 0
    expect_json '(d["cells"][0]["verdict"]["code"] == "H2D_BOUND_COPY") == (d["cells"][0]["config"]["loader.num_workers"] == 2)'
done
unset TORCH_DOUBLE_COPY_MS

# --- transforms are timed by name; without stamps nothing is
run "$dlbench" run "${torch[@]}" --set python.dataset=train.py:named --run-name named --json
expect_exit 0
expect_json '{s["name"] for s in d["cells"][0]["python"]["stages"]} - {"gc", "loop_gc"} == {"getitem", "Halve", "collate", "next"}'
run "$dlbench" run "${torch[@]}" --set python.dataset=train.py:slow --run-name slow --json
expect_exit 0
expect_json 'd["cells"][0]["verdict"]["code"] == "INPUT_BOUND_TRANSFORM" and " Sleep " in d["cells"][0]["verdict"]["text"]'
expect_json '{k: s["p50_ns"] for k, s in d["cells"][0]["worker_stages"].items()}["transform"] is None'
expect_json '0.9 < sum(s["sum_ns"] for s in d["cells"][0]["python"]["stages"] if s["name"] == "Sleep") / d["cells"][0]["worker_stages"]["transform"]["sum_ns"] <= 1'
expect_json '"NO_INTERPRETER" not in [n["code"] for n in d["not_modelled"]]'
run "$dlbench" report results/slow
expect_out "Sleep +[0-9.]+ +[0-9]+%"
for pins in true false; do # nobody measures what the pin thread takes: on screen and in a report
    run "$dlbench" run "${own[@]}" --set loader.pin_memory=$pins --run-name pins
    expect_exit 0
    cp "$out" screen
    run "$dlbench" report results/pins
    for shown in screen "$out"; do
        grep -Eq "^ +collate +[0-9.]+ " "$shown" || failed "stages should be in $shown"
        [ "$(grep -Eq "^ +pin thread +not measured" "$shown" && echo true || echo false)" = $pins ] ||
            failed "pin thread with pin_memory=$pins in $shown"
    done
    rm -r results/pins
done
run "$dlbench" run "${own[@]}" --set python.stamps=false --run-name bare --json
expect_json 'd["cells"][0]["python"]["stages"] == [] and d["cells"][0]["python"]["once"] is None'

# --- worker_init_fn finds the user's own data set; a module called sampler is none; slots hold transforms; properties are not asked
run "$dlbench" run "${torch[@]}" --set python.dataset=init.py:Opened --set loader.num_workers=2 --set python.samples=64 \
    --set python.sample_bytes=8 --run-name init --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 64 and "Halve" in [s["name"] for s in d["cells"][0]["python"]["stages"]]'
expect_json 'd["cells"][0]["python"]["given"] == ["worker_init_fn"] and d["cells"][0]["python"]["accepted"] is None'

# --- the short batch at the end counts, wherever its last sample went, and the user's own folder of temporary files stays; an iterable
# data set's length is not checked
mkdir users
touch users/thesis
run "$dlbench" run "${own[@]}" --set python.args.n=21 --set python.args.at=20 --set python.args.what=moves --run-name short --json
expect_exit 0
expect_no_err $'\x1b'
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 21'
expect_file users/thesis
expect_error E_PYTHON_SAMPLES 2 "$dlbench" run "${torch[@]}" --set python.dataset=train.py:stream --run-name stream
run "$dlbench" run "${torch[@]}" --set python.dataset=train.py:stream --set python.samples=64 --set python.iterable=true \
    --run-name stream --overwrite --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 60'

# --- what never ends does only where the run does
endless=("${torch[@]}" --set python.dataset=train.py:endless --set python.samples=64 --set python.sample_bytes=8 --set python.iterable=true)
run "$dlbench" run "${endless[@]}" --run-name endless
expect_code E_PYTHON_ENDLESS
run "$dlbench" run "${endless[@]}" --set run.max_batches=40 --run-name endless --overwrite --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["samples"] >= 320'

# --- workers that a loader of the user's own has beyond the setting, each of which gives all samples: it says how many, or they are there,
# processes or threads; without end they are found out too
cat >crowd.py <<'PY'
import itertools, multiprocessing, threading, time
import torch


class Said:
    def __init__(self, n, n_batches):
        self.num_workers, self.n_batches = n, n_batches

    def __iter__(self):
        return (torch.zeros(8, 8) for _ in range(self.n_batches))


class Seen:
    def __init__(self, kind):
        self.kind = kind

    def __iter__(self):
        workers = [self.kind(target=time.sleep, args=(30,), daemon=True) for _ in range(4)]
        for one in workers:
            one.start()
        return (torch.zeros(8, 8) for _ in range(4 * 8))


def said(n, n_batches):
    return Said(n, n_batches)


def processes(n, n_batches):
    return Seen(multiprocessing.get_context("fork").Process)


def threads(n, n_batches):
    return Seen(threading.Thread)


def endless(n, n_batches):
    return (torch.zeros(8, 8) for _ in itertools.count())
PY
crowd=("${torch[@]}" --set python.samples=64 --set python.sample_bytes=8 --set python.iterable=true --set python.args.n=4
    --set sweep.exhaustive=true --overwrite --run-name crowd --json)
run "$dlbench" sweep "${crowd[@]}" --set python.args.n_batches=32 \
    --set 'sweep.python.loader=["crowd.py:said", "crowd.py:processes", "crowd.py:threads", "crowd.py:endless"]'
expect_exit 0
expect_json '[(c["status"], c["code"]) for c in d["cells"]] == [("ok", None)] * 3 + [("failed", "E_PYTHON_ENDLESS")]'
expect_json '[c["epochs"][0]["samples"] for c in d["cells"][:3]] == [256] * 3'
expect_no_process
# 5 times the samples, as 4 workers and a share to spare may give; and a batch more
run "$dlbench" sweep "${crowd[@]}" --set python.loader=crowd.py:said --set 'sweep.python.args.n_batches=[40, 41]'
expect_exit 0
expect_json '[(c["status"], c["code"]) for c in d["cells"]] == [("ok", None), ("failed", "E_PYTHON_ENDLESS")]'

# --- a loader of the user's own is given the settings that it has parameters for; **kwargs are DataLoader's; what no worker needs is
# given where it must be
own_loader=("${torch[@]}" --set python.args.samples=40 --set python.samples=40 --set python.sample_bytes=4 --set python.iterable=true)
run "$dlbench" sweep "${own_loader[@]}" --set 'sweep.python.loader=["train.py:others", "train.py:strict"]' --set sweep.exhaustive=true \
    --run-name accepted --json
expect_exit 0
expect_json 'd["cells"][0]["python"]["accepted"] == ["batch_size", "drop_last", "num_workers", "pin_memory", "shuffle"]'
expect_json 'd["cells"][1]["python"]["accepted"] == ["batch_size", "persistent_workers", "prefetch_factor", "seed", "timeout"]'
run "$dlbench" run "${torch[@]}" --set python.loader=train.py:loader --set python.args.samples=40 --set python.samples=40 \
    --set python.iterable=true --run-name loader --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 40'
expect_json 'd["cells"][0]["python"]["given"] == [] and d["cells"][0]["python"]["accepted"] == ["batch_size"]'

# --- what counts a batch without a tensor
refused() { # CODE OPTIONS...
    local wanted=$1
    shift
    run "$dlbench" run "$@" --run-name refused --overwrite
    expect_code "$wanted"
    expect_no_process
}
refused E_PYTHON_BATCH_UNKNOWN "${torch[@]}" --set python.loader=train.py:words --set python.samples=14
run "$dlbench" run "${torch[@]}" --set python.loader=train.py:words --set python.count=train.py:count --set python.samples=14 \
    --set python.iterable=true --run-name words --json
expect_exit 0
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 14'

# --- names that name nothing
refused E_PYTHON_NAME "${torch[@]}" --set python.dataset=train.py:nothing
refused E_PYTHON_NAME "${torch[@]}" --set python.dataset=nothing.py:make
refused E_PYTHON_NAME "${torch[@]}" --set python.dataset=make
refused E_PYTHON_NAME "${torch[@]}" --set python.dataset=train.py:torch
refused E_PYTHON_PACKAGE_MISSING "${torch[@]}" --set python.dataset=no_such_package:make
refused E_PYTHON_PACKAGE_MISSING "${torch[@]}" --set python.dataset=lacks.py:make
expect_err scikit-image
refused E_PYTHON_RAISED "${torch[@]}" --set python.dataset=package/train.py:make
expect_err "$tmp/package/train.py:1"
expect_err '"package.train:make"'
run "$dlbench" run "${torch[@]}" --set python.dataset=train.v2.py:make --run-name dots --json
expect_exit 0
refused E_PYTHON_ONLY "${own[@]}" --set loader.kind=inline

# --- without dataset.format and loader.kind, data of one's own are read by PyTorch
run "$dlbench" run "${own[@]:4}" --run-name implied --json
expect_exit 0
expect_json 'd["config"]["loader.kind"] == "torch" and d["config"]["dataset.format"] == "python"'
run "$dlbench" gen --set python.dataset=train.py:make
expect_code E_DATASET_PATH_NOT_SET
refused E_PYTHON_NO_TWIN "${torch[@]}"

# --- what the code of a data set may do at a sample
at=(--set python.args.at=20)
refused E_PYTHON_RAISED "${own[@]}" "${at[@]}" --set python.args.what=fails
expect_err "$tmp/train.py:[0-9]+"
refused E_PYTHON_HANGS "${own[@]}" "${at[@]}" --set python.args.what=hangs --set loader.num_workers=2 --set loader.timeout_s=0.5

# --- what this torch does not have is not measured
run "$dlbench" sweep "${own[@]}" --set loader.num_workers=2 --set 'sweep.loader.order=["in-order", "any"]' --set sweep.exhaustive=true \
    --run-name lacks --json
expect_exit 0
expect_json '[c["status"] for c in d["cells"]] == ["ok", "skipped"] and d["cells"][1]["code"] == "E_PYTHON_SETTING_MISSING"'

# --- whatever it does, the sweep goes on
run "$dlbench" sweep "${own[@]}" "${at[@]}" --set 'sweep.python.args.what=["moves", "fails", "crashes", "leaves", "closes", "babbles", "lies"]' \
    --set sweep.exhaustive=true --run-name sweep --json
expect_json '[(c["status"], c["code"]) for c in d["cells"]] == [("ok", None)] + [("failed", "E_PYTHON_" + code) for code in
    ("RAISED", "ENDED", "ENDED", "ENDED", "GARBAGE", "GARBAGE")]'
expect_no_process

# --- a program that is killed leaves nothing behind
"$dlbench" run "${own[@]}" "${at[@]}" --set python.args.what=hangs --set loader.num_workers=2 --set run.epochs=9 --run-name killed >/dev/null 2>&1 &
killed=$!
for _ in $(seq 100); do pgrep -f "$tmp/results.*/serve.py" >/dev/null && break; sleep 0.05; done
sleep 0.5
kill -KILL $killed
wait $killed 2>/dev/null
expect_no_process

finish
