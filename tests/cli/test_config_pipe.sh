#!/usr/bin/env bash
# A configuration that comes through a pipe counts, however late it comes.
. "$(dirname "$0")/lib.sh"

text='[dataset]
format = "synthetic"
codec = "raw"
[generate]
samples = 96
sample_bytes = 512
[loader]
batch_size = 8
[device]
step_ms = 0.5
[run]
repeats = 1
'
batches='d["config"]["loader.batch_size"] == 8 and d["config"]["generate.samples"] == 96'

mkfifo late
(sleep 1; printf '%s' "$text" >late) &
run "$dlbench" run --config late --run-name late --json
expect_exit 0
expect_json "$batches"
wait

run bash -c '"$0" run --config <(sleep 1; printf "%s" "$1") --run-name slow --json' "$dlbench" "$text"
expect_exit 0
expect_json "$batches"

# a writer that pauses half-way
run bash -c '"$0" run --config <(printf "%s" "$1" | { head -c 40; sleep 1; cat; }) --run-name halves --json' "$dlbench" "$text"
expect_exit 0
expect_json "$batches"

# a writer that failed is not an empty configuration; an empty file is one
run bash -c '"$0" run --config <(exit 1)' "$dlbench"
expect_failed E_CONFIG_UNREADABLE 2
: >empty.toml
expect_error E_DATASET_PATH_NOT_SET 2 "$dlbench" run --config empty.toml
finish
