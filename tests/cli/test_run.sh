#!/usr/bin/env bash
# dlbench run: the document, the folder, verdicts where the answer is known, and how it ends when it is ended.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

# --- the document
longer=(--set generate.samples=3280)
run_until "$judged(d)" "$dlbench" run "${quick[@]}" "${longer[@]}" --run-name first --overwrite --json
expect_exit 0
expect_json 'd["command"] == "run" and d["run_name"] == "first" and d["partial"] is False'
expect_json 'len(d["cells"]) == 1 and d["cells"][0]["status"] == "ok" and d["cells"][0]["repeats"] == 2'
expect_json '(d["noise_floor_frac"] is None) == (d["verdict"]["class"] in ("INCOMPLETE", "HARNESS-BOUND")) and d["recommendation_detail"] is None'
expect_json 'd["best_cell"] == 0'
# A busy machine can make it HARNESS-BOUND: then nothing is recommended.
expect_json "d[\"recommended_cell\"] == (0 if $judged(d) else None)"
expect_json "d[\"pytorch\"].startswith(\"DataLoader(dataset, batch_size=16\") if $judged(d) else d[\"pytorch\"] == \"\""
expect_json 'd["device"]["kind"] == "emulated" and "emulated" in d["device"]["name"] and d["device"]["why"]'
expect_json 'd["config"]["loader.batch_size"] == 16 and d["rank"] == 0 and d["world"] == 1'
expect_json 'd["cells"][0]["samples_per_s"]["interval"] == "min-max" and len(d["cells"][0]["samples_per_s"]["values"]) == 2'
expect_err '^run: '
valid_summary "$out"
for file in summary.json summary.txt report.html environment.json; do expect_file "results/first/$file"; done
valid_summary results/first/summary.json
expect cmp -s "$out" results/first/summary.json
expect [ "$(ls -A results/first | wc -l)" -eq 4 ]
expect grep -q 'emulated H100' results/first/summary.txt
expect grep -q '"kernel"' results/first/environment.json

# --- an existing name
before=$(cksum <results/first/summary.json)
expect_error E_RESULT_EXISTS 2 "$dlbench" run "${quick[@]}" --run-name first
expect_err '^dlbench: results/first: .*--overwrite'
expect [ "$before" = "$(cksum <results/first/summary.json)" ]
run "$dlbench" run "${quick[@]}" "${longer[@]}" --run-name first --overwrite
expect_exit 0
for words in 'samples/s' 'GPU idle' 'input wait' 'first batch' 'emulated H100' 'results/first/summary.json'; do
    expect_out "$words"
done
expect_settings() { # of results/first: to paste, where it is judged
    case $(json_get results/first/summary.json "$judged(d)") in
    True) expect_out 'DataLoader\(dataset' ;;
    *) expect_no_out 'DataLoader\(dataset' ;;
    esac
}
expect_settings
expect_no_out '(nan|inf)\b'

# --- shown again
run "$dlbench" report results/first
expect_exit 0
expect_settings
widest() { grep -Ev 'DataLoader\(|^Next: dlbench ' "$out" | awk '{ if (length > m) m = length } END { print m }'; }
expect [ "$(widest)" -gt 80 ]
run env COLUMNS=80 "$dlbench" report results/first
expect [ "$(widest)" -le 80 ]
run "$dlbench" report results/first/summary.json --json
expect_exit 0
expect cmp -s "$out" results/first/summary.json

# --- a name is made where none is given
run "$dlbench" run "${brief[@]}" --results made
expect_exit 0
expect [ "$(ls -d made/run-* | wc -l)" -eq 1 ]

# --- what has no meaning is echoed as null, and told
printf '[loader]\nnum_workers = 2\nprefetch_factor = 4\npersistent_workers = true\n' >c.toml
run "$dlbench" run --config c.toml "${brief[@]}" --set loader.num_workers=0 --run-name zero --json
expect_exit 0
expect_json 'd["cells"][0]["config"]["loader.prefetch_factor"] is None and d["cells"][0]["config"]["loader.persistent_workers"] is None'
expect_err 'note: loader.prefetch_factor'
valid_summary "$out"
printf '[loader]\nnum_workers = 0\nprefetch_factor = 4\n' >c.toml
expect_error E_WORKERS_CONTRADICTION 2 "$dlbench" run --config c.toml "${quick[@]}" --run-name contradiction
expect_err '^dlbench: c\.toml:3'
expect_no_file results/contradiction

