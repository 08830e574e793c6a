#!/usr/bin/env bash
# dlbench storage: the document and the words, sizes before anything is written, and what goes wrong.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

cat >small.toml <<'TOML'
[workload]
name = "small"
source = "made up"
gate = 0.5
[workload.step_ms]
a100 = 40.0
h100 = 20.0
[dataset]
format = "files"
codec = "raw"
[generate]
samples = 300
sample_bytes = 4096
classes = 3
[loader]
batch_size = 2
num_workers = 1
pin_memory = true
shuffle = true
drop_last = true
persistent_workers = true
[run]
max_batches = 5
repeats = 2
[storage]
max_accelerators = 3
TOML

# --- names with a typo
expect_error E_WORKLOAD_UNKNOWN 2 "$dlbench" storage --workload resnet5O --accelerator h100 --path d
expect_err '"resnet5O".*"resnet50"'
expect_error E_CONFIG_UNKNOWN_CHOICE 2 "$dlbench" storage --workload resnet50 --accelerator h10 --path d
expect_err '"h100"'
expect_error E_WORKLOAD_STEP_UNKNOWN 2 "$dlbench" storage --workload resnet50 --accelerator b200 --path d
expect_err 'b200.*a100.*h100'
expect_error E_WORKLOAD_NO_ACCELERATOR 2 "$dlbench" storage --workload resnet50 --path d
expect_err '--accelerator.*a100.*h100'
expect_error E_WORKLOAD_STEP_UNKNOWN 2 "$dlbench" storage
expect_err '--workload'
expect_error E_CONFIG_UNREADABLE 2 "$dlbench" storage --workload ./none.toml --accelerator h100 --path d
expect_err '^dlbench: \./none\.toml'
printf '[workload]\ngatte = 0.5\n' >typo.toml
expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" storage --workload typo.toml --accelerator h100 --path d
expect_err '^dlbench: typo\.toml:2: .*"workload\.gatte".*"workload\.gate"'
expect_error E_NOT_FOUND 3 "$dlbench" storage --workload small.toml --accelerator h100 --path d
expect_err '^dlbench: d: .*dlbench gen'
expect_error E_CONFIG_UNKNOWN_CHOICE 2 "$dlbench" storage --workload small.toml --accelerator h100 --path d --baseline foo
expect_err 'storage\.baseline'
expect_error E_MISSING 2 env PATH=/nowhere "$dlbench" storage --workload small.toml --accelerator h100 --path d --baseline fio
expect_err 'fio'
expect_error E_STORAGE_NOTHING_TO_WRITE 2 "$dlbench" storage --workload small.toml --accelerator h100 --path d --dry-run \
    --set dataset.format=synthetic
expect [ -z "$(ls -A results 2>/dev/null)" ]

# --- sizes, before anything is written
run "$dlbench" storage --workload resnet50 --accelerator h100 --path d/e --dry-run --json
expect_exit 0
expect_json 'd["files"] == 1024 and d["samples"] == 1281024 and d["steps_per_epoch"] == 3202 and d["covers_steps"] and d["accelerators"] == 1'
expect_json 'abs(d["bytes"] / 1281024 / 114660 - 1) < 0.01 and d["write_bytes_per_s"] > 0 and d["make_bytes_per_s"] > 0 and d["write_s"] > 0'
expect_no_file d
expect [ -z "$(find . -name '*dlbench-speed*')" ]
run "$dlbench" storage --workload small.toml --dry-run --path d
expect_exit 0
expect_out '^small .* d$'
expect_out '--set generate\.samples=[0-9]+'
# for a number that was asked for; how compression changes size and time is not known
if has_module format hdf5; then
    run "$dlbench" storage --workload hdf5-cosmo --accelerator h100 --path d --dry-run --json --set storage.max_accelerators=8
    expect_exit 0
    expect_json 'd["accelerators"] == 8 and d["before_compression"] and d["write_s"] is None and d["needed_samples"] >= 500 * 8'
    run "$dlbench" storage --workload hdf5-cosmo --accelerator h100 --path d --dry-run
    expect_out 'before compression'
    expect_out '^  time .*compress'
fi

# --- too small a data set is refused, and nothing is left
run "$dlbench" gen --workload small.toml --path d
expect_exit 0
expect_error E_STORAGE_DATA_TOO_SMALL 2 "$dlbench" storage --workload small.toml --accelerator h100 --path d
expect_err '^dlbench: d: .*storage\.allow_small'
expect [ -z "$(ls -A results 2>/dev/null)" ]

