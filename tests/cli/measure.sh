# Shared by the tests of run and sweep; sourced after lib.sh.
: "${DLB_BUILD_DIR:?}"

# Small, without a disk: 328 samples of 4 kB in batches of 16, steps of 1 ms.
quick=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=328 --set generate.sample_bytes=4096
    --set loader.batch_size=16 --set device.step_ms=1 --set run.repeats=2)

# Where no figure is looked at: one repetition, and neither it nor its ceiling has a step to wait for.
brief=("${quick[@]}" --set generate.sample_bytes=64 --set device.step_ms=0 --set run.repeats=1)

# For sweeps whose rates are known: W workers deliver W batches of 8 samples in 80 ms: 100 W samples/s.
planted=(--set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=100000 --set generate.sample_bytes=256
    --set loader.batch_size=8 --set loader.sample_sleep_us=10000 --set device.step_ms=1 --set run.max_batches=46
    --set sweep.confirm=none)

# Held against reports/summary.schema.json.
valid_summary() {
    "$DLB_BUILD_DIR/tests/unit_test_schema" "$1" 2>"$tmp/.schema" || failed "$1 against the schema: $(cat "$tmp/.schema")"
}

# Whether the rate of a cell, or of the best one, says something of the loader: of a busy machine it may not.
judged='(lambda x: x["verdict"]["class"] not in ("INCOMPLETE", "HARNESS-BOUND"))'

# As `run`, of a command that prints JSON: again, up to five times, until this expression over its document is true.
run_until() {
    local wanted=$1
    shift
    for _ in 1 2 3 4 5; do
        run "$@"
        [ "$code" -ne 0 ] || [ "$(json_get "$out" "$wanted")" = True ] && break
    done
}

child_of() { ps -o pid= --ppid "$1" | tr -d ' ' | head -n 1; }

# Starts a run that would take minutes, waits until its child has measured something: pid.
start_long() { # results folder, further arguments
    local folder=$1
    shift
    last="run $*"
    "$dlbench" run --set dataset.format=synthetic --set dataset.codec=raw --set generate.samples=100000 \
        --set generate.sample_bytes=4096 --set loader.batch_size=16 --set device.step_ms=20 --set run.repeats=3 "$@" \
        >"$out" 2>"$err" </dev/null &
    pid=$!
    for _ in $(seq 100); do
        grep -qs '"generate.samples": 100000' "$folder"/.cells-*/spec.json && [ -n "$(child_of "$pid")" ] && break
        sleep 0.1
    done
    sleep 1
}

# Ctrl-C in the middle of a sweep, whose first block was saved.
interrupt_sweep() { # name of the result, further arguments
    local saved=results/$1/summary.json
    "$dlbench" sweep --run-name "$@" >"$out" 2>"$err" </dev/null &
    pid=$! last='sweep, interrupted'
    for _ in $(seq 600); do
        [ -e "$saved" ] && break
        sleep 0.1
    done
    valid_summary "$saved"
    expect_no_file "results/$1/report.html" # made at the end, not after each block
    kill -INT "$pid"
    end_long
    expect_exit 130
    valid_summary "$saved"
    expect_file "results/$1/report.html"
}

end_long() {
    for _ in $(seq 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null && failed "it did not end within 30 s"
    wait "$pid"
    code=$?
}
