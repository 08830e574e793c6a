# Shared by the tests of `run --trace`; sourced after measure.sh.
traced=("${quick[@]}" --set run.repeats=1 --set run.epochs=2)

# holds NAME ARGUMENT...: a run whose trace, NAME.json, agrees with its result.
holds() {
    local name=$1
    shift
    run "$dlbench" run "${traced[@]}" "$@" --run-name "$name" --trace "$name.json"
    expect_exit 0
    cp "$err" "$name.err"
    valid_summary "results/$name/summary.json"
    run python3 "$DLB_SOURCE_DIR/tests/support/traced.py" "$name.json" "results/$name/summary.json"
    expect_exit 0
}