# --- exactly once, and content: with any number of workers the same sums
for workers in 0 1 3; do
    run "$dlbench" run "${brief[@]}" --set loader.num_workers=$workers --set run.epochs=3 --set run.checksum=true \
        --set loader.shuffle=true --set loader.drop_last=true --run-name once --overwrite --json
    expect_exit 0
    expect_json 'all(e["samples"] == e["unique"] == e["expected"] == 320 for e in d["cells"][0]["epochs"])'
    json_get "$out" '[(e["set_checksum"], e["seq_checksum"]) for e in d["cells"][0]["epochs"]]' >"sums.$workers"
done
expect cmp -s sums.0 sums.1
expect cmp -s sums.0 sums.3
expect [ "$(tr ',' '\n' <sums.0 | sort -u | wc -l)" -eq 6 ] # three epochs: other samples dropped, other orders

# --- known answers: 16 samples of 1 ms a batch against a step of 0.2 ms, and of 60 ms
run "$dlbench" run "${quick[@]}" --set loader.sample_sleep_us=1000 --set loader.num_workers=0 --set device.step_ms=0.2 \
    --set run.max_batches=10 --run-name input --json
expect_exit 0
expect_json 'd["verdict"]["class"] == "INPUT-BOUND" and d["verdict"]["input_wait_frac"] > 0.8 and d["verdict"]["ceiling_ratio"] > 5'
expect_json 'd["cells"][0]["gpu_idle_frac"]["median"] > 0.8'
run "$dlbench" run "${quick[@]}" --set loader.sample_sleep_us=1000 --set loader.num_workers=1 --set device.step_ms=60 \
    --set run.max_batches=10 --run-name compute --json
expect_exit 0
expect_json 'd["verdict"]["class"] == "COMPUTE-BOUND" and d["cells"][0]["gpu_idle_frac"]["median"] < 0.1'

expect_json '(lambda g: g["low"] <= g["median"] == d["verdict"]["ceiling_ratio"] and g["high"] < 1.11)(d["verdict"]["gain"])'

# --- between the two: batches take 9.6 ms, and steps that vary 9 ms: few repetitions do not tell
run_until 'd["verdict"]["class"] == "BORDERLINE"' "$dlbench" run "${quick[@]}" --set loader.sample_sleep_us=600 \
    --set loader.num_workers=1 --set device.step_ms=9 --set device.step_dist=lognormal --set device.step_stdev_ms=3 \
    --set run.max_batches=12 --set run.repeats=3 --run-name borderline --overwrite --json
expect_exit 0
valid_summary "$out"
expect_json '(d["verdict"]["code"], d["verdict"]["severity"]) == ("BORDERLINE", "warn")'
expect_json 'd["verdict"]["gain"]["low"] <= 1 / 0.9 <= d["verdict"]["gain"]["high"] and d["pytorch"]'
run "$dlbench" report results/borderline
expect_exit 0
expect_out 'BORDERLINE'

# --- one repetition has no interval
run "$dlbench" run "${quick[@]}" --set run.repeats=1 --set run.max_batches=10 --run-name single --json
expect_exit 0
valid_summary "$out"
expect_json '(lambda g: g["median"] > 0 and g["low"] is None and g["high"] is None)(d["verdict"]["gain"])'
expect_json 'd["verdict"]["class"] != "BORDERLINE"'

# --- an outside clock: 10 steps of 60 ms take at least 600 ms
began=$(date +%s%N)
run "$dlbench" run "${quick[@]}" --set device.step_ms=60 --set run.max_batches=10 --set run.repeats=1 --run-name clock --json
ended=$(date +%s%N)
expect_exit 0
expect [ $((ended - began)) -ge 600000000 ]
expect_json 'd["cells"][0]["samples_per_s"]["median"] <= 16 / 0.060 * 1.0001'

