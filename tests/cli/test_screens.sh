#!/usr/bin/env bash
# The last screen of a sweep in a terminal of 80 x 24 and of 120 x 40, as tmux shows it: decided, not separable, noise, a failed cell,
# interrupted. Verdict, demand and supply, settings and next step are on it. $DLB_SCREENS names a folder that keeps the screens.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

[ -z "$DLB_SANITIZE" ] || skip "sweeps of planted times, which sanitizers bend"
command -v tmux >/dev/null || skip "no tmux"
keep=${DLB_SCREENS:-$tmp/screens}
mkdir -p "$keep"
screen() { tmux -L "dlb$$" "$@"; }
trap 'screen kill-server 2>/dev/null; rm -rf "$tmp"' EXIT

# Runs a sweep in a terminal, as typed, and keeps what is on it when the prompt is back. `after`: seconds until Ctrl-C.
capture() { # name, size, after (or ""), arguments
    local name=$1 size=$2 after=$3 begun
    shift 3
    last="sweep $name at $size" rows=$keep/$name-$size.txt out=$tmp/joined err=/dev/null code=0 # `out`: wrapped lines are joined
    rm -f ended
    printf '%q ' "$dlbench" sweep "$@" --run-name "$name-${size%x*}" --overwrite >command
    screen -f /dev/null new-session -d -s "$name" -x "${size%x*}" -y "${size#*x}" -c "$tmp" env PS1='$ ' TERM=screen bash --norc --noprofile
    screen send-keys -t "$name" 'clear; eval "$(cat command)"; touch ended' Enter
    begun=$SECONDS
    while [ ! -e ended ] && [ $((SECONDS - begun)) -lt 240 ]; do
        if [ -n "$after" ] && [ $((SECONDS - begun)) -ge "$after" ] && [ -e "results/$name-${size%x*}/summary.json" ]; then
            screen send-keys -t "$name" C-c
            after=
        fi
        sleep 0.5
    done
    [ -e ended ] || failed "it did not end"
    sleep 0.5
    screen capture-pane -p -t "$name" >"$rows"
    screen capture-pane -p -J -t "$name" | sed 's/ *$//' >"$out"
    screen kill-session -t "$name"
    echo "--- $name, $size"
    cat "$rows"
}

# What every last screen has. Only lines to paste and errors are longer than the terminal is wide.
answered() { # size
    expect_out '^Verdict: '
    expect_out '^Result: results/'
    expect_out '^\$ *$'
    expect_no_out '(nan|inf)\b'
    expect [ "$(grep -vE 'num_workers=|^Next(, [a-z ]+)?: dlbench |^dlbench: |\[E_' "$out" | awk '{ if (length > n) n = length } END { print n + 0 }')" -le "${1%x*}" ]
}

# What the sweep came to, by its result.
came_to() { [ "$(json_get "results/$1-${size%x*}/summary.json" "$2")" = True ] || failed "$1 should have come to: $2"; }

hog() { # takes both CPUs away now and then, so that equal cells differ from run to run
    while :; do
        timeout "0.$((RANDOM % 5 + 1))" bash -c 'while :; do :; done' &
        timeout "0.$((RANDOM % 5 + 1))" bash -c 'while :; do :; done'
        sleep "0.$((RANDOM % 5 + 1))"
    done
}

noisy=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=100000 --set generate.sample_bytes=256
    --set loader.batch_size=4 --set loader.sample_spin_us=300 --set device.step_ms=0.1 --set run.max_batches=12
    --set loader.num_workers=2 --set 'sweep.loader.prefetch_factor=[2, 3]' --set sweep.confirm=none --set sweep.max_minutes=2)
"$dlbench" gen --set dataset.path=data --set dataset.codec=raw --set generate.samples=200 --set generate.sample_bytes=2000 2>/dev/null

for size in 80x24 120x40; do
    capture decided $size "" "${planted[@]}" --set 'sweep.loader.num_workers=[2, 8]' --set sweep.max_minutes=2
    answered $size
    came_to decided 'd["recommended_cell"] == 1'
    expect_out '^Needs 8,000 samples/s '
    expect_out 'num_workers=8'
    expect_out 'Recommended'

    capture same $size "" "${planted[@]}" --set loader.num_workers=8 --set 'sweep.loader.prefetch_factor=[2, 3]' --set sweep.max_minutes=2
    answered $size
    [ "$(json_get "results/same-${size%x*}/summary.json" '"loader.prefetch_factor" in d["recommendation_detail"]["no_difference"]')" = True ] ||
        echo "not shown at $size: cells that are the same; the machine was too busy"
    expect_out '^Needs 8,000 samples/s '
    expect_out 'prefetch_factor'

    hog &
    hog=$!
    capture noise $size "" "${noisy[@]}"
    kill $hog
    wait $hog 2>/dev/null
    answered $size
    expect_out '^Needs 40,000 samples/s '
    if [ "$(json_get "results/noise-${size%x*}/summary.json" 'd["recommendation_detail"]["stopped"] == "noise"')" = True ]; then
        expect_no_out 'DataLoader\('
        advice=$(sed '/^Next/,$d' "$out")
        expect [ "${advice/sweep.max_minutes/}" = "$advice" ] # more time would not help
    else
        echo "not shown at $size: noise; the race came to an end"
    fi

    capture failed $size "" --set dataset.codec=raw --set loader.batch_size=10 --set device.step_ms=1 --set run.repeats=2 \
        --set 'sweep.dataset.path=["data", "nowhere"]' --set sweep.confirm=none
    answered $size
    came_to failed '[c["status"] for c in d["cells"]] == ["ok", "failed"]'
    expect_out 'nowhere'
    expect_out 'E_NOT_FOUND'

    capture stopped $size 4 "${planted[@]}" --set 'sweep.loader.num_workers=[7, 8]'
    answered $size
    came_to stopped 'd["partial"] and d["recommendation_detail"]["stopped"] == "interrupted"'
    expect_out '[Ii]nterrupted'
done
finish
