#!/usr/bin/env bash
# What the user's code can do wrong, with a stand-in for torch: names that name nothing, samples that fail, hang or crash, and that no
# process stays behind.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
. "$DLB_SOURCE_DIR/tests/cli/torch_train.sh"

cp train.py train.v2.py
mkdir package
echo 'from . import other as make' >package/train.py
echo 'raise ModuleNotFoundError("none", name="skimage.io")' >lacks.py

export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double

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

# --- modules of the user's may have any name
echo 'from train import make' >serve.py
echo 'from serve import make' >served.py
run "$dlbench" run "${torch[@]}" --set python.dataset=served.py:make --run-name serve --json
expect_exit 0

# --- for another loader
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
for _ in $(seq 100); do pgrep -f "$tmp/results.*/dlbench_serve.py" >/dev/null && break; sleep 0.05; done
sleep 0.5
kill -KILL $killed
wait $killed 2>/dev/null
expect_no_process

finish
