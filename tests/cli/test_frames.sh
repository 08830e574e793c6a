#!/usr/bin/env bash
# python/dlbench.py: results as pandas' data frames, with the rows of tables() and columns of numbers; and the CSV as pandas reads it.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
for python in "${PYTHON:-}" python3; do
    [ -n "$python" ] && "$python" -c 'import pandas' 2>/dev/null && break
    python=
done
[ -n "$python" ] || skip "neither \$PYTHON nor python3 can import pandas"
export PYTHONPATH=$DLB_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1

run "$dlbench" sweep "${brief[@]}" --set run.repeats=2 --set sweep.exhaustive=true --set 'sweep.loader.num_workers=[0, 1]' --run-name sweep
expect_exit 0
run "$python" -c '
import dlbench, pandas
tables, frames = dlbench.tables("results/sweep"), dlbench.frames("results/sweep")
assert set(frames) == set(tables) and all(len(frames[name]) == len(rows) for name, rows in tables.items())
cells, repetitions, stages = (frames[name] for name in ("cells", "repetitions", "stages"))
for frame, columns in (
    (cells, ["samples_per_s", "samples_per_s_low", "gain", "gpu_idle_frac", "machine_stolen_frac", "epoch_samples_per_s"]),
    (repetitions, ["repetition", "loader.num_workers", "samples_per_s", "epoch_samples_per_s"]),
    (stages, ["count", "sum_ns", "p50_ns", "max_ns"]),
):
    assert all(pandas.api.types.is_numeric_dtype(frame[name]) for name in columns), frame.dtypes[columns]
median = repetitions.groupby("cell").samples_per_s.median()
assert (abs(median - cells.set_index("cell").samples_per_s) <= 1e-6 * median).all()
merged = stages.merge(cells[["run_name", "cell", "repeats"]], on=["run_name", "cell"], validate="many_to_one")
assert len(merged) == len(stages)
wide = stages[stages.of == "worker"].pivot(index="cell", columns="stage", values="sum_ns")
assert wide.loc[0, "read"] == tables["stages"][0]["sum_ns"]
'
expect_exit 0

# --- the CSV: numbers are numbers, a swept setting that is yes or no is a bool, and what was never measured is NaN
run "$dlbench" sweep "${brief[@]}" --set run.repeats=2 --set sweep.exhaustive=true --set 'sweep.loader.num_workers=[0, 1]' \
    --set 'sweep.loader.pin_memory=[false, true]' --run-name pinned
expect_exit 0
python3 - results/pinned/summary.json <<'PY'
import json, sys
with open(sys.argv[1]) as file:
    document = json.load(file)
for cell in document["cells"]:
    cell["within_epoch_samples_per_s"] = {"median": None, "low": None, "high": None, "interval": "none", "values": [None, None]}
with open(sys.argv[1], "w") as file:
    json.dump(document, file)
PY
run "$dlbench" report results/pinned --format csv
expect_exit 0
cp "$out" pinned.csv
run "$python" -c '
import dlbench, pandas
read, frame = pandas.read_csv("pinned.csv"), dlbench.frames("results/pinned")["repetitions"]
whole, real = ["cell", "repetition", "loader.num_workers"], ["samples_per_s", "epoch_samples_per_s"]
assert len(read) == 8 and list(read) == list(frame), (list(read), list(frame))
assert all(pandas.api.types.is_integer_dtype(read[name]) for name in whole), read.dtypes
assert all(pandas.api.types.is_float_dtype(read[name]) for name in real) and read.samples_per_s.notna().all(), read.dtypes
assert read["loader.pin_memory"].dtype == bool and set(read["loader.pin_memory"]) == {False, True}, read.dtypes
never = read["within_epoch_samples_per_s"]
assert pandas.api.types.is_float_dtype(never) and never.isna().all(), never
pandas.testing.assert_frame_equal(read, frame, rtol=1e-9, atol=0)
'
expect_exit 0

finish
