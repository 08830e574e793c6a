#!/usr/bin/env bash
# convert says why it could not remove a folder, by its path and the cause; what it could remove is gone.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

raw=(--set dataset.codec=raw --set generate.sample_bytes=64 --set generate.samples=8 --set generate.classes=4)
run "$dlbench" gen --set dataset.path=src "${raw[@]}"
expect_exit 0

# Files that cannot be opened for want of descriptors: with each limit it ends whole, or says so of what stays. What stays has
# its mark, so that the next convert removes it.
n_stays=0
for n in {4..16}; do
    mkdir to
    run bash -c "ulimit -n $n; exec '$dlbench' convert src to/t --format files"
    [ "$code" -eq 0 ] || [ "$code" -eq 127 ] || expect_code E_TOO_MANY_FILES # 127: its libraries could not be opened
    part=$(find to -maxdepth 1 -name 't.part-*')
    if [ -n "$part" ]; then
        n_stays=$((n_stays + 1))
        expect_err "^convert: $part stays: ${part}[^ ]*: .*ulimit -n.*\[E_TOO_MANY_FILES\]"
        run "$dlbench" convert src to/t --format files --overwrite
        expect_exit 0
        expect_no_file "$part"
    fi
    rm -rf to
done
[ "$DLB_SANITIZE" ] || expect [ "$n_stays" -ge 1 ]

# The earlier data lie in a folder that this user may not write to.
chmod 777 .
run_unprivileged "$dlbench" convert src old --format files
expect_exit 0
class=$(find old -mindepth 1 -type d | LC_ALL=C sort | head -1)
file=$(find "$class" -type f | head -1)
chmod 555 "$class"
run_unprivileged "$dlbench" convert src old --format files --overwrite
expect_exit 0
part=$(find . -maxdepth 1 -name 'old.part-*' -printf '%f\n')
expect [ -n "$part" ]
expect_err "^convert: $part stays: $part/old/${file#old/}: .*\[E_PERMISSION\]"
rm -rf old "$part"

# What somebody else put there is named.
mkdir -p to.part-79/to/class_000001
{ printf '%-40s%-40s%-256s' id "$(cat /proc/sys/kernel/random/boot_id)" "$(uname -n)" | tr ' ' '\0'; } >to.part-79/.dlbench-convert
for file in to.part-79/notes.txt to.part-79/to/class_000001/thesis.txt; do
    echo mine >$file
    run "$dlbench" convert src to --format files
    expect_exit 0
    expect_err "^convert: \./to\.part-79 stays: \./$file: .*\[E_TARGET_FOREIGN\]"
    expect [ "$(cat $file)" = mine ]
    rm -rf to $file
    mkdir -p to.part-79/to/class_000001
done

finish
