#!/usr/bin/env bash
# --fail-on, --strict and --junit: exit codes, what is said, and XML that another program parses.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

# Whether this Python expression over the parsed XML is true: cases is [(name, outcome, message)].
expect_junit() {
    python3 -c 'import sys
from xml.etree import ElementTree
suite = ElementTree.parse(sys.argv[1]).getroot().find("testsuite")
cases = [(c.get("name"), c[0].tag if len(c) else "passed", c[0].get("message") if len(c) else "") for c in suite]
n = {k: int(suite.get(k)) for k in ("tests", "failures", "skipped", "errors")}
outcomes = [c[1] for c in cases]
assert n == {"tests": len(cases), "failures": outcomes.count("failure"), "skipped": outcomes.count("skipped"), "errors": outcomes.count("error")}, n
assert eval(sys.argv[2]), cases' "$1" "$2" 2>"$tmp/.xml" || failed "JUnit $1: $2: $(tail -n 1 "$tmp/.xml")"
}

# One worker that sleeps 5 ms for each of 8 samples, and steps of 1 ms: the device idles, and 200 samples/s are the most.
slow=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=5000 --set generate.sample_bytes=256
    --set loader.batch_size=4 --set loader.num_workers=1 --set loader.sample_sleep_us=5000 --set device.step_ms=1 --set run.max_batches=12)
run "$dlbench" run "${slow[@]}" --set run.repeats=3 --run-name slow --fail-on 'idle>10%' --fail-on 'samples_per_s>2000' --junit out.xml
expect_exit 1
expect_err '^dlbench: rule idle>10% failed, cell 0: idle is 9[0-9.]+%'
expect_no_err 'samples_per_s>2000'
expect_junit out.xml '[(c[0], c[1]) for c in cases] == [("idle>10% (cell 0)", "failure"), ("samples_per_s>2000 (cell 0)", "passed")]'
valid_summary results/slow/summary.json
expect [ "$(json_get results/slow/summary.json '[(r["outcome"], r["limit"]) for r in d["rules"]]')" = "[('failed', 0.1), ('passed', 2000.0)]" ]

# --- again from the result: of what it holds, nothing fails but what is asked for
run "$dlbench" report results/slow
expect_exit 0
run "$dlbench" report results/slow --fail-on 'samples_per_s<2000' --json
expect_exit 1
expect_json '[r["outcome"] for r in d["rules"]] == ["failed"]'
run "$dlbench" report results/slow --fail-on 'samples_per_s<10' --strict
expect_exit 0
expect_err_empty

# --- one repetition has no interval: unclear, which fails with --strict alone
run "$dlbench" run "${slow[@]}" --set run.repeats=1 --run-name once --fail-on 'idle>10%' --junit out.xml
expect_exit 0
expect_err '^dlbench: rule idle>10% is unclear'
expect_junit out.xml 'cases[0][1] == "skipped"'
run "$dlbench" report results/once --fail-on 'idle>10%' --strict --junit out.xml
expect_exit 1
expect_junit out.xml '[c[1] for c in cases] == ["failure", "passed"]'

# --- a sweep with failed cells
python3 - <<'PY'
import json
d = json.load(open("results/slow/summary.json"))
d["cells"].append(dict(d["cells"][0], index=1, status="failed", code="E_CELL_KILLED", reason="was killed <by> \"&\" \u0001"))
d["run_name"] = "odd <&\"'> \u0001 name"
d["command"] = "swe<ep"
json.dump(d, open("failed.json", "w"))
PY
run "$dlbench" report failed.json --fail-on 'idle>99.9%' --junit out.xml
expect_exit 0
run "$dlbench" report failed.json --strict --junit out.xml
expect_exit 1
expect_err '^dlbench: rule --strict failed: 1 of 2'
expect_junit out.xml '[c[1] for c in cases] == ["failure"] and suite.get("name") == "dlbench swe<ep"'

# --- what judges or exports one result takes one
for flag in --strict '--junit two.xml' --fail-on=idle\>10%; do
    # shellcheck disable=SC2086
    expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" report results/slow failed.json --format html $flag
