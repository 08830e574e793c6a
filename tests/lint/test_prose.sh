#!/usr/bin/env bash
# Tests expect codes, paths, names and figures, not sentences (prose.py). First: that the checker finds what it should.
set -euo pipefail
. "${DLB_SOURCE_DIR:?}/tests/lint/lib.sh"

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
plant() { # suffix, how many offences, text
    printf '%s\n' "$3" >"$planted/a.$1"
    local found
    found=$(python3 tests/lint/prose.py "$planted/a.$1" | wc -l) || true
    ((found == $2)) || { echo "prose.py found $found offences instead of $2 in: $3"; exit 1; }
}
plant c 1 'assert_non_null(strstr(err.what, "disk on fire"));'
plant c 1 $'assert_non_null(\n    strstr(err.what,\n           "is no "\n           "tar archive"));'
plant c 1 'error_is(&err, DLB_ERR_IO, "a/b: no such file");'
plant c 2 'refused(strstr(a, "one two three"), "four five six");'
plant c 0 'assert_non_null(strstr(err.what, "sample 333")); /* it says where it was */'
plant c 0 'assert_non_null(strstr(err.what, "loader.num_workers = 2, run.epochs"));'
plant c 0 'puts("one two three four");'
plant sh 1 "expect_err '^dlbench: a: no such file'"
plant sh 1 'expect_no_out "we are .*not amused"'
plant sh 0 "expect_err '^dlbench: results/a: .*--run-name' # the name that was given"
plant sh 0 "# expect_err 'one two three'"

if ! python3 tests/lint/prose.py tests/unit/*.c tests/contract/*.c tests/cli/*.sh; then
    echo "expect the code, the path or the figure, not the sentence"
    exit 1
fi
