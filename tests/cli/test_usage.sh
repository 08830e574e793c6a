#!/usr/bin/env bash
# What the program says to wrong usage, wrong configuration, and about itself.
. "$(dirname "$0")/lib.sh"

run "$dlbench" --version
expect_exit 0
expect_out '^dlbench [0-9]+\.[0-9]+\.[0-9]+ \(commit [^ ]+\)$'
expect_err_empty

run "$dlbench"
expect_exit 2
expect_out_empty
expect_err '^Usage: dlbench COMMAND'

for help in --help -h help; do
    run "$dlbench" $help
    expect_exit 0
    for verb in sweep run gen inspect convert report doctor man; do
        expect_out "^  $verb +[A-Z]"
    done
    expect_no_out '^  cell ' # what the program calls itself by
done

for verb in sweep run gen inspect convert report doctor man; do
    run "$dlbench" help $verb
    expect_exit 0
    expect_out "^Usage: dlbench $verb"
    cp "$out" help.txt
    run "$dlbench" $verb --help
    expect_exit 0
    expect cmp -s "$out" help.txt
done

# Every key that scripts rely on is in the help, with default and range.
run "$dlbench" help sweep
for key in format path codec on_error samples sample_bytes seed kind batch_size num_workers prefetch_factor pin_memory \
    pin_mode persistent_workers shuffle drop_last profile step_ms prefetch epochs max_batches warmup_batches repeats; do
    expect_out "^  $key( |\$)"
done
expect_out 'default'

# The manual page is made from the same tables, and troff has nothing to complain about.
run "$dlbench" man
expect_exit 0
expect_out '^\.TH DLBENCH 1'
expect_out 'loader\.num_workers'
cp "$out" dlbench.1
if command -v groff >/dev/null; then
    run groff -man -Tutf8 -ww dlbench.1
    expect_exit 0
    expect_err_empty
    expect_out 'loader\.prefetch_factor'
fi

run "$dlbench" swepe
expect_exit 2
expect_err 'unknown command "swepe"; did you mean "sweep"\?'
run "$dlbench" frobnicate
expect_exit 2
expect_err 'unknown command "frobnicate"'
run "$dlbench" help frobnicate
expect_exit 2

run "$dlbench" gen --confg x
expect_exit 2
expect_err 'unknown flag "--confg"; did you mean "--config"\?'
run "$dlbench" gen some.toml
expect_exit 2
expect_err 'did you mean --config some.toml\?'
run "$dlbench" inspect
expect_exit 2
expect_err 'PATH is missing'

# Configuration: a missing file, an unknown key with file and line, a value out of range.
for verb in gen run sweep; do
    run "$dlbench" $verb --config missing.toml
    expect_exit 2
    expect_err '^dlbench: missing\.toml: .*No such file'
    expect_out_empty
    printf '[dataset]\nformat = "files"\n\n[loader]\nnum_worker = 4\n' >unknown.toml
    run "$dlbench" $verb --config unknown.toml
    expect_exit 2
    expect_err '^dlbench: unknown\.toml:5: unknown key "loader\.num_worker"; did you mean "loader\.num_workers"\?'
    printf 'loader.num_workers = -1\n' >range.toml
    run "$dlbench" $verb --config range.toml
    expect_exit 2
    expect_err '^dlbench: range\.toml:1: loader\.num_workers = -1 is out of range: it may be 0 to [0-9]+'
    run "$dlbench" $verb --set loader.num_workers=two
    expect_exit 2
    expect_err '--set: loader\.num_workers wants a whole number'
    run "$dlbench" $verb --loader.num_workerz 2
    expect_exit 2
    expect_err '--loader\.num_workerz: unknown key .*did you mean "loader\.num_workers"'
    run "$dlbench" $verb --set dataset.format=file
    expect_exit 2
    expect_err 'did you mean "files"\?'
done
printf 'not toml at all\n' >bad.toml
run "$dlbench" sweep --config bad.toml
expect_exit 2
expect_err '^dlbench: bad\.toml:1: not TOML'
head -c 2000000 /dev/zero | tr '\0' '[' >bomb.toml
run "$dlbench" sweep --config bomb.toml
expect_exit 2
expect_err 'larger than 1048576 bytes'
head -c 100000 bomb.toml >deep.toml
run "$dlbench" sweep --config deep.toml
expect_exit 2
expect_err 'nested deeper'

# A configuration that ships is one that loads.
for config in "$DLB_SOURCE_DIR"/configs/*.toml; do
    if grep -q '^\[gap\]' "$config"; then
        run "$dlbench" gap --config "$config" --python /no/such/python
        expect_exit 2 # of the interpreter, not of anything in the file
        expect_err 'no/such/python'
        continue
    fi
    if grep -q '^format = "synthetic"' "$config"; then
        run "$dlbench" gen --config "$config" --set dataset.codec=raw
        expect_exit 0
        expect_out 'nothing to write'
        continue
    fi
    run "$dlbench" gen --config "$config" --set dataset.path= --set generate.samples=1
    expect_exit 2 # of the missing path, not of anything in the file
    expect_err 'dataset\.path|built without'
    expect_no_err '\.toml:'
done

# Standard streams: a reader that leaves is no error, a full disk is one, and so is a closed stdout.
run bash -c "set -o pipefail; '$dlbench' help sweep | head -n 1 >/dev/null"
expect_exit 0
expect_err_empty
if [ -c /dev/full ]; then
    run bash -c "'$dlbench' help sweep >/dev/full"
    expect_exit 3
    expect_err 'cannot write to standard output: No space left'
fi
run bash -c "'$dlbench' --version >&-"
expect_exit 3
expect_err 'cannot write to standard output'
run bash -c "'$dlbench' --version <&- 2>&-"
expect_exit 0
expect_out '^dlbench '

finish
