#!/usr/bin/env bash
# python/dlbench.py reads results: the same figures as in summary.json, as rows. Neither torch nor pandas.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
command -v python3 >/dev/null || skip "no python3"
export PYTHONPATH=$DLB_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1

holds() { # Python on stdin
    run python3 -c "$(cat)"
    expect_exit 0
}

run "$dlbench" sweep "${brief[@]}" --set run.repeats=2 --set sweep.exhaustive=true --set 'sweep.loader.num_workers=[0, 1]' --run-name sweep
expect_exit 0
run "$dlbench" gap --samples 20000 --batch-size 2000 --run-name gap
expect_exit 0
python3 -c 'import dlbench
for batch in dlbench.watch([[1, 2], [3]] * 60, count=len, run_name="live"): pass'

# --- a folder, its summary.json, and what was printed are the same document
run "$dlbench" report results/sweep --json
cp "$out" printed.json
holds <<'END'
import dlbench, json
document = json.load(open("results/sweep/summary.json"))
assert dlbench.read("results/sweep") == dlbench.read("results/sweep/summary.json") == document
assert dlbench.tables("printed.json")["cells"] == dlbench.tables(document)["cells"]
assert [dlbench.read("results/" + name)["command"] for name in ("sweep", "gap", "live")] == ["sweep", "gap", "watch"]
END

# --- cells, repetitions and stages
holds <<'END'
import dlbench
document, tables = dlbench.read("results/sweep"), dlbench.tables("results/sweep")
assert set(tables) == {"cells", "repetitions", "stages"} and len(tables["cells"]) == 2
plain = (bool, int, float, str, type(None))
assert all(isinstance(value, plain) for rows in tables.values() for row in rows for value in row.values())
for row, cell in zip(tables["cells"], document["cells"]):
    rate = cell["samples_per_s"]
    assert (row["run_name"], row["cell"], row["status"], row["repeats"]) == ("sweep", cell["index"], "ok", 2)
    assert [row["samples_per_s" + end] for end in ("", "_low", "_high")] == [rate[key] for key in ("median", "low", "high")]
    assert (row["verdict"], row["verdict_code"]) == (cell["verdict"]["class"], cell["verdict"]["code"])
    assert (row["gain"], row["gain_low"]) == (cell["verdict"]["gain"]["median"], cell["verdict"]["gain"]["low"])
    assert row["gpu_idle_frac_max"] == cell["gpu_idle_frac"]["max"] and row["peak_pss_bytes"] == cell["memory"]["peak_pss_bytes"]
    assert row["loader.num_workers"] == cell["config"]["loader.num_workers"] and row["loader.batch_size"] == 16
    mine = [one for one in tables["repetitions"] if one["cell"] == cell["index"]]
    assert [one["repetition"] for one in mine] == [0, 1] and [one["samples_per_s"] for one in mine] == rate["values"]
    assert all(one["loader.num_workers"] == row["loader.num_workers"] for one in mine)
    stages = {(one["of"], one["stage"]): one for one in tables["stages"] if one["cell"] == cell["index"]}
    for of in ("worker", "consumer", "device"):
        for name, figures in cell[of + "_stages"].items():
            assert all(stages[of, name][key] == value for key, value in figures.items())
assert len({tuple(row) for row in tables["stages"]}) == 1 and len({tuple(row) for row in tables["cells"]}) == 1
END

# --- the ladder and a watched loop
holds <<'END'
import dlbench
document, tables = dlbench.read("results/gap"), dlbench.tables("results/gap")
rungs = {rung["rung"]: rung for rung in document["gap"]["rungs"]}
assert [row["cell"] for row in tables["cells"]] == list(rungs)
for row in tables["cells"]:
    rung, mine = rungs[row["cell"]], [one for one in tables["repetitions"] if one["cell"] == row["cell"]]
    assert row["seconds"] == rung["seconds"]["median"] and [one["seconds"] for one in mine] == rung["seconds"]["values"]
    parts = [one for one in tables["stages"] if one["cell"] == row["cell"] and one["of"] == "loop"]
    assert [one["seconds"] for one in parts] == [part["seconds"] for part in (rung["parts"] or {}).values()]