# --- kill -9 of the child: this run is lost, and said so
start_long results/killed --run-name killed --trace killed.json
kill -9 "$(child_of "$pid")"
end_long
expect_exit 3
expect_err 'SIGKILL'
expect_no_err 'trace-0-0'
expect_no_file killed.json
expect [ -z "$(find results/killed -name ".cells*")" ]
valid_summary results/killed/summary.json
expect [ "$(json_get results/killed/summary.json '(d["cells"][0]["status"], d["partial"], d["best_cell"])')" = "('failed', True, None)" ]

# --- kill -9 of the ceiling's process, which is no cell: the figures stand, and what is missing is said
last='run, its ceiling killed'
"$dlbench" run --set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=400 --set generate.sample_bytes=4096 \
    --set loader.batch_size=10 --set device.step_ms=700 --set run.repeats=1 --set run.max_batches=2 --run-name ceiling \
    >"$out" 2>"$err" </dev/null &
pid=$!
for _ in $(seq 300); do
    grep -qs '"run.max_batches": 3,' results/ceiling/.cells-*/spec.json && break # what a ceiling measures
    sleep 0.05
done
sleep 0.5
kill -9 "$(child_of "$pid")"
end_long
expect_exit 3
expect_err 'ceiling.*SIGKILL'
valid_summary results/ceiling/summary.json
expect [ "$(json_get results/ceiling/summary.json '(d["cells"][0]["status"], d["partial"], any(n["code"] == "CEILING_FAILED" and "SIGKILL" in n["text"] for n in d["notes"]))')" = "('ok', True, True)" ]

# --- what will take long is told before it begins, with what makes it less
slow=(--set device.step_ms=600000 --set run.repeats=1 --run-name slow)
told() { # command: it is interrupted when its first cell runs
    rm -rf results/slow
    "$@" >"$out" 2>"$err" </dev/null &
    pid=$! last=$*
    for _ in $(seq 600); do compgen -G 'results/slow/.cells-*/spec.json' >/dev/null && break; sleep 0.05; done
    kill -INT "$pid"
    end_long
}
told "$dlbench" run "${quick[@]}" "${slow[@]}"
expect_err '^dlbench: note: .*[0-9].*run\.max_batches \(0 .*run\.repeats'
told "$dlbench" run "${quick[@]}" "${slow[@]}" --set run.max_batches=9
expect_err '^dlbench: note: .*run\.max_batches.*run\.repeats'
expect_no_err 'run\.max_batches \(0 '
told "$dlbench" sweep --exhaustive "${quick[@]}" "${slow[@]}"
expect_err '^dlbench: note: .*run\.max_batches \(0 .*run\.repeats.*sweep'
told "$dlbench" sweep "${quick[@]}" "${slow[@]}" --set sweep.confirm=none
expect_err '^dlbench: note: .*sweep\.max_minutes.*run\.max_batches \(0 .*sweep'
expect_err '^dlbench: note: run\.repeats \(--set\)'

# --- too few batches for a window: refused before anything is written, and why
expect_error E_TOO_FEW_BATCHES 2 "$dlbench" run "${quick[@]}" --set generate.samples=48 --run-name short --json
expect_err ' 3 batches.* 2 .* 1 .*run\.epochs'
expect_no_file results/short
run "$dlbench" run "${quick[@]}" --set run.max_batches=500 --run-name fewer --json
expect_exit 0
expect_json 'any(n["code"] == "TOO_SHORT" and "run.max_batches = 500" in n["text"] for n in d["notes"])'

# --- Ctrl-C: what was measured so far
start_long results/stopped --run-name stopped
kill -INT "$pid"
end_long
expect_exit 130
expect_err 'interrupted'
expect [ -z "$(find results/stopped -name ".cells*")" ]
valid_summary results/stopped/summary.json
expect [ "$(json_get results/stopped/summary.json 'd["partial"], d["interrupted"], d["cells"][0]["status"]')" = "(True, True, 'ok')" ]

# --- the parent dies: its child does not stay behind
start_long results/orphan --run-name orphan
child=$(child_of "$pid")
kill -9 "$pid"
end_long
for _ in $(seq 50); do kill -0 "$child" 2>/dev/null || break; sleep 0.1; done
expect_gone() { ! kill -0 "$1" 2>/dev/null || failed "process $1 should be gone"; }
expect_gone "$child"

finish
