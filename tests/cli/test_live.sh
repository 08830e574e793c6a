#!/usr/bin/env bash
# The live view on a terminal (tmux): what it shows, a window that is resized, ends. stdout holds nothing of it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/terminal.sh"

in_range() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }

# Figures that follow from what was planted, whatever else the machine does: a little less than they should be.
expect_figures() {
    local rate idle
    rate=$(sed -nE 's/.* ([0-9]+) of 800 asked for.*/\1/p' "$tmp/.screen")
    idle=$(sed -nE 's/^idle .* ([0-9]+)% of the device.*/\1/p' "$tmp/.screen")
    expect in_range "${rate:-0}" 250 480 # 400 samples/s were planted
    expect in_range "${idle:-0}" 40 75   # half of the time
}

open_terminal 80 24
type_line 'echo kept; stty -g >modes.before'
until_ended 0

# --- what it shows, at three sizes, and q
type_line "$run_half >answer.txt"
until_screen '^  0 \[=+' && sleep 3
screen
expect_screen '^dlbench run '
expect_screen '^samples/s '
expect_screen '^workers '
expect_screen '^  6 \[.*\] +7 \[.*\]$'
expect_no_screen 'kept'
expect_figures
[ "$(terminal_is alternate_on)" = 1 ] || failed "the view should be on the alternate screen"
[ ! -s answer.txt ] || failed "stdout should be empty while it runs"
cp "$tmp/.screen" at80
resize_terminal 200 50
until_screen '^  0 \[.*\] +4 \[.*\]$'
expect_figures
resize_terminal 30 8
until_screen '^dlbench run '
until_screen '^samples/s '
[ "$(grep -c . "$tmp/.screen")" -le 8 ] || failed "8 rows have no more"
resize_terminal 80 24
until_screen '^  6 \[.*\] +7 \[.*\]$'
[ "$(sed -E 's/[0-9#=.,-]+//g' "$tmp/.screen" | head -1 | cut -c1-12)" = "$(sed -E 's/[0-9#=.,-]+//g' at80 | head -1 | cut -c1-12)" ] ||
    failed "the view should be as before"
press q
until_ended 130
expect_screen '^ready> .*kept|^kept' # what stood there before is there again
expect_restored
grep -q . answer.txt || failed "the partial result should be on stdout"
grep -q "$(printf '\033')" answer.txt && failed "stdout should hold no control sequence"

# --- it is told to end at once
begin_run
kill -TERM "$pid"
kill -TERM "$pid"
until_screen "^end-$n_typed="
expect_restored

run_half="$run_half --set run.repeats=1"
# --- a cell that is killed costs the cell, not the terminal; its message lasts
begin_run
kill -KILL "$(ps -o pid= --ppid "$pid")"
until_screen "^end-$n_typed="
tr -d '\n' <"$tmp/.screen" | grep -q E_CELL_KILLED || failed "the message should last"
expect_restored

finish
