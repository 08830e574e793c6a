#!/usr/bin/env bash
# dlbench report --format and --prometheus: CSV as python/dlbench.py has the rows, Markdown, the page, several results, older ones.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
export PYTHONPATH=$DLB_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1

run "$dlbench" sweep "${brief[@]}" --set run.repeats=2 --set sweep.exhaustive=true --set 'sweep.loader.num_workers=[0, 1]' --run-name 'a, "b"' --json
expect_exit 0
mv 'results/a, "b"' results/sweep
mkdir no_torch
echo 'raise ImportError("hidden by the test")' >no_torch/torch.py
run env PYTHONPATH=no_torch "$dlbench" gap --samples 2000 --features 10 --batch-size 300 --set gap.repeats=1 --set device.step_ms=0.1 --run-name gap
expect_exit 0

# --- CSV: the rows and columns of dlbench.tables()
for result in sweep gap; do
    run "$dlbench" report "results/$result" --format csv
    expect_exit 0
    cp "$out" "$result.csv"
    run python3 -c '
import csv, sys, dlbench
rows = dlbench.tables(sys.argv[1])["repetitions"]
columns = list(dict.fromkeys(key for row in rows for key in row))
with open(sys.argv[2], newline="", encoding="utf-8") as file:
    read = list(csv.DictReader(file))
assert rows and list(read[0]) == columns, (list(read[0]), columns)
def same(text, value):
    if value is None:
        return text == ""
    return float(text) == value if isinstance(value, (int, float)) and not isinstance(value, bool) else text in (value, str(value).lower())
assert len(read) == len(rows)
for a, b in zip(read, rows):
    assert all(same(a[key], b.get(key)) for key in columns), (a, b)
' "results/$result" "$result.csv"
    expect_exit 0
done
run "$dlbench" report results/sweep results/gap --format csv
expect_exit 0
expect [ "$(wc -l <"$out")" -eq $(($(wc -l <sweep.csv) + $(wc -l <gap.csv) - 1)) ]

# --- a result of schema version 1
mkdir older
cp "$DLB_SOURCE_DIR/tests/fuzz/corpus/summary/older" older/summary.json
run "$dlbench" report older --format csv
expect_exit 0
expect_out '^s2,4,,2,2,0,'
expect_error E_SUMMARY_VERSION 3 "$dlbench" report older
expect_error E_SUMMARY_VERSION 3 "$dlbench" report older --format html

# --- what is printed is the file in the result's folder; several results
run "$dlbench" report results/sweep --format html
expect_exit 0
expect grep -q 'a, &quot;b&quot;' "$out"
expect_file results/sweep/report.html
for format in html md json; do
    run "$dlbench" report results/sweep results/gap older/../results/sweep --format "$format"
    expect_exit 0
    expect [ "$(wc -c <"$out")" -gt 1000 ]
done
expect_json 'len(d) == 3 and d[0] == d[2] and d[1]["command"] == "gap"'
run "$dlbench" report results/sweep --format txt
expect_exit 0
expect_out '^Configuration:$'
expect_error E_REPORT_NOT_A_PAIR 2 "$dlbench" report results/sweep results/gap
expect_error E_REPORT_NOT_A_PAIR 2 "$dlbench" report results/sweep results/gap --format txt
expect_error E_USAGE_FLAG_VALUE 2 "$dlbench" report results/sweep --format pdf
expect_error E_NOT_FOUND 3 "$dlbench" report results/sweep results/none --format md

# --- Prometheus: a file that is replaced at once, and nothing on stdout
printf '# HELP dlbench_mine of another program\n' >figures.prom
expect_error E_EXPORT_PATH 2 "$dlbench" report results/sweep --prometheus figures.prom
rm figures.prom
run "$dlbench" report results/sweep results/gap --prometheus figures.prom
expect_exit 0
expect_out_empty
expect grep -q '^dlbench_samples_per_second{run_name="a, \\"b\\"",command="sweep",cell="1",pipeline="hardware",loader_num_workers="1"} [0-9]' figures.prom
expect grep -q '^dlbench_gap_epoch_seconds{' figures.prom
expect [ "$(ls figures.prom* | wc -l)" -eq 1 ]
run "$dlbench" report results/sweep --prometheus figures.prom --format md
expect_exit 0
expect_out '^## a, "b" '
expect_error E_EXPORT_PATH 2 "$dlbench" report results/sweep --prometheus none/figures.prom
mkdir old && sed 's/"timestamp": *"[^"]*"/"timestamp": null/' results/sweep/summary.json >old/summary.json
for _ in 1 2; do # its own file is known again without a time, too
    run "$dlbench" report old --prometheus old.prom
    expect_exit 0
done
expect [ "$(grep -c '^dlbench_result_timestamp_seconds{' old.prom)" -eq 0 ]
mkfifo pipe && ln -s figures.prom link
for file in pipe link; do # which a rename would replace
    expect_error E_EXPORT_PATH 2 "$dlbench" report results/sweep --prometheus "$file"
done
expect [ -p pipe ] && expect [ -L link ]

finish
