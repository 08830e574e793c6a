#!/usr/bin/env bash
# 200 kills at random moments of sweeps, races, storage, gap and cells of PyTorch; each goes on (tests/faults/resume.py).
. "$(dirname "$0")/lib.sh"
: "${DLB_BUILD_DIR:?}"

[ -z "$DLB_SANITIZE" ] || skip "a sanitizer wants to be loaded before the preload"
command -v python3 >/dev/null || skip "no python3"
limit_s=3500
DLB_FAULTS_SO=$DLB_BUILD_DIR/tests/libfaults.so run python3 "$DLB_SOURCE_DIR/tests/faults/resume.py" --kills 200
expect_exit 0
cat "$out"
finish
