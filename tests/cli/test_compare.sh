#!/usr/bin/env bash
# Two results beside each other: cells aligned by settings, planted changes, what differs; and both measured in turns.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

# A sweep of two cells, then copies of its result with planted rates: plant NAME FACTOR-OF-CELL-0 FACTOR-OF-CELL-1 [NOISE].
run "$dlbench" sweep "${brief[@]}" --set 'sweep.loader.num_workers=[1, 2]' --set sweep.exhaustive=true --set run.repeats=2 --run-name base
expect_exit 0
plant() {
    mkdir -p "$1" && python3 - "$@" <<'PY'
import json, sys
name, factors, noise = sys.argv[1], [float(f) for f in sys.argv[2:4]], float((sys.argv[4:] + ["0.001"])[0])
d = json.load(open("results/base/summary.json"))
d["environment"]["timestamp"] = "2026-01-01T00:00:0" + str(len(name) % 10) + "Z"
for cell, factor in zip(d["cells"], factors):
    values = [1000 * factor * (1 + noise * k) for k in (-1, 1, 0.5, -0.5, 0)]
    cell["blocks"] = list(range(5))
    cell["repeats"] = 5
    for key in ("samples_per_s", "within_epoch_samples_per_s", "epoch_samples_per_s"):
        cell[key] = {"median": values[4], "low": min(values), "high": max(values), "interval": "min-max", "values": values}
json.dump(d, open(name + "/summary.json", "w"))
PY
}
plant before 1 1
plant after 0.8 1
plant mixed 0.8 1.25
plant noisy 1 1 0.05

run "$dlbench" compare before after --json
expect_exit 0
expect_json 'set(d) == {"command", "compare"} and [c["settings"] for c in d["compare"]["cells"]] == [{"loader.num_workers": 1}, {"loader.num_workers": 2}]'
expect_json '[c["verdict"] for c in d["compare"]["cells"]][0] == "SLOWER" and abs(d["compare"]["cells"][0]["change_frac"] + 0.2) < 1e-9'
expect_json 'd["compare"]["cells"][0]["low"] < -0.2 < d["compare"]["cells"][0]["high"] < -0.15 and d["compare"]["intervals"] == 3'
expect_json 'all(c["detectable_frac"] > 0.01 for c in d["compare"]["cells"]) and d["compare"]["between"]["by"] == "allowance"'
run "$dlbench" compare after before --json
expect_json 'd["compare"]["cells"][0]["verdict"] == "FASTER" and abs(d["compare"]["cells"][0]["change_frac"] - 0.25) < 1e-9'
run "$dlbench" compare before mixed --json
expect_json '[c["verdict"] for c in d["compare"]["cells"]] == ["SLOWER", "FASTER"] and d["compare"]["overall"]["verdict"] == "UNCLEAR"'
run "$dlbench" compare before before --json --between 0 --smallest 2%
expect_json '[c["verdict"] for c in d["compare"]["cells"]] == ["SAME", "SAME"] and d["compare"]["overall"]["verdict"] == "SAME"'
run "$dlbench" compare before noisy --json
expect_json 'd["compare"]["overall"]["verdict"] == "UNCLEAR"'

# --- repeated results say what results differ by
run "$dlbench" compare before after --also-a before --also-b after --also-b after --json
expect_json 'd["compare"]["between"]["by"] == "repeated results" and (d["compare"]["a"]["results"], d["compare"]["b"]["results"]) == (2, 3)'

