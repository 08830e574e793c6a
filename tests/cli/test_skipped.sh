#!/usr/bin/env bash
# A run that lost samples by dataset.on_error = "skip" says so wherever it says how fast it was: verdict, headline, note, epochs.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"
has_module codec zstd || skip "no codec whose samples can be damaged"

run "$dlbench" gen --set dataset.format=files --set dataset.codec=zstd --set dataset.path=d --set generate.samples=200 \
    --set generate.sample_bytes=2000
expect_exit 0
mapfile -t samples < <(find d -type f -name '*.zst' | sort)
expect [ "${#samples[@]}" -eq 200 ]
damage() { # behind the head of the frame, which says how long the sample is
    for one in "$@"; do dd if=/dev/zero of="$one" bs=1 seek=12 count=40 conv=notrunc status=none; done
}
measure() { # what follows is for run
    run "$dlbench" run --set dataset.format=files --set dataset.codec=zstd --set dataset.path=d --set dataset.on_error=skip \
        --set loader.batch_size=10 --set run.warmup_batches=1 --set device.step_ms=2 --set run.repeats=1 --overwrite "$@"
}

# --- none is damaged
measure --run-name whole --json
expect_exit 0
expect_json 'd["cells"][0]["skipped_frac"] == 0 and all(e["whole"] and e["ended"] for e in d["cells"][0]["epochs"])'
expect_json 'not any(n["code"] == "SAMPLES_SKIPPED" for n in d["notes"])'

# --- 3 of 5
damage "${samples[@]:0:120}"
for workers in 0 2; do
    measure --set loader.num_workers=$workers --run-name most --json
    expect_exit 0
    valid_summary "$out"
    expect_json 'd["cells"][0]["skipped_frac"] == 0.6 and d["verdict"]["severity"] == "critical"'
    expect_json 'all(e["ended"] and not e["whole"] and (e["samples"], e["skipped"]) == (80, 120) for e in d["cells"][0]["epochs"])'
    expect_json "re.search(r'60% of .*120 of 200.*d/.*zst', d['verdict']['text'])"
    expect_json "any(n['code'] == 'SAMPLES_SKIPPED' and re.search(r'120 of 200 .*d/.*zst', n['text']) for n in d['notes'])"
done
run "$dlbench" report results/most
expect_out '^Verdict: .*60%'

# --- rates of different work are not called faster or slower, and a rule about them is unclear
run "$dlbench" compare results/whole results/most --json
expect_exit 0
expect_json '(lambda c: c["work_differs"] and (c["a_skipped_frac"], c["b_skipped_frac"], c["verdict"]) == (0, 0.6, "UNCLEAR"))(
    d["compare"]["cells"][0])'
expect_json 'd["compare"]["overall"]["verdict"] == "UNCLEAR"'
expect_json 'any((c["key"], c["a"], c["b"]) == ("skipped_frac", 0, 0.6) for c in d["compare"]["differences"])'
run "$dlbench" compare results/whole results/most --fail-on 'slower>2%'
expect_exit 0
expect_out ' 60%'
expect_err 'slower.* 60%'
run "$dlbench" compare results/whole results/most --fail-on 'slower>2%' --strict
expect_exit 1
run "$dlbench" compare results/most results/most --json
expect_json 'not d["compare"]["cells"][0]["work_differs"]'
run "$dlbench" compare results/whole results/most --fail-on 'skipped>59%'
expect_exit 1
run "$dlbench" report results/most --fail-on 'skipped>60%' --strict --format prometheus
expect_exit 0
expect_out '^dlbench_skipped_ratio[{].*[}] 0\.6$'
run "$dlbench" report results/most --format csv
expect_out '^most,.*,0\.6$'

# --- no rate counts what was not delivered, whether batches lack samples, are skipped whole or are filled from behind
delivered() { # of steps that all take 20 ms
    measure --set run.epochs=4 --set device.step_ms=20 --run-name epochs --json "$@"
    expect_exit 0
    expect_json '(lambda epoch, all: abs(epoch / all - 1) < 0.15)(d["cells"][0]["epoch_samples_per_s"]["median"],
        sum(e["samples"] for e in d["cells"][0]["epochs"]) * 1e9 / sum(e["wall_ns"] for e in d["cells"][0]["epochs"]))'
}
delivered --set loader.shuffle=false
delivered --set loader.shuffle=true
if has_module format webdataset; then
    run "$dlbench" gen --set dataset.format=files --set dataset.codec=zstd --set dataset.path=half --set generate.samples=200 \
        --set generate.sample_bytes=2000
    mapfile -t samples < <(find half -type f -name '*.zst' | sort | sed -n 'n;p')
    damage "${samples[@]}"
    run "$dlbench" convert half tars --format webdataset
    expect_exit 0
    delivered --set dataset.format=webdataset --set dataset.path=tars
fi

# --- epochs in which all samples are skipped
has_module codec jpeg || finish
run "$dlbench" gen --set dataset.format=files --set dataset.codec=jpeg --set dataset.path=jpegs --set generate.samples=40 \
    --set generate.sample_bytes=20000
expect_exit 0
find jpegs -name '*.jpg' | while read -r one; do head -c 3000 "$one" >cut && mv cut "$one"; done
measure --set dataset.codec=jpeg --set dataset.path=jpegs --run-name none --json
expect_exit 3
valid_summary "$out"
expect_code E_NOTHING_READABLE
expect_json 'd["cells"][0]["skipped_frac"] == 1 and d["cells"][0]["code"] == "E_NOTHING_READABLE"'
expect_json 'all(e["ended"] and not e["whole"] for e in d["cells"][0]["epochs"])'
expect_err 'jpegs.*inspect|inspect.*jpegs'
expect_no_err 'run\.epochs'
finish
