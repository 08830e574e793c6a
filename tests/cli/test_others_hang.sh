#!/usr/bin/env bash
# Other programs that misbehave: an interpreter that is named is the only one tried, a crash of another is noted, and Ctrl-C ends
# the wait for a program that hangs at once. The limits themselves: tests/unit/test_fio_run.c and test_gap_plan.c.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

tiny=(--samples 2000 --features 10 --batch-size 300 --set gap.repeats=1 --set device.step_ms=0.1)
torch_rungs='(r for r in d["gap"]["rungs"] if r["rung"].startswith("torch-"))'
program() { # PATH WORDS...: a script that runs them
    mkdir -p "${1%/*}"
    printf '#!/bin/sh\n%s\n' "${*:2}" >"$1"
    chmod +x "$1"
}
# Plays an interpreter with torch: answers the probe, and fails every rung.
# shellcheck disable=SC2016
has_torch='for arg; do last=$before; before=$arg; [ "$last" = --result ] && result=$arg; done
grep -q \"probe\" "$4" && echo "{\"status\": \"ok\", \"torch\": \"9.9\"}" >"$6" || exit 9'
program "$tmp/good/python3" "$has_torch"
# shellcheck disable=SC2016
program "$tmp/bad/python3" 'kill -ABRT $$'
program "$tmp/none/python3" "echo '{\"status\": \"not-measured\", \"reason\": \"no module\"}' >\"\$6\""

# --- the one that --python names crashes: its rungs fail, and name it
run env PATH="$tmp/good:$PATH" "$dlbench" gap "${tiny[@]}" --python "$tmp/bad/python3" --run-name named --json
expect_exit 0
valid_summary "$out"
expect_json "all(r['status'] == 'failed' and r['code'] == 'E_PYTHON_CRASHED' and '$tmp/bad/python3' in r['reason'] for r in $torch_rungs)"
expect_json "[t['python'] for t in d['gap']['python']['tried']] == ['$tmp/bad/python3'] and d['gap']['python']['path'] is None"
expect_code E_PYTHON_CRASHED

# --- it lacks torch: they are not measured
run env PATH="$tmp/good:$PATH" "$dlbench" gap "${tiny[@]}" --python "$tmp/none/python3" --run-name lacks --json
expect_exit 0
expect_json "all(r['status'] == 'not-measured' and '$tmp/none/python3' in r['reason'] for r in $torch_rungs)"
expect_json "d['gap']['python']['path'] is None and any(n['code'] == 'GAP_NO_TORCH' for n in d['notes'])"

# --- nothing is named: the one that is used is, and so is one that crashed before
run env PATH="$tmp/good:$PATH" "$dlbench" gap "${tiny[@]}" --run-name unnamed --json
expect_json "d['gap']['python']['path'] == '$tmp/good/python3' and not any(n['code'] == 'GAP_PYTHON_PASSED' for n in d['notes'])"
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    run env PATH="$tmp/bad:$PATH" "$dlbench" gap "${tiny[@]}" --run-name passed --json
    expect_json "d['gap']['python']['path'] == '/usr/bin/python3'"
    expect_json "any(n['code'] == 'GAP_PYTHON_PASSED' and '$tmp/bad/python3' in n['text'] for n in d['notes'])"
    expect_err "/usr/bin/python3.*$tmp/bad/python3"
fi

# --- Ctrl-C while one hangs, and it is gone
interrupt() { # file with the number of the process that hangs, command...
    local own=$1
    shift
    last=$*
    "$@" >"$out" 2>"$err" </dev/null &
    pid=$!
    for _ in $(seq 600); do [ -s "$own" ] && break; sleep 0.1; done
    expect [ -s "$own" ]
    kill -INT "$pid"
    end_long
    expect_exit 130
    for _ in $(seq 50); do kill -0 "$(cat "$own")" 2>/dev/null || break; sleep 0.1; done
    expect [ "$(ps -o stat= -p "$(cat "$own")" | cut -c1)" != S ]
}
program "$tmp/slow/python3" "echo \$\$ >$tmp/python.pid; sleep 600"
interrupt "$tmp/python.pid" "$dlbench" gap "${tiny[@]}" --python "$tmp/slow/python3" --run-name slow-python

program "$tmp/slow/fio" "echo \$\$ >$tmp/fio.pid; sleep 600"
run "$dlbench" gen --dataset.format files --dataset.codec raw --dataset.path "$tmp/data" --generate.samples 64 \
    --generate.sample_bytes 4096
expect_exit 0
printf '[workload]\nname = "small"\n[dataset]\nformat = "files"\ncodec = "raw"\n[loader]\nbatch_size = 4\nnum_workers = 1\n[device]\nstep_ms = 5\n' >small.toml
interrupt "$tmp/fio.pid" env PATH="$tmp/slow:$PATH" "$dlbench" storage --config small.toml --path "$tmp/data" \
    --set storage.max_accelerators=1 --set storage.allow_small=true --set run.repeats=1 --set run.max_batches=4 --baseline fio --run-name slow-fio

# --- the process that runs fio is killed: fio ends, and so does what it started
runs() { [[ $(ps -o stat= -p "$1") == [RSD]* ]]; }
gone() { for _ in $(seq 100); do runs "$1" || return 0; sleep 0.1; done; return 1; }
program "$tmp/parent/fio" "echo \$\$ >$tmp/fio.pid; sleep 600 & echo \$! >$tmp/fio-child.pid; echo \$PPID >$tmp/cell.pid; wait"
env PATH="$tmp/parent:$PATH" "$dlbench" storage --config small.toml --path "$tmp/data" --set storage.max_accelerators=1 \
    --set storage.allow_small=true --set run.repeats=1 --set run.max_batches=4 --baseline fio --run-name killed >"$out" 2>"$err" </dev/null &
pid=$!
for _ in $(seq 600); do [ -s "$tmp/cell.pid" ] && break; sleep 0.1; done
read -r cell <"$tmp/cell.pid"
read -r fio <"$tmp/fio.pid"
read -r child <"$tmp/fio-child.pid"
expect runs "$child"
kill -KILL "$cell"
expect gone "$fio"
expect gone "$child"
kill -INT "$pid" 2>/dev/null
end_long
finish
