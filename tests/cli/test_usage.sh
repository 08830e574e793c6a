#!/usr/bin/env bash
# Help, version and manual page; wrong usage and wrong configuration.
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
    for verb in sweep run gen inspect try init convert compare report doctor man completion schema; do
        expect_out "^  $verb +[A-Z]"
    done
    expect_no_out '^  cell ' # what the program calls itself by
done

for verb in sweep run storage gap calibrate gen inspect try init convert compare report doctor man completion schema; do
    run "$dlbench" help $verb
    expect_exit 0
    expect_out "^Usage: dlbench $verb"
    # A page fits the smallest terminal, and has an example.
    expect [ "$(wc -l <"$out")" -le 24 ]
    expect [ "$(awk '{ if (length > n) n = length } END { print n }' "$out")" -le 80 ]
    expect_out '^  dlbench '
    cp "$out" help.txt
    run "$dlbench" $verb --help
    expect_exit 0
    expect cmp -s "$out" help.txt
    # Examples and the list of rungs stay as they are; the rest fits 80 columns.
    run "$dlbench" help $verb --full
    expect_exit 0
    expect_out "^Usage: dlbench $verb"
    expect [ "$(grep -Ev '^  (dlbench |[a-z-]+: )' "$out" | awk '{ if (length > n) n = length } END { print n }')" -le 80 ]
done
for verb in run sweep storage; do # where to read about launchers
    for form in '' --full; do
        run "$dlbench" help $verb $form
        expect_out 'mpirun.*srun'
        expect_out 'docs/cluster\.md'
    done
done
run "$dlbench" help sweep
expect_out '^  loader\.batch_size +.*\(1\)$' # its default

# Every key that scripts rely on is in the help, with default and range.
run "$dlbench" help keys
for section in dataset loader device sweep storage hdf5 gap calibrate; do expect_out "^\[$section\]"; done
cp "$out" keys.txt
run "$dlbench" help keys loader
expect_exit 0
expect_out '^  num_workers +'
expect_no_out '^\[device\]'
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" help keys loadr
expect_err '"loadr".*"loader"\?'
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" help keys nothing-of-the-kind
expect_err 'loader, '
cp keys.txt "$out"
for key in format path codec on_error samples sample_bytes seed kind batch_size num_workers prefetch_factor pin_memory \
    pin_mode persistent_workers shuffle drop_last profile step_ms prefetch epochs max_batches warmup_batches repeats; do
    expect_out "^  $key( |\$)"
done
expect_out 'default'

# Every code of an error is listed, in the help and in the manual page, which troff has nothing to complain about.
codes=$(sed -nE 's/^X\(([A-Z0-9_]+),.*/E_\1/p' "$DLB_SOURCE_DIR/core/base/errors.def")
run "$dlbench" help errors
expect_exit 0
for wanted in $codes; do grep -Eq "^  $wanted( |\$)" "$out" || failed "help errors should list $wanted"; done
expect [ "$(awk '{ if (length > n) n = length } END { print n }' "$out")" -le 80 ]
run "$dlbench" man
expect_exit 0
expect_out '^\.TH DLBENCH 1'
expect_out 'loader\.num_workers'
for wanted in $codes; do grep -Eq "^\.B $wanted\$" "$out" || failed "the manual page should list $wanted"; done
cp "$out" dlbench.1
if command -v groff >/dev/null; then
    run groff -man -Tutf8 -ww dlbench.1
    expect_exit 0
    expect_err_empty
    expect_out 'loader\.prefetch_factor'
fi

expect_error E_USAGE_UNKNOWN_COMMAND 2 "$dlbench" swepe
expect_err '"swepe".*"sweep"\?'
expect_error E_USAGE_UNKNOWN_COMMAND 2 "$dlbench" frobnicate
expect_err '"frobnicate"'
expect_error E_USAGE_UNKNOWN_COMMAND 2 "$dlbench" help frobnicate
expect_error E_USAGE_UNKNOWN_FLAG 2 "$dlbench" gen --confg x
expect_err '"--confg".*"--config"\?'
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" gen some.toml
expect_err '--config some\.toml\?'
expect_error E_USAGE_MISSING_ARGUMENT 2 "$dlbench" inspect
expect_err 'PATH'