done
expect_junit two.xml 'suite.get("errors") == "1"'

# --- changes
run "$dlbench" compare results/slow results/slow --between 0 --fail-on 'slower>50%' --fail-on slower --junit out.xml
expect_exit 0
expect_junit out.xml 'len(cases) == 2 and cases[0][1] == "passed"'

# --- without rules: those that the result holds, which no longer decide; else one case, the command
run "$dlbench" report results/slow --junit out.xml
expect_exit 0
expect_junit out.xml '[c[1] for c in cases] == ["failure", "passed"]'
run "$dlbench" run "${brief[@]}" --run-name plain --junit out.xml
expect_junit out.xml 'cases == [("run", "passed", "")]'

# --- what cannot be: before anything is measured
expect_error E_RULE_SYNTAX 2 "$dlbench" run "${slow[@]}" --run-name never --fail-on 'idle>=10%'
expect_error E_RULE_FIGURE 2 "$dlbench" run "${slow[@]}" --run-name never --fail-on 'speed<1' --json
expect_error E_RULE_FIGURE 2 "$dlbench" run "${slow[@]}" --run-name never --fail-on slower
expect_error E_RULE_FIGURE 2 "$dlbench" sweep "${slow[@]}" --run-name never --fail-on 'accelerators<2'
expect_error E_EXPORT_PATH 2 "$dlbench" run "${slow[@]}" --run-name never --junit no/such/folder.xml
expect_error E_EXPORT_PATH 2 "$dlbench" run "${slow[@]}" --run-name never --junit results
expect_error E_EXPORT_PATH 2 "$dlbench" run "${slow[@]}" --run-name never --junit "$(printf '%0252d' 1)"
expect_no_file results/never

# --- a file that is no earlier export stays, whatever flag names it; nothing is measured
printf 'thesis\n' >thesis.txt
printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="pytest"/>\n</testsuites>\n' >others.xml
cp results/slow/summary.json summary.before
for flag in --junit --traceml --trace; do
    for file in thesis.txt others.xml results/slow/summary.json; do
        cp "$file" before
        expect_error E_EXPORT_PATH 2 "$dlbench" run "${slow[@]}" --run-name never "$flag" "$file"
        cmp -s before "$file" || failed "$flag changed $file"
    done
done
expect_error E_EXPORT_PATH 2 "$dlbench" report results/slow --prometheus thesis.txt
expect_error E_EXPORT_PATH 2 "$dlbench" report results/slow --junit results/slow/summary.json
cmp -s summary.before results/slow/summary.json || failed 'report changed its own result'
expect_error E_EXPORT_PATH 2 "$dlbench" run "${slow[@]}" --run-name never --junit same --trace ./same
expect_junit same 'suite.get("errors") == "1"'
expect_no_file results/never
run "$dlbench" run "${slow[@]}" --run-name exports --junit e.xml --traceml e.json --trace e.trace
expect_exit 0
run "$dlbench" run "${slow[@]}" --run-name exports --overwrite --junit e.xml --traceml e.json --trace e.trace
expect_exit 0
run "$dlbench" report results/exports --prometheus e.prom
expect_exit 0
run "$dlbench" report results/exports --prometheus e.prom
expect_exit 0

# --- nothing to measure: the file of an earlier run does not stay
expect_error E_EXPORT_PATH 2 "$dlbench" compare results/slow none --junit thesis.txt
expect [ "$(cat thesis.txt)" = thesis ]
cp e.xml out.xml
expect_error E_NOT_FOUND 3 "$dlbench" run --dataset.format files --dataset.codec raw --dataset.path none --fail-on 'idle>10%' --junit out.xml
expect_junit out.xml 'suite.get("errors") == "1" and cases[0][1] == "error"'
cp e.xml out.xml
expect_error E_NOT_FOUND 3 "$dlbench" compare results/slow none --junit out.xml
expect_junit out.xml 'suite.get("errors") == "1"'

finish