watched, tables = dlbench.read("results/live")["watch"], dlbench.tables("results/live")
assert [(row["steps"], row["samples"], row["wait_ns"]) for row in tables["cells"]] == [(120, 180, watched["wait_ns"])]
assert [(row["repetition"], row["steps"], row["ended"]) for row in tables["repetitions"]] == [(0, 120, "exhausted")]
assert {row["stage"]: row["p50_ns"] for row in tables["stages"]} == {name: watched[name]["p50_ns"] for name in ("waits", "step_to_step")}
END

# --- what is no result, and what a later version wrote
holds <<'END'
import dlbench, json, os
document = dlbench.read("results/sweep")
for number, text in enumerate(("", "[1]", "{}", '{"error": {}}', json.dumps(dict(document, schema_version=99)))):
    open("other.json", "w").write(text)
    try:
        dlbench.tables("other.json")
    except dlbench.ResultError as why:
        assert "other.json" in str(why) and (number != 4 or "99" in str(why) and str(dlbench.SCHEMA_VERSION) in str(why)), why
    else:
        raise SystemExit(text)
os.mkdir("empty")
try:
    dlbench.read("empty")
except FileNotFoundError:
    pass
else:
    raise SystemExit("a folder without a result")
END

# --- damaged documents; {} has neither command nor run_name
holds <<'END'
import copy, dlbench
def damaged(document, path):
    for value in (None, 7, "text", [], [7], {}, {"median": 1}):
        for lost in (False, True):
            one = copy.deepcopy(document)
            at = one
            for key in path[:-1]:
                at = at[key]
            if lost:
                del at[path[-1]]
            else:
                at[path[-1]] = value
            yield one
sweep, gap, live = (dlbench.read("results/" + name) for name in ("sweep", "gap", "live"))
n = 0
for document, paths in (
    (sweep, (["run_name"], ["command"], ["cells"], ["axes"], ["cells", 0], *(["cells", 0, key] for key in sweep["cells"][0]),
             ["cells", 0, "samples_per_s", "values"])),
    (gap, (["gap"], ["gap", "rungs"], *(["gap", "rungs", 0, key] for key in gap["gap"]["rungs"][0]), ["gap", "rungs", 0, "seconds", "values"])),
    (live, (["watch"], *(["watch", key] for key in live["watch"]), ["watch", "epochs", 0], ["watch", "epochs", 0, "number"])),
):
    for path in paths:
        for one in damaged(document, path):
            try:
                dlbench.tables(one)
            except dlbench.ResultError:
                n += 1
assert n > 50, n
try:
    dlbench.tables({})
except dlbench.ResultError:
    pass
else:
    raise SystemExit("{}")
END

# --- one repetition has a rate and no interval
run "$dlbench" run "${brief[@]}" --set run.repeats=1 --run-name once
expect_exit 0
holds <<'END'
import dlbench
cell, = dlbench.tables("results/once")["cells"]
rate = dlbench.read("results/once")["cells"][0]["samples_per_s"]
assert rate["interval"] == "none" and cell["samples_per_s"] == rate["median"] > 0
assert [cell["samples_per_s" + end] for end in ("_low", "_high")] == [None, None]
END
run "$dlbench" report results/once --format prometheus
expect_exit 0
expect_out '^dlbench_samples_per_second\{'
expect_no_out '^dlbench_samples_per_second_(low|high)\{'

# --- a cell that was skipped has a row, and neither rates nor repetitions
run "$dlbench" sweep "${brief[@]}" --set sweep.exhaustive=true --set loader.num_workers=1 --set 'sweep.loader.persistent_workers=[false, true]' --run-name skipped
expect_exit 0
holds <<'END'
import dlbench
tables = dlbench.tables("results/skipped")
assert [(row["status"], row["samples_per_s"] is None) for row in tables["cells"]] == [("ok", False), ("skipped", True)]
assert {row["cell"] for row in tables["repetitions"]} == {0}
END

# --- without pandas the frames are refused, the rows are not
run python3 -c 'import sys; sys.modules["pandas"] = None
import dlbench
assert dlbench.tables("results/sweep")["cells"]
try:
    dlbench.frames("results/sweep")
except ImportError as why:
    assert "pandas" in str(why)
else:
    raise SystemExit("frames without pandas")'
expect_exit 0

finish