# --- what a second accelerator cannot be without is said before the first, and nothing is left
expect_error E_ACCELERATORS_NEED_PINNING 2 "$dlbench" storage --workload small.toml --accelerator h100 --path d --set storage.allow_small=true \
    --set loader.pin_memory=false
expect_err 'loader\.pin_memory'
expect [ -z "$(ls -A results 2>/dev/null)" ]

# --- the document
small=(--workload small.toml --path d --set storage.allow_small=true)
run "$dlbench" storage "${small[@]}" --accelerator a100 --run-name first --json
expect_exit 0
valid_summary "$out"
expect_json 'd["command"] == "storage" and d["config"]["device.step_ms"] == 40.0 and d["config"]["device.profile"] == "a100"'
expect_json 'd["storage"]["workload"] == "small" and d["storage"]["accelerator"] == "a100" and d["storage"]["gate"] == 0.5'
expect_json 'd["storage"]["data"]["cold_proof"] is False and any(n["code"] == "NOT_COLD_PROOF" for n in d["notes"])'
expect_json 'd["storage"]["capped"] and d["storage"]["max_accelerators"] == 3 and d["storage"]["bottleneck"] == "none"'
# What was measured is no advice where no other number of workers was tried.
expect [ -z "$("$dlbench" report results/first | grep -i paste)" ]
expect_json '[p["accelerators"] for p in d["storage"]["curve"]] == [1, 2, 3] and d["storage"]["curve"][2]["repeats"] == 2'
expect_json 'all(p["au"] > 0.5 and p["samples_per_s"] > 0 and p["bytes_per_s"] > 0 and p["read_p50_ns"] <= p["read_p99_ns"] <= p["read_p999_ns"] for p in d["storage"]["curve"])'
expect_json 'all(abs(p["au"] - d["cells"][p["cell"]]["au"]["nominal"]) < 1e-9 for p in d["storage"]["curve"])'
expect_json 'd["storage"]["harness"]["accelerators"] == 3 and d["storage"]["harness"]["headroom"] > 0 and d["storage"]["harness"]["headroom_device"] == "emulated"'
expect_json 'd["best_cell"] == d["storage"]["curve"][2]["cell"] and re.match("At least 3 A100 .*small", d["recommendation"])'
expect_json 'd["storage"]["stopped"] == "decided" and d["storage"]["n"]["low"] == d["storage"]["low"] and d["storage"]["n"]["by"] in ("curve", "repetitions")'
# the estimate comes before the first run: 2 of a, and its twins, to those of a search up to 3
expect_err '^dlbench: storage .* 8 .* 33 .*storage\.max_minutes'
# cold is the default here
expect_json 'd["config"]["run.cache"] == "cold" and all(d["cells"][p["cell"]]["cache"]["asked"] == "cold" for p in d["storage"]["curve"])'
# What waits most of its time runs side by side: begin NAME ARGUMENTS; and ended NAME, which leaves what `run` does.
declare -A begun
begin() {
    timeout -k 5 "$limit_s" "$dlbench" storage "${small[@]}" --accelerator a100 "${@:2}" --run-name "$1" --json \
        >"$tmp/.out.$1" 2>"$tmp/.err.$1" </dev/null &
    begun[$1]=$!
}
ended() {
    wait "${begun[$1]}"
    code=$? last="storage --run-name $1"
    cp "$tmp/.out.$1" "$out" && cp "$tmp/.err.$1" "$err"
}
begin warm --set run.cache=warm --set device.step_ms=5 --set storage.max_accelerators=1 --set run.repeats=1
begin nowhere --set dataset.format=synthetic --set device.step_ms=5 --set storage.max_accelerators=1 --set run.repeats=1
begin brief --set storage.max_minutes=0.0001
ended warm
expect_exit 0
expect_json 'd["cells"][0]["cache"]["asked"] == "warm" and "page cache" in d["recommendation"]'
ended nowhere
expect_exit 0
expect_json 're.match(r"(At least 1|0) A100 ", d["recommendation"]) and "small" in d["recommendation"]'
expect_json 'd["config"]["run.cache"] == "as-is" and "page cache" not in d["recommendation"]'
# no time for more than one run: an answer, with what is not known left open
ended brief
expect_exit 0
valid_summary "$out"
expect_json 'd["storage"]["stopped"] == "budget" and not d["storage"]["settled"] and d["config"]["storage.max_minutes"] == 0.0001'
expect_json 'len(d["storage"]["curve"]) == 1 and d["storage"]["curve"][0]["repeats"] == 1 and d["storage"]["fit"] is None'
expect_json 'd["storage"]["max_accelerators"] == 1 and d["storage"]["n"] == {"low": 1, "high": None, "by": "repetitions"}'
expect_json 'd["storage"]["code"] == "UNKNOWN_BOTTLENECK" and "storage.max_minutes" in d["recommendation"]'
expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" storage "${small[@]}" --accelerator a100 --set storage.max_minutes=-1
begin told --set accelerators.count=5 --set 'sweep.loader.num_workers=[1, 2]' --set storage.max_accelerators=1 --set run.repeats=1
begin single --set loader.batch_size=200 --set device.step_ms=0.01 --set run.repeats=1 --set run.max_batches=2 --set run.warmup_batches=1
begin said --set device.step_ms=25 --set storage.max_accelerators=1
# what storage has no use for is told
ended told
expect_exit 0
expect_err '^dlbench: note: accelerators\.count '
expect_err '^dlbench: note: storage .*sweep'
expect_json 'd["storage"]["max_accelerators"] == 1'
# samples for one full batch, and a step that nothing feeds: an answer, though a second one could not be tried
ended single
expect_exit 0
expect_json 'd["storage"]["settled"] and d["storage"]["max_accelerators"] == 0 and len(d["cells"]) == 1'
# what was said outright goes before the accelerator's
ended said
expect_exit 0
expect_json 'd["config"]["device.step_ms"] == 25.0 and d["storage"]["max_accelerators"] == 1'