# --- two cells of one result are paired by their blocks, so that the allowance has no part
run "$dlbench" compare mixed#0 mixed#1 --json --between 50%
expect_json 'd["compare"]["between"]["by"] == "pairs" and d["compare"]["cells"][0]["verdict"] == "FASTER"'
expect_json '[x["key"] for x in d["compare"]["differences"] if x["kind"] != "conditions"] == ["loader.num_workers"] and d["compare"]["differences"][0]["may_explain"]'
expect_error E_COMPARE_CELL 2 "$dlbench" compare before#7 after#0
expect_error E_COMPARE_SHARE 2 "$dlbench" compare before after --smallest 2 --json
expect_error E_USAGE_MISSING_ARGUMENT 2 "$dlbench" compare before
expect_error E_USAGE_FLAG_VALUE 2 "$dlbench" compare before after --format csv
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" compare --run a.toml b.toml --format html
run "$dlbench" compare before after --format html # cli/test_pages looks at it
expect_exit 0
expect_out 'id="r0-changes"'
expect_out '<section id="r2">'
run "$dlbench" compare before mixed --format md
expect_exit 0
expect_out '^## mixed .* before '
expect_out '^\| workers 1 \| SLOWER \|.*-20\.0% \|'
expect_out '^\| workers 2 \| FASTER \|.*\+25\.0% \|'
expect_no_out '^## .*dlbench sweep' # of the results themselves nothing

# --- what differs: first what may explain
python3 - <<'PY'
import json
d = json.load(open("after/summary.json"))
d["environment"]["cpu"]["model"] = "another\u001b[31m CPU"
d["dlbench"]["version"] = "9.9"
for cell in d["cells"]:
    cell["config"]["loader.batch_size"] = 99
    cell["config"]["run.repeats"] = 99
json.dump(d, open("after/summary.json", "w"))
PY
run "$dlbench" compare before after --json
expect_json '[x["key"] for x in d["compare"]["differences"] if x["may_explain"] and x["kind"] != "conditions"] == ["loader.batch_size", "cpu.model", "dlbench.version"]'
expect_json '{x["key"] for x in d["compare"]["differences"] if not x["may_explain"]} >= {"run.repeats"}'
run "$dlbench" compare before after
expect_out '^B is UNCLEAR|^B is SLOWER'
expect_out 'cpu\.model: .*\| "another.*\\u001B'
expect_no_out $'\x1b'
expect_no_out 'run\.repeats'
run "$dlbench" compare before after --verbose
expect_out 'run\.repeats'

# --- other settings, other kinds, other versions
python3 - <<'PY'
import json, os
d = json.load(open("before/summary.json"))
for cell, n in zip(d["cells"], (5, 6)):
    cell["config"]["loader.num_workers"] = n
os.makedirs("other"), os.makedirs("old")
json.dump(d, open("other/summary.json", "w"))
d["schema_version"] = 1
json.dump(d, open("old/summary.json", "w"))
PY
expect_error E_COMPARE_NOTHING 2 "$dlbench" compare before other
expect_error E_SUMMARY_VERSION 3 "$dlbench" compare before old --json
gap=$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/gap storage=$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/storage
expect_error E_COMPARE_KIND 2 "$dlbench" compare before "$gap"
expect_error E_COMPARE_KIND 2 "$dlbench" compare "$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/watch" before
run "$dlbench" compare "$gap" "$gap" --json
expect_exit 0
expect_json 'd["compare"]["figure"] == "seconds" and {"torch-dataloader", "per-item indexing"} <= {c["what"] for c in d["compare"]["cells"]}'
expect_json 'all(c["change_frac"] == 0 for c in d["compare"]["cells"])'
mkdir capped
python3 - "$storage" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
doc["storage"].update(max_accelerators=8, low=8, high=8, settled=True, capped=True)
doc["storage"]["fit"] = None
json.dump(doc, open("capped/summary.json", "w"))
PY
run "$dlbench" compare capped "$storage" --json # at least 8
expect_exit 0
expect_json 'd["compare"]["overall"]["verdict"] == "UNCLEAR"'
run "$dlbench" compare "$storage" "$storage" --json
expect_exit 0
expect_json 'd["compare"]["figure"] == "accelerators" and d["compare"]["overall"]["change_frac"] == 0'

