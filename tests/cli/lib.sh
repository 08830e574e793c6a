#!/usr/bin/env bash
# Helpers of the command-line tests: sourced first by every test_*.sh.
#
# ctest sets DLB_BIN, DLB_SOURCE_DIR and DLB_SANITIZE. Gives: $tmp, a folder that is removed at the end; `run CMD...`, which
# leaves $code, $out and $err (files); expect_* checks of the last run, which say what they wanted and show what they got.
#
# Messages are prose and may change: check codes, exit codes, paths, keys and figures. expect_error takes a regex of codes.
set -u

: "${DLB_BIN:?set DLB_BIN to the dlbench under test}"
: "${DLB_SOURCE_DIR:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${DLB_SANITIZE:=}"
export DLB_SOURCE_DIR
unset COLUMNS # it sets the width of tables
dlbench=$DLB_BIN
[ -x "$dlbench" ] || { echo "$dlbench is no program"; exit 1; }

tmp=$(mktemp -d "${TMPDIR:-/tmp}/dlb_cli_XXXXXX") || exit 3
chmod 755 "$tmp"
out=$tmp/.out err=$tmp/.err code=0 n_failed=0 last=
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cd "$tmp" || exit 3

# Most tests need less. A hang fails its own check before ctest ends the whole test.
limit_s=${DLB_TEST_LIMIT_S:-120}

run() {
    last=$*
    timeout -k 5 "$limit_s" "$@" >"$out" 2>"$err" </dev/null
    code=$?
}

# As `run`, with a uid that owns nothing, because file permissions do not bind root. Skips the test if that is impossible.
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

# An error of the last run has a code that this regex matches whole.
has_code() { grep -Eq "^dlbench: .* \[($1)\]\$" "$err"; }
expect_code() { has_code "$1" || failed "stderr should have an error with code $1"; }

# expect_error CODES EXIT CMD...: runs the command, which fails so, and prints nothing on stdout; with --json, the error.
expect_error() {
    local codes=$1 wanted=$2
    shift 2
    run "$@"
    expect_failed "$codes" "$wanted"
}
expect_unprivileged_error() { # as run_unprivileged
    local codes=$1 wanted=$2
    shift 2
    run_unprivileged "$@"
    expect_failed "$codes" "$wanted"
}
expect_failed() { # of the last run
    expect_exit "$2"
    expect_code "$1"
    case " $last " in
    *" --json "*) expect_json "set(d) == {'error'} and re.fullmatch(r'$1', d['error']['code']) and d['error']['text']" ;;
    *) expect_out_empty ;;
    esac
}

make_shard() { # file: a tar of ten samples
    python3 - "$1" <<'PY'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w") as tar:
    for i in range(10):
        info = tarfile.TarInfo(f"sample{i}.bin")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"hello"))
PY
}

# Whether this build has a module: has_module KIND NAME, as `dlbench doctor` lists them.
has_module() {
    [ -e "$tmp/.doctor" ] || "$dlbench" doctor --json >"$tmp/.doctor"
    [ "$(json_get "$tmp/.doctor" "any((m['kind'], m['name'], m['available']) == ('$1', '$2', True) for m in d['modules'])")" = True ]
}

# Sets python to the path of $PYTHON, else of python3, whichever can import torch; skips the test without one.
find_torch() {
    for python in "${PYTHON:-}" python3; do
        [ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null && python=$(command -v "$python") && return
    done
    skip "neither \$PYTHON nor python3 can import torch"
}

expect() { "$@" || failed "should hold: $*"; } # any command

# The value of a Python expression over `d`, the JSON document in a file, goes to $value. Fails, with what is wrong there, if there is none.
# One Python answers all: tests/support/documents.py. It is no child of this shell, which may wait for all that it has.
value_of() { # FILE EXPRESSION
    local answer=$tmp/.answer.$BASHPID ask told
    if [ ! -p "$tmp/.questions" ] && mkfifo "$tmp/.questions" 2>/dev/null; then
        (cd "$tmp" && exec python3 -IS "$DLB_SOURCE_DIR/tests/support/documents.py" .questions $$ </dev/null >/dev/null 2>&1 &)
    fi
    [ -p "$answer" ] || mkfifo "$answer"
    exec {ask}<>"$tmp/.questions" {told}<>"$answer" # each with both ends, so that neither side waits for the other to open it
    printf '%s\0' "$answer" "$PWD" "$1" "$2" >&"$ask"
    IFS= read -rd '' -t "$limit_s" -u "$told" value || value='!no answer'
    exec {ask}>&- {told}>&-
    [ "${value:0:1}" = = ] || { value=${value#!} && return 1; }
    value=${value:1}
}

# stdout is one JSON document, of which this Python expression over `d` is true.
expect_json() {
    local value
    value_of "$out" "bool(${1:-True})" || failed "stdout as JSON: ${1:-valid}: $value"
    [ "$value" != False ] || failed "stdout as JSON: not so: $1"
}

# A JSON value of a file, for shell use: json_get FILE EXPRESSION over `d`.
json_get() {
    local value
    value_of "$1" "$2" || { echo "json_get $1 $2: $value" >&2 && return 1; }
    printf '%s\n' "$value"
}

# Last line of every test.
finish() {
    [ "$n_failed" -eq 0 ] && echo "all checks passed" && exit 0
    echo "$n_failed checks failed"
    exit 1
}