# --- the words, in 80 columns
run "$dlbench" report results/first
expect_exit 0
expect_out '^ *>3 .*[0-9]'
expect_out 'accelerators +AU'
expect_out 'not cold-proof'
expect grep -q 'gate 50%' results/first/summary.txt
if command -v script >/dev/null; then
    run script -qec "stty cols 80; '$dlbench' report results/first" /dev/null
    expect [ "$(tr -d '\r' <"$out" | grep -v 'DataLoader(' | awk '{ if (length > m) m = length } END { print m }')" -le 80 ]
fi

# --- another program beside it
if command -v fio >/dev/null; then
    run "$dlbench" storage "${small[@]}" --accelerator h100 --set storage.max_accelerators=1 --baseline fio --run-name fio --json
    expect_exit 0
    valid_summary "$out"
    expect_json 'd["storage"]["baseline"]["bytes_per_s"] > 0 and d["storage"]["baseline"]["share"]["median"] > 0 and "--numjobs=1" in d["storage"]["baseline"]["command"]'
    # a list of shards, some of whose names fio would cut in two
    tar=(--workload small.toml --set dataset.format=webdataset --set webdataset.shard_samples=100 --set loader.shuffle=false)
    run "$dlbench" gen "${tar[@]}" --path t:d
    expect_exit 0
    run "$dlbench" storage "${tar[@]}" --accelerator h100 --path 't:d/shard-{000000..000002}.tar' --set storage.allow_small=true \
        --set storage.max_accelerators=1 --set run.repeats=1 --baseline fio --run-name fio-list --json
    expect_exit 0
    expect_json 'd["storage"]["baseline"]["share"]["median"] > 0 and "--filename=t\\:d/shard-000000.tar:t" in d["storage"]["baseline"]["command"]'
fi

# --- a path that disappears in the middle: what was measured is kept, and there is no answer
last='storage, its data removed'
"$dlbench" storage "${small[@]}" --accelerator a100 --set run.max_batches=60 --run-name gone --json >"$out" 2>"$err" </dev/null &
pid=$!
for _ in $(seq 300); do
    grep -qs '"accelerators": 1' results/gone/summary.json && break
    sleep 0.1
done
rm -rf d
wait "$pid"
code=$?
expect_exit 3
expect_err 'd/class_|d: '
valid_summary results/gone/summary.json
expect [ "$(json_get results/gone/summary.json '(d["partial"], d["storage"]["settled"], d["storage"]["bottleneck"], len(d["storage"]["curve"]) >= 1)')" = "(True, False, 'unknown', True)" ]

# --- a full disk: said, and resumed when there is room
if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=1m tmpfs full 2>/dev/null; then
    expect_error E_NO_SPACE 3 "$dlbench" gen --workload small.toml --path full/d
    expect_err '^dlbench: full/d'
    mount -o remount,size=8m full
    run "$dlbench" gen --workload small.toml --path full/d
    expect_exit 0
    umount full
else
    echo "no small file system can be mounted: a full disk is not tested"
fi
finish
