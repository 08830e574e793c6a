#!/usr/bin/env bash
# [python.args]: values of TOML's types reach the user's function, are echoed, are swept, and are refused where they do not fit.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

command -v python3 >/dev/null || skip "no python3"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
cat >train.py <<'PY'
import json
import torch
from torch.utils.data import Dataset

class Mine(Dataset):
    def __init__(self, root, size=8, n=32, **more):
        self.n, self.size = n, size
        with open("seen", "w") as file:
            json.dump({name: [type(value).__name__, value] for name, value in dict(more, root=root, size=size, n=n).items()}, file)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.zeros(self.size)

def make_dataset(root, size: int = 8, *, n=32):
    return Mine(root, size, n)

def make_loader(batch_size, samples, wide=4):
    return [torch.zeros(batch_size, wide) for _ in range(samples // batch_size)]
PY
cat >own.toml <<'TOML'
[dataset]
format = "python"
[loader]
kind = "torch"
batch_size = 8
num_workers = 0
shuffle = false
[python]
interpreter = "python3"
dataset = "train.py:Mine"
[python.args]
root = "/data/\"caf\u00e9\""
size = 16
scale = 0.5
whole = 2.0
flip = true
sizes = [1, 2]
names = ["a", "b"]
[device]
step_ms = 5
prefetch = 0
[run]
repeats = 1
warmup_batches = 0
TOML
own=(--config own.toml --results results)

# --- types, through the specification of the cell
run "$dlbench" run "${own[@]}" --set python.args.n=24 --set python.args.text='"5"' --set python.args.list='[1.5, x, true]' \
    --set python.args.path=/a/b.c,d --set python.args.fold=007 --python.args.flip False --run-name types --json
expect_exit 0
valid_summary "$out"
expect_json 'd["cells"][0]["epochs"][0]["samples"] == 24'
wanted='{"root": "/data/\"caf\u00e9\"", "size": 16, "scale": 0.5, "whole": 2.0, "flip": False, "sizes": [1, 2], "names": ["a", "b"], "n": 24, "text": "5", "list": [1.5, "x", True], "path": "/a/b.c,d", "fold": "007"}'
echoed='{k[12:]: v for k, v in c.items() if k.startswith("python.args")}'
expect_json "(lambda c: $echoed)(d['cells'][0]['config']) == $wanted"
expect_json "(lambda c: $echoed)(d['config']) == $wanted"
[ "$(json_get seen "d == {name: [type(value).__name__, value] for name, value in $wanted.items()}")" = True ] ||
    failed "what the function was given: $(cat seen)"
run "$dlbench" report results/types
expect_exit 0

# --- other arguments are other work: cells are not compared, and the table names the argument (a machine may be too busy to tell)
run_until 'not d["too_busy"]' "$dlbench" sweep "${own[@]}" --set 'sweep.python.args.size=[4, 8]' --set python.samples=32 \
    --run-name sweep --overwrite --json
expect_exit 0
valid_summary "$out"
expect_json '[c["config"]["python.args.size"] for c in d["cells"]] == [4, 8] == d["axes"]["python.args.size"]'
expect_json '[c["config"]["python.args.root"] for c in d["cells"]] == ["/data/\"caf\u00e9\""] * 2'
expect_json '"python.args.size" in d["recommendation"] and d["recommendation_detail"]["no_difference"] == []'

# --- what does not fit
expect_error E_PYTHON_ARGS 2 "$dlbench" run "${own[@]}" --set python.dataset=train.py:make_dataset
expect_err 'flip.*make_dataset.*\(root, size: int = 8, \*, n=32\)'
sed -i '/^\[python.args\]/,/^names/d' own.toml
expect_error E_PYTHON_ARGS 2 "$dlbench" run "${own[@]}" --run-name missing
expect_err 'root'
expect_error E_PYTHON_ARGS 2 "$dlbench" run "${own[@]}" --set python.loader=train.py:make_loader \
    --set python.args.samples=32 --set python.args.widht=3
expect_err 'widht.*\(batch_size, samples, wide=4\)'
expect_error E_PYTHON_ARGS 2 "$dlbench" run "${own[@]}" --set python.loader=train.py:make_loader \
    --set python.args.samples=32 --set python.args.batch_size=3
expect_error E_PYTHON_ARGS 2 "$dlbench" run "${own[@]}" --set dataset.format=synthetic --set dataset.codec=raw --set python.dataset= \
    --set python.args.size=3 --dry-run
expect_err '^dlbench: --set: '
run "$dlbench" sweep "${own[@]}" --set python.args.root=x --set python.samples=32 --set 'sweep.python.args.n=[32, "no number"]' \
    --run-name partly --json
expect_json '[c["status"] for c in d["cells"]] == ["ok", "failed"]'

refused() { # CODE TOML
    printf '%s\n' "$2" >bad.toml
    expect_error "$1" 2 "$dlbench" run "${own[@]}" --config bad.toml
    expect_err 'bad.toml:2'
}
refused E_CONFIG_UNKNOWN_KEY $'[python.args.inner]\nx = 1'
refused E_CONFIG_UNKNOWN_KEY $'[python.args]\nmy-root = 1'
refused E_CONFIG_UNKNOWN_KEY $'[python]\nargs = "{}"'
refused E_CONFIG_UNSUPPORTED_TOML $'[python.args]\nday = 2026-01-31'
refused E_CONFIG_UNSUPPORTED_TOML $'[python.args]\nnested = [[1], [2]]'
refused E_CONFIG_UNSUPPORTED_TOML $'[python.args]\ntables = [{a = 1}]'
expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" run "${own[@]}" --set python.args=5
expect_error E_CONFIG_WRONG_TYPE 2 "$dlbench" run "${own[@]}" --set 'python.args.x=[[1]]'
expect_error E_CONFIG_BAD_AXIS 2 "$dlbench" sweep "${own[@]}" --set 'sweep.python.args.x=[[1], [2]]'
expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" run "${own[@]}" --set python.args.x=99999999999999999999
expect_error E_CONFIG_BAD_TEXT 2 "$dlbench" run "${own[@]}" --set "python.args.x=$(printf '%05000d' 0 | tr 0 x)"

finish
