#!/usr/bin/env bash
# python/dlbench.py: results as pandas' data frames, with the rows of tables() and columns of numbers.
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

finish