# --- TraceML's files: one mean each, so no interval; repeats give one
traceml() { printf '{"schema_version": %s, "system": {}, "process": {}, "step_memory": {}, "step_time": {"global": {"window":
    {"diagnosis_clock": "cpu"}, "average": {"step_time_cpu_ms": %s, "input_wait_ms": %s}}}}' "$2" "$3" "$4" >"$1"; }
traceml t1.json 1.7 10 4 && traceml t2.json 1.9 12.5 6.5 && traceml t3.json 1.9 10.01 4 && traceml t4.json 1.8 12.51 6.5 && traceml t5.json 1.6 1 0
run "$dlbench" compare t1.json t2.json --json
expect_exit 0
expect_json '(d["compare"]["overall"]["verdict"], round(d["compare"]["overall"]["change_frac"], 9)) == ("UNCLEAR", -0.2)'
expect_json '[round(c["change_frac"], 9) for c in d["compare"]["cells"] if c["what"] == "input_wait_ms"] == [-0.25]'
run "$dlbench" compare t1.json t2.json --also-a t3.json --also-b t4.json --json
expect_json 'd["compare"]["overall"]["verdict"] == "SLOWER" and d["compare"]["overall"]["low"] < -0.2 < d["compare"]["overall"]["high"]'
expect_error E_TRACEML_VERSION 3 "$dlbench" compare t1.json t5.json
expect_error E_COMPARE_KIND 2 "$dlbench" compare t1.json before
expect_error E_COMPARE_CELL 2 "$dlbench" compare t1.json t2.json#3

# --- flags that would have no effect
for flags in '--run-name x' --overwrite '--results x' --drop-caches '--resume results/x'; do
    # shellcheck disable=SC2086
    expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" compare before after $flags
done
for flags in '--also-a before' '--also-b before' '--format md'; do
    # shellcheck disable=SC2086
    expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" compare --run w1.toml w3.toml $flags
done
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" compare --run w1.toml w3.toml --resume results/x --results x

# --- both measured now, in turns: 3 workers that sleep 10 ms for a sample deliver more than one
for n in 1 3; do
    printf '[dataset]\nformat = "synthetic"\ncodec = "raw"\n[generate]\nsamples = 5000\nsample_bytes = 256\n[loader]\nbatch_size = 4\nnum_workers = %s
sample_sleep_us = 5000\n[device]\nstep_ms = 0\n[run]\nmax_batches = 12\nrepeats = 3\n' "$n" >"w$n.toml"
done
run "$dlbench" compare --run w1.toml w3.toml --run-name turns --json
expect_exit 0
expect_json 'd["command"] == "compare" and d["compare"]["between"]["by"] == "pairs" and d["compare"]["overall"]["verdict"] == "FASTER"'
expect_json '1 < d["compare"]["overall"]["change_frac"] < 3 and [c["blocks"] for c in d["cells"]] == [[0, 1, 2]] * 2'
expect_json '[x["key"] for x in d["compare"]["differences"] if x["kind"] != "conditions"] == ["loader.num_workers"]'
valid_summary results/turns/summary.json
run "$dlbench" report results/turns
expect_exit 0
expect_out '^B is FASTER'
run "$dlbench" compare --run w1.toml w3.toml --run-name again --fail-on faster
expect_exit 1
expect_err '^dlbench: rule faster .* 1%$'
expect_error E_CONFIG_UNREADABLE 2 "$dlbench" compare --run w1.toml none.toml
expect_error E_RULE_FIGURE 2 "$dlbench" compare --run w1.toml w3.toml --run-name never --fail-on 'accelerators<2'
expect_no_file results/never

# --- a side that cannot be measured: no comparison, so neither 0 nor a rule that passed
printf '[dataset]\nformat = "files"\ncodec = "raw"\npath = "none"\n[run]\nrepeats = 2\n' >broken.toml
run "$dlbench" compare --run w1.toml broken.toml --run-name half --fail-on 'slower>3%' --junit half.xml
expect_exit 3
expect_code E_NOT_FOUND
expect grep -q 'errors="1" skipped="1"' half.xml

finish
