# A terminal for tests, by tmux: sourced after lib.sh. A shell runs in it, which tells the exit code of each command.
command -v tmux >/dev/null || skip "tmux is not installed"

socket=$tmp/tmux
trap 'tmux -S "$socket" kill-server 2>/dev/null; rm -rf "$tmp"' EXIT

: >"$out" >"$err" # what is judged is the screen

in_tmux() { LC_ALL=C.UTF-8 tmux -S "$socket" -f /dev/null "$@"; }

open_terminal() { # columns, rows
    in_tmux new-session -d -x "$1" -y "$2" -c "$tmp" "env -u NO_COLOR PS1='ready> ' HISTFILE= bash --norc --noediting"
    in_tmux set-option -g window-size manual
    until_screen '^ready>'
}

resize_terminal() { in_tmux resize-window -x "$1" -y "$2"; }

screen() { in_tmux capture-pane -p >"$tmp/.screen"; }

# Types a command; its end is `ended`.
n_typed=0
type_line() {
    last=$*
    n_typed=$((n_typed + 1))
    in_tmux send-keys -l "$* ; echo end-$n_typed=\$?"
    in_tmux send-keys Enter
}
press() { in_tmux send-keys "$1"; }

# Waits until a line of the screen matches; it stays in $tmp/.screen.
until_screen() {
    for _ in $(seq $((${patience_s:-15} * 10))); do
        screen
        grep -Eq -- "$1" "$tmp/.screen" && return 0
        sleep 0.1
    done
    failed "the screen should match: $1; it is:
$(cat "$tmp/.screen")"
    return 1
}
until_ended() { until_screen "^end-$n_typed=$1\$"; } # exit code

expect_screen() { grep -Eq -- "$1" "$tmp/.screen" || failed "the screen should match: $1; it is:
$(cat "$tmp/.screen")"; }
expect_no_screen() { ! grep -Eq -- "$1" "$tmp/.screen" || failed "the screen should not match: $1; it is:
$(cat "$tmp/.screen")"; }

terminal_is() { in_tmux display-message -p "#{$1}"; } # a format of tmux: alternate_on, cursor_flag
expect_restored() {
    [ "$(terminal_is alternate_on)" = 0 ] || failed "the alternate screen should have been left"
    [ "$(terminal_is cursor_flag)" = 1 ] || failed "the cursor should be shown"
    type_line 'stty -g >modes.now; cmp modes.before modes.now'
    until_ended 0 # echo, canonical input: as before
}

ldd "$dlbench" | grep -q libncurses || skip "this build has no ncurses"

# 8 workers deliver 400 samples/s, of 800 that steps of 20 ms ask for.
cat >half.toml <<'END'
dataset.format = "synthetic"
dataset.codec = "raw"
[generate]
samples = 1000000
sample_bytes = 4096
[loader]
batch_size = 16
num_workers = 8
sample_sleep_us = 20000
[device]
step_ms = 20
[run]
repeats = 3
END
run_half="$dlbench run --config half.toml --overwrite --run-name half"

# Types it, and waits until the view has figures.
begin_run() { # leaves its process in $pid
    rm -f pid
    type_line "sh -c 'echo \$\$ >pid; exec $run_half >answer.txt'"
    until_screen '^samples/s .* asked for'
    pid=$(cat pid)
}