# Configuration: a missing file, an unknown key with file and line, a value out of range.
for verb in gen run sweep; do
    expect_error E_CONFIG_UNREADABLE 2 "$dlbench" $verb --config missing.toml
    expect_err '^dlbench: missing\.toml: '
    printf '[dataset]\nformat = "files"\n\n[loader]\nnum_worker = 4\n' >unknown.toml
    expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" $verb --config unknown.toml
    expect_err '^dlbench: unknown\.toml:5: .*"loader\.num_worker".*"loader\.num_workers"\?'
    printf 'loader.num_workers = -1\n' >range.toml
    expect_error E_CONFIG_OUT_OF_RANGE 2 "$dlbench" $verb --config range.toml
    expect_err '^dlbench: range\.toml:1: .*loader\.num_workers = -1 .*0 to [0-9]+'
    expect_error E_CONFIG_WRONG_TYPE 2 "$dlbench" $verb --set loader.num_workers=two
    expect_err '^dlbench: --set: .*loader\.num_workers'
    expect_error E_CONFIG_UNKNOWN_KEY 2 "$dlbench" $verb --loader.num_workerz 2
    expect_err '^dlbench: --loader\.num_workerz: .*"loader\.num_workers"'
    expect_error E_CONFIG_UNKNOWN_CHOICE 2 "$dlbench" $verb --set dataset.format=file
    expect_err '"files"\?'
done
printf 'not toml at all\n' >bad.toml
expect_error E_CONFIG_NOT_TOML 2 "$dlbench" sweep --config bad.toml
expect_err '^dlbench: bad\.toml:1: .*TOML'
head -c 2000000 /dev/zero | tr '\0' '[' >bomb.toml
expect_error E_CONFIG_TOO_LARGE 2 "$dlbench" sweep --config bomb.toml
expect_err '^dlbench: bomb\.toml.*1048576'
head -c 100000 bomb.toml >deep.toml
expect_error E_CONFIG_TOO_LARGE 2 "$dlbench" sweep --config deep.toml
expect_err '^dlbench: deep\.toml'

expect_error E_USAGE_FLAG_VALUE 2 "$dlbench" sweep --config ''

# The schema has each key of the help, with its range, and each configuration that ships fits it.
run "$dlbench" schema
expect_exit 0
expect_err_empty
cp "$out" schema.json
expect_json "d['properties']['loader']['properties']['num_workers']['minimum'] == 0"
expect_json "d['properties']['loader']['properties']['kind']['enum'][0] == d['properties']['loader']['properties']['kind']['default']"
expect_json "d['properties']['sweep']['properties']['loader']['properties']['num_workers']['items']['type'] == 'integer'"
expect_json "'default' not in d['properties']['python']['properties']['args']"
expect_json "d['properties']['sweep']['properties']['max_minutes']['type'] == 'number'"
for config in "$DLB_SOURCE_DIR"/configs/*.toml "$DLB_SOURCE_DIR"/configs/*/*.toml; do
    run python3 "$DLB_SOURCE_DIR/tests/support/fits_schema.py" schema.json "$config"
    expect_exit 0
done
printf '[python.args]\nsize = 224\nroots = ["/a"]\n[sweep]\npython.args.size = [160, 224]\n' >table.toml
run python3 "$DLB_SOURCE_DIR/tests/support/fits_schema.py" schema.json table.toml
expect_exit 0
printf '[sweep]\npython.args.size = 160\n' >bad-list.toml
printf '[python.args.size]\nwidth = 160\n' >bad-table.toml
printf '[loader]\nnum_worker = 1\n' >bad-key.toml
printf '[loader]\nnum_workers = -1\n' >bad-range.toml
printf '[sweep]\nloader.kind = ["thread"]\n' >bad-choice.toml
printf '[dataset]\npath = 5\n' >bad-type.toml
for config in bad-*.toml; do
    run python3 "$DLB_SOURCE_DIR/tests/support/fits_schema.py" schema.json "$config"
    expect_exit 1
done

# A configuration that ships is one that loads.
for config in "$DLB_SOURCE_DIR"/configs/*.toml; do
    if grep -q '^\[gap\]' "$config"; then
        expect_error E_PYTHON_NOT_FOUND 2 "$dlbench" gap --config "$config" --python /no/such/python
        expect_err 'no/such/python' # what is wrong is the interpreter, and nothing in the file
        continue
    fi
    if grep -q '^format = "synthetic"' "$config"; then
        run "$dlbench" gen --config "$config" --set dataset.codec=raw --json
        expect_exit 0
        expect_json 'd["written"] == 0'
        continue
    fi
    expect_error "E_DATASET_PATH_NOT_SET|E_MISSING" 2 "$dlbench" gen --config "$config" --set dataset.path= --set generate.samples=1
    has_code E_MISSING || expect_err 'dataset\.path' # the missing path, and nothing in the file
    expect_no_err '\.toml:'
done

# Standard streams: a reader that leaves is no error, a full disk is one, and so is a closed stdout.
run bash -c "set -o pipefail; '$dlbench' help sweep | head -n 1 >/dev/null"
expect_exit 0
expect_err_empty
if [ -c /dev/full ]; then
    run bash -c "'$dlbench' help sweep >/dev/full"
    expect_failed E_NO_SPACE 3
fi
run bash -c "'$dlbench' --version >&-"
expect_failed E_IO 3
run bash -c "'$dlbench' --version <&- 2>&-"
expect_exit 0
expect_out '^dlbench '

finish
