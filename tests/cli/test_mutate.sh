#!/usr/bin/env bash
# Damaged files, whatever the damage: an exit code, a message with a code, JSON where it is asked for, no crash (scripts/mutate says
# what it checks). A few cases; test_mutate_long.sh has thousands.
. "$(dirname "$0")/lib.sh"
run "$DLB_SOURCE_DIR/scripts/mutate" --bin "$dlbench" --cases "${DLB_MUTATE_CASES:-48}" --seed "${DLB_MUTATE_SEED:-1}"
expect_exit 0
expect_out '^mutate: [0-9]+ cases .* 0 failed$'
finish
