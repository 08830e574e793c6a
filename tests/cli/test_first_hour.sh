#!/usr/bin/env bash
# From a folder of data to an answer: `dlbench PATH`, init, and what inspect says of data that are odd.
. "$(dirname "$0")/lib.sh"

run "$dlbench" gen --set dataset.path=d --set dataset.codec=raw --set generate.samples=64 --set generate.sample_bytes=3000
expect_exit 0

# init prints a configuration; a sweep takes it as it stands, from any folder.
run "$dlbench" init d
expect_exit 0
expect_err_empty
expect_out '^# dlbench init: d$'
expect_out '^path = "/.*/d"$'
expect_out '^# step_ms = 100 ' # raw bytes: no network is known
cp "$out" printed.toml
run "$dlbench" init d --write my.toml
expect_exit 0
expect_out_empty
expect_err 'dlbench sweep --config my\.toml'
expect [ "$(sed 's/my\.toml/FILE/' my.toml)" = "$(cat printed.toml)" ]
mkdir -p elsewhere
run sh -c "cd elsewhere && '$dlbench' sweep --config ../my.toml --dry-run --json"
expect_exit 0
expect_json 'sum(c["status"] == "planned" for c in d["cells"]) >= 3'
run "$dlbench" schema
cp "$out" schema.json
run python3 "$DLB_SOURCE_DIR/tests/support/fits_schema.py" schema.json my.toml
expect_exit 0

# It replaces nothing silently, and with --overwrite only what it wrote.
cp my.toml before.toml
expect_error E_TARGET_EXISTS 2 "$dlbench" init d --write my.toml
expect cmp -s my.toml before.toml
run "$dlbench" init d --write my.toml --overwrite
expect_exit 0
echo 'mine = 1' >mine.toml
expect_error E_TARGET_FOREIGN 2 "$dlbench" init d --write mine.toml --overwrite
expect grep -q '^mine = 1$' mine.toml
expect_error E_NOT_FOUND 3 "$dlbench" init missing --write other.toml
expect_no_file other.toml

# `dlbench PATH` inspects, shows the plan, and sweeps.
run "$dlbench" ./d --dry-run
expect_exit 0
expect_out '^  format +files'
expect_out '^sweep, not run: '
expect_no_file results
run "$dlbench" d --dry-run # without a slash: there is a folder, and no command of that name
expect_exit 0
expect_out '^  format +files'
run "$dlbench" ./d --exhaustive --set run.repeats=1 --set 'sweep.loader.num_workers=[0, 1]' --set device.step_ms=1 --run-name first
expect_exit 0
expect_out '^  format +files'
expect_out '^sweep, not run: '
expect_file results/first/summary.json
run "$dlbench" report results/first --json
expect_json 'd["command"] == "sweep" and len([c for c in d["cells"] if c["status"] == "ok"]) == 3'
run "$dlbench" ./d --json --exhaustive --set run.repeats=1 --set 'sweep.loader.num_workers=[0]' --set device.step_ms=1
expect_exit 0
expect_json 'd["command"] == "sweep"'

# What the user sets wins over what is proposed, in a file as well.
printf '[loader]\nbatch_size = 5\nnum_workers = 1\n' >own.toml
run "$dlbench" try d --config own.toml --dry-run --json --sweep.max_minutes 3
expect_exit 0
expect_json 'd["cells"] and all("loader.num_workers" not in c["config"] for c in d["cells"])'
expect_json 'd["cells"][0]["epoch_batches"] == 12'

# A folder that is called as a command is reached by a slash.
cp -r d doctor
run "$dlbench" doctor --json
expect_json 'd["command"] == "doctor"'
run "$dlbench" ./doctor --dry-run
expect_exit 0
expect_out '^  samples +64'
expect_error E_NOT_FOUND 3 "$dlbench" ./missing

# An error names the command that helps.
expect_error E_CONFIG_UNREADABLE 2 "$dlbench" sweep --config missing.toml
expect_err 'dlbench init '
expect_error E_DATASET_PATH_NOT_SET 2 "$dlbench" sweep
expect_err 'dlbench init '
expect_error E_DATASET_EMPTY 3 "$dlbench" run --dataset.format webdataset --dataset.path d
expect_err 'dlbench inspect d'

finish
