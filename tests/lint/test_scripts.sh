#!/usr/bin/env bash
# Every shell script parses, is executable where it is meant to be called, and has no finding of shellcheck.
set -euo pipefail
. "${DLB_SOURCE_DIR:?}/tests/lint/lib.sh"

mapfile -t scripts < <(grep -rlE '^#!/usr/bin/env bash|^#!/bin/(ba)?sh' scripts tests .ci | sort)
((${#scripts[@]} > 0))
for script in "${scripts[@]}"; do
    bash -n "$script"
done
for script in scripts/* tests/peers/run tests/peers/fidelity .ci/run; do
    [[ -x $script ]] || { echo "$script is not executable"; exit 1; }
done
need shellcheck
shellcheck -x -P SCRIPTDIR --severity=warning "${scripts[@]}"
