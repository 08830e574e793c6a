#!/usr/bin/env bash
# Helpers of the command-line tests: sourced first by every test_*.sh.
#
# ctest sets DLB_BIN, DLB_SOURCE_DIR and DLB_SANITIZE. Gives: $tmp, a folder that is removed at the end; `run CMD...`, which
# leaves $code, $out and $err (files); expect_* checks of the last run, which say what they wanted and show what they got.
set -u

: "${DLB_BIN:?set DLB_BIN to the dlbench under test}"
: "${DLB_SOURCE_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${DLB_SANITIZE:=}"
unset COLUMNS # it sets the width of tables
dlbench=$DLB_BIN
[ -x "$dlbench" ] || { echo "$dlbench is no program"; exit 1; }

tmp=$(mktemp -d "${TMPDIR:-/tmp}/dlb_cli_XXXXXX") || exit 3
chmod 755 "$tmp"
out=$tmp/.out err=$tmp/.err code=0 n_failed=0 last=
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cd "$tmp" || exit 3

# Most tests need no more than this; a hang fails the test instead of ctest's patience.
limit_s=${DLB_TEST_LIMIT_S:-120}

run() {
    last=$*
    timeout -k 5 "$limit_s" "$@" >"$out" 2>"$err" </dev/null
    code=$?
}

# As `run`, with a uid that owns nothing: file permissions do not bind root. Skips the test where that cannot be had.
run_unprivileged() {
    if [ "$(id -u)" -ne 0 ]; then
        run "$@"
    elif command -v setpriv >/dev/null; then
        run setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        skip "neither an ordinary user nor setpriv"
    fi
}

skip() {
    echo "skipped: $*"
    exit 77
}

failed() {
    n_failed=$((n_failed + 1))
    echo "FAILED: $*"
    echo "  command: $last"
    echo "  exit code: $code"
    echo "  stdout: $(head -c 2000 "$out")"
    echo "  stderr: $(head -c 2000 "$err")"
}

expect_exit() { [ "$code" -eq "$1" ] || failed "exit code $1 expected"; }
expect_out() { grep -Eq -- "$1" "$out" || failed "stdout should match: $1"; }
expect_err() { grep -Eq -- "$1" "$err" || failed "stderr should match: $1"; }
expect_no_out() { ! grep -Eq -- "$1" "$out" || failed "stdout should not match: $1"; }
expect_no_err() { ! grep -Eq -- "$1" "$err" || failed "stderr should not match: $1"; }
expect_out_empty() { [ ! -s "$out" ] || failed "stdout should be empty"; }
expect_err_empty() { [ ! -s "$err" ] || failed "stderr should be empty"; }
expect_file() { [ -e "$1" ] || failed "$1 should exist"; }
expect_no_file() { [ ! -e "$1" ] || failed "$1 should not exist"; }
expect() { "$@" || failed "should hold: $*"; } # any command

# stdout is one JSON document, of which this Python expression over `d` is true.
expect_json() {
    python3 -c 'import json,sys
d=json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), "not so: " + sys.argv[2]' "$out" "${1:-True}" 2>"$tmp/.py" ||
        failed "stdout as JSON: ${1:-valid}: $(tail -n 1 "$tmp/.py")"
}

# A JSON value of a file, for shell use: json_get FILE EXPRESSION over `d`.
json_get() {
    python3 -c 'import json,sys
d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# Last line of every test.
finish() {
    [ "$n_failed" -eq 0 ] && echo "all checks passed" && exit 0
    echo "$n_failed checks failed"
    exit 1
}
