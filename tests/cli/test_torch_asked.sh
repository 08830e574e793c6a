#!/usr/bin/env bash
# When an interpreter is asked before cells are planned, with a stand-in for torch: dry runs of the user's own data, what is refused
# before torch is imported, and lists over what a sampler of the user's module decides.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
printf '#!/bin/sh\necho asked >>"%s/asked"\nexec python3 "$@"\n' "$tmp" >py && chmod +x py
cat >train.py <<'PY'
import torch
from torch.utils.data import Dataset

class Mine(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.zeros(8)
PY
cp train.py batches.py
cat >>batches.py <<'PY'

class batch_sampler:
    def __init__(self, data):
        self.n = len(data)

    def __iter__(self):
        return iter([list(range(i, i + 4)) for i in range(0, self.n, 4)])

    def __len__(self):
        return self.n // 4
PY
cp train.py order.py
printf '\ndef sampler(data):\n    return list(range(len(data)))\n' >>order.py

own=(--set loader.kind=torch --set dataset.format=python --set python.interpreter=./py --set loader.num_workers=0
    --set loader.batch_size=8 --set device.step_ms=5 --set device.prefetch=0 --set run.warmup_batches=0 --set run.repeats=1
    --set loader.shuffle=false --set sweep.exhaustive=true --results results)
mine=("${own[@]}" --set python.dataset=train.py:Mine)

# --- a dry run finds out how many samples there are, as the run does, and measures nothing
run "$dlbench" run "${mine[@]}" --dry-run --json
expect_exit 0
expect_file asked
expect_json 'd["dataset"]["samples"] == 64 and d["cells"][0]["epoch_batches"] == 8'
expect_no_file results
run "$dlbench" sweep "${mine[@]}" --set 'sweep.loader.batch_size=[8, 16, 100]' --set loader.drop_last=true --dry-run --json
expect_exit 0
expect_json '[(c["code"], c["status"]) for c in d["cells"]] == [(None, "planned")] * 2 + [("E_TOO_FEW_BATCHES", "skipped")]'
expect_error E_PYTHON_NAME 2 "$dlbench" run "${own[@]}" --set python.dataset=train.py:None_ --dry-run

# --- what is set is not asked for, and no interpreter runs where all of it is
rm -f asked
run "$dlbench" run "${mine[@]}" --set python.samples=48 --dry-run --json
expect_exit 0
expect_file asked
expect_json 'd["dataset"]["samples"] == 48 and d["cells"][0]["epoch_batches"] == 6 and d["cells"][0]["slots_bytes"] == 8192'
rm -f asked
run "$dlbench" run "${mine[@]}" --set python.samples=64 --set python.sample_bytes=32 --set python.iterable=false --dry-run --json
expect_exit 0
expect_no_file asked

# --- what needs no interpreter to be refused is refused without one
refused() { # CODE OPTIONS...
    local wanted=$1 code
    shift
    for how in --dry-run --overwrite; do
        rm -f asked
        run "$dlbench" "$@" $how
        expect_code "$wanted"
        expect_no_file asked
    done
}
refused E_DROP_CACHES_NOT_COLD run "${mine[@]}" --set run.drop_caches=true
refused E_SWEEP_OF_REPEATS sweep "${mine[@]}" --set 'sweep.run.repeats=[1, 2]'
refused E_SWEEP_ALL_SKIPPED sweep "${mine[@]}" --set python.sample_bytes=100GB --set 'sweep.loader.batch_size=[1000, 2000]'
sizes=("${quick[@]}" --set python.interpreter=./py --set 'sweep.loader.num_workers=[0, 1]')
refused E_SWEEP_ALL_SKIPPED sweep "${sizes[@]}" --set generate.sample_bytes=1GB --set loader.batch_size=20000 --set generate.samples=200000
refused E_SWEEP_ALL_SKIPPED sweep "${sizes[@]}" --set loader.batch_size=1000 --set loader.drop_last=true
refused E_SWEEP_CONFIRM sweep "${sizes[@]}" --set sweep.confirm=torch --set sweep.exhaustive=true
rm -f asked
run "$dlbench" sweep "${sizes[@]}" --dry-run --json
expect_exit 0
expect_file asked

# --- what a sampler decides makes no difference: one value is measured, others are skipped with the reason
statuses='[c["status"] for c in d["cells"]]'
for samples in 0 64; do # known or asked for
    lists=(--set python.samples="$samples" --set python.sample_bytes=8 --set 'sweep.loader.batch_size=[4, 8]' --dry-run --json)
    run "$dlbench" sweep "${own[@]}" --set python.dataset=batches.py:Mine "${lists[@]}"
    expect_exit 0
    expect_json "$statuses == ['planned', 'skipped'] and 'batch_sampler' in d['cells'][1]['reason']"
    run "$dlbench" sweep "${own[@]}" --set python.dataset=order.py:Mine "${lists[@]}"
    expect_json "$statuses == ['planned'] * 2"
    run "$dlbench" sweep "${mine[@]}" "${lists[@]}"
    expect_json "$statuses == ['planned'] * 2"
done
both=(--set 'sweep.loader.shuffle=[false, true]' --set 'sweep.loader.num_workers=[0, 1]')
run "$dlbench" sweep "${own[@]}" --set python.dataset=order.py:Mine "${both[@]}" --dry-run --json
expect_json "$statuses == ['planned', 'planned', 'skipped', 'skipped'] and 'sampler' in d['cells'][2]['reason']"
run "$dlbench" sweep "${mine[@]}" "${both[@]}" --dry-run --json
expect_json "$statuses == ['planned'] * 4"
run "$dlbench" sweep "${own[@]}" --set python.dataset=batches.py:Mine --set 'sweep.loader.batch_size=[4, 8]' --run-name batches --json
expect_exit 0
expect_json "$statuses == ['ok', 'skipped']"
valid_summary "$out"

finish
