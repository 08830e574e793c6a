#!/usr/bin/env bash
# Every two of fault, point, format and loader at least once (tests/faults); scripts/faults runs the product.
. "$(dirname "$0")/lib.sh"
: "${DLB_BUILD_DIR:?}"

[ -z "$DLB_SANITIZE" ] || skip "a preload comes before the sanitizer's own functions"
export DLB_FAULTS_SO=$DLB_BUILD_DIR/tests/libfaults.so
limit_s=280
run python3 "$DLB_SOURCE_DIR/tests/faults/matrix.py" --pairwise
expect_exit 0
cat "$out"
finish
