#!/usr/bin/env bash
# The live view: more ways to end, terminals without one, and each command that has one.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/terminal.sh"

# Sanitizers would catch the signals of a crash before the program does.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_segv=0:handle_abort=0 TSAN_OPTIONS=${TSAN_OPTIONS-}:handle_segv=0:handle_abort=0

open_terminal 80 24
type_line 'stty -g >modes.before'
until_ended 0

# --- signals that end it, once in order, and what a crash leaves
for signal in TERM HUP INT SEGV ABRT QUIT USR1; do
    begin_run
    kill "-$signal" "$pid"
    until_screen "^end-$n_typed="
    expect_restored
done

# --- stopped and continued: in front, in the background, by a signal that nothing can catch
say_line() { # a line of the shell while a job is stopped or in the background
    in_tmux send-keys -l "$1"
    press Enter
}
begin_run
press C-z
until_screen 'Stopped'
[ "$(terminal_is alternate_on)" = 0 ] || failed "a stopped run should have left the alternate screen"
say_line fg
until_screen '^samples/s .* asked for'
kill -STOP "$pid"
sleep 0.5
say_line 'echo be"tween"'
say_line fg
until_screen '^samples/s .* asked for'
expect_no_screen 'between'
press C-z
until_screen 'Stopped.*'
say_line bg
until_screen '^run: .*ETA|^run: [0-9]+ of ' # lines, and the shell goes on
[ "$(ps -o stat= -p "$pid" | cut -c1)" != T ] || failed "the run should go on in the background"
[ "$(terminal_is alternate_on)" = 0 ] || failed "a run in the background should not draw"
say_line 'echo sh"ell"'
until_screen '^shell$'
say_line fg
until_screen '^samples/s .* asked for'
press q
until_screen '^dlbench: interrupted'
until_screen '^ready> *$'
expect_screen '^shell$' # nothing was written over
expect_restored

# --- typed ahead for the shell: no letter of it ends the run
begin_run
for key in g r e p Space - q Space f o q o; do
    press "$key"
    sleep 0.1
done
until_screen '^samples/s .* asked for'
expect_no_screen 'ending'
kill -0 "$pid" || failed "a q in a line should not end it"

sleep 1 # the line is over
press q
until_screen "^end-$n_typed="

# --- Ctrl-S holds the output, not the run
in_full=$run_half
run_half="$run_half --set run.repeats=30 --set run.max_batches=40"
begin_run
press C-s
sleep 1
before=$(ps -o pid= --ppid "$pid")
sleep 6 # a repetition takes two
after=$(ps -o pid= --ppid "$pid")
[ "$before" != "$after" ] || failed "the next repetition should run while the output is held: $after"
press C-q
until_screen '^samples/s .* asked for'
press q
until_screen "^end-$n_typed="
expect_restored
run_half=$in_full

run_half="$run_half --set run.repeats=1"
# --- the answer on the same terminal stays
resize_terminal 120 50
type_line "clear; $run_half --set run.max_batches=40"
until_screen '^workers '
until_ended 0
expect_screen '^ready>'
grep -q 'samples/s' "$tmp/.screen" || failed "the answer should be on the screen: $(cat "$tmp/.screen")"
expect_restored

# --- NO_COLOR; without it there are colours
type_line "$run_half >answer.txt"
until_screen '^  0 \['
in_tmux capture-pane -pe | grep -q "$(printf '\033')\[3[0-7]m" || failed "there should be colours"
press C-c
until_ended 130
type_line "NO_COLOR=1 $run_half >answer.txt"
until_screen '^  0 \['
in_tmux capture-pane -pe | grep -q "$(printf '\033')\[[0-9;]*3[0-7]m" && failed "NO_COLOR: there should be no colour"
press q
until_ended 130

# --- where there is no view: TERM=dumb, pipes, the background, --quiet
for how in 'TERM=dumb' 'TERM=nothing-known'; do
    type_line "clear; $how $run_half --set run.max_batches=20 >answer.txt"
    until_ended 0
    expect_screen '^run: starting$'
done
type_line "$run_half --set run.max_batches=20 >answer.txt 2>lines.txt"
until_ended 0
grep -q '^run: starting$' lines.txt || failed "a file gets lines: $(cat lines.txt)"
grep -q "$(printf '\033')" lines.txt && failed "a file gets no control sequences"
type_line "clear; $run_half --quiet --set run.max_batches=20 >answer.txt"
until_ended 0
expect_no_screen '^run: '
type_line "clear; $run_half --set run.max_batches=20 | cat >answer.txt"
until_ended 0
expect_screen '^run: starting$'
type_line "clear; setsid -w $run_half --set run.max_batches=20 >answer.txt"
until_ended 0
expect_screen '^run: starting$'
printf '%s\n' "$run_half --set run.max_batches=20 >answer.txt &" 'wait $!' >two.sh
type_line "clear; sh two.sh"
until_ended 0
expect_screen '^run: starting$'
type_line "$run_half --set run.max_batches=60 >answer.txt </dev/null" # no key is read
until_screen '^samples/s .* asked for'
expect_screen '^dlbench run '
expect_no_screen ' q: '
until_ended 0
type_line "clear; set -m; $run_half --set run.max_batches=20 >answer.txt & wait \$!"
until_ended 0
expect_screen '^run: starting$'
expect_restored

# --- each command that takes long
patience_s=60
data="--set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=data"
type_line "clear; $dlbench gen $data --set generate.samples=150000 --set generate.sample_bytes=1024 >answer.txt"
until_screen '^dlbench gen '
until_screen '\] +[0-9]+%'
until_screen ' samples/s '
expect_no_screen '^workers'
until_ended 0
type_line "clear; $dlbench convert data other --format webdataset >answer.txt"
until_screen '^dlbench convert '
until_screen ' of 150,000 samples'
until_ended 0
expect_restored

type_line "clear; $dlbench storage --config half.toml --set loader.pin_memory=true --set storage.max_minutes=2 --set run.max_batches=100 --overwrite --run-name s >answer.txt"
until_screen '^dlbench storage '
until_screen '^samples/s .* of .* asked for'
press q
until_ended 130
type_line "clear; $dlbench gap --set gap.samples=2000000 --overwrite --run-name g >answer.txt"
until_screen '^dlbench gap '
until_screen '^samples/s '
press q
until_ended 130

# A race: 1 to 8 workers, of which 8 are twice as fast as 4.
type_line "clear; $dlbench sweep --config half.toml --set 'sweep.loader.num_workers=[1, 4, 8]' --set sweep.confirm=none --set run.max_batches=12 --overwrite --run-name w >answer.txt"
until_screen '^race +3 of 3 '
patience_s=120
until_screen '[0-9]% that it is cell [0-9]+ num_workers=8' # after three blocks
press q
until_ended 130
expect_restored
grep -q "$(printf '\033')" answer.txt && failed "stdout should hold no control sequence"
finish
