#!/usr/bin/env bash
# loader.kind = "torch" with a stand-in for torch: batches, epochs and their ends, and what is timed.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_train.sh"

# --- no torch at all
run "$dlbench" run "${own[@]}" --run-name none --json
expect_code E_PYTHON_NO_TORCH

mkdir -p broken/torch
echo 'raise OSError("libcudart.so.13: cannot open shared object file: No such file or directory")' >broken/torch/__init__.py
PYTHONPATH=broken run "$dlbench" run "${own[@]}" --run-name broken --json
expect_code E_PYTHON_NO_TORCH
expect_err 'libcudart.so.13'

export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double

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

finish
