#!/usr/bin/env bash
# Ranks by each MPI, what takes longer: the barrier, a race, a timeline, writing data together, other programs and other data.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi

written=(--set dataset.format=webdataset --set dataset.codec=raw --set webdataset.shard_samples=10 --set generate.samples=100
    --set generate.sample_bytes=1000)
run "$dlbench" gen "${written[@]}" --set dataset.path=by-one
expect_exit 0

# Of a disk whose reads the kernel counts (as in tests/cli/test_cache.sh), a file for each sample: readahead of one rank brings nothing
# that another one reads.
on_disk=(--set dataset.format=files --set dataset.codec=raw --set dataset.path=on-disk)
run "$dlbench" gen "${on_disk[@]}" --set generate.samples=256 --set generate.sample_bytes=65536
expect_exit 0
cache='d["cells"][0]["cache"]'
knows_cold=no
case $(stat -f -c %T .) in
ext2/ext3 | xfs) [ -r /proc/self/io ] && knows_cold=yes ;;
esac

for mpi in "${implementations[@]}"; do
    launcher "$mpi" "$n_ranks"
    # --- cold on all ranks: each has read its share from the storage. The label is cold only if it is for each rank, and the bytes are
    # the sums over ranks.
    run "${launch[@]}" "$dlbench" run "${on_disk[@]}" --set loader.batch_size=2 --set device.step_ms=0 --set run.warmup_batches=1 \
        --set run.cache=cold --set run.repeats=2 --run-name cold
    expect_exit 0
    valid_summary results/cold/summary.json
    expect [ "$(json_get results/cold/summary.json "(${cache}['asked'], len(d['ranks']), ${cache}['delivered_bytes'])")" = \
        "('cold', 4, $((256 * 65536)))" ]
    if [ $knows_cold = yes ] && [ "$(json_get results/cold/summary.json "${cache}['process_bytes'] is not None")" = True ]; then
        expect [ "$(json_get results/cold/summary.json "(${cache}['label'], ${cache}['resident_before_frac'] <= 0.01,
            [r['label'] == 'cold' and r['process_bytes'] >= 0.95 * r['delivered_bytes'] for r in ${cache}['repetitions']],
            any(n['code'] == 'CACHE_NOT_AS_ASKED' for n in d['notes']))")" = "('cold', True, [True, True], False)" ]
    else
        echo "not tested: whether each rank's share is cold: $(stat -f -c %T .) may hide what is read"
    fi
    rm -r results/cold

    # --- each step ends on all ranks before the next begins: no rank has more steps in its window than another
    run "${launch[@]}" "$dlbench" run "${quick[@]}" --set run.repeats=1 --set accelerators.barrier=true --set device.step_ms=10 \
        --set run.checksum=true --run-name barrier
    expect_exit 0
    valid_summary results/barrier/summary.json
    expect [ "$(json_get results/barrier/summary.json '(len(d["ranks"]), 0 < d["barrier_us"]["p50"] <= d["barrier_us"]["p99"],
        [(e["samples"], e["unique"]) for e in d["cells"][0]["epochs"]] == [(328, 328)],
        len({s["steps"] for s in d["cells"][0]["accelerators"]["each"]}))')" = '(4, True, True, 1)' ]
    rm -r results/barrier

    # --- a race on all ranks, decided by one: one result
    run "${launch[@]}" "$dlbench" sweep "${brief[@]}" --set 'sweep.loader.num_workers=[0, 1]' --set sweep.exhaustive=true --run-name sweep
    expect_exit 0
    valid_summary results/sweep/summary.json
    expect [ "$(json_get results/sweep/summary.json '[len(c["ranks"]["ranks"]) for c in d["cells"]]')" = '[4, 4]' ]
    rm -r results/sweep

    # --- a timeline is rank 0's
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --run-name traced --trace trace.json
    expect_exit 0
    expect_err 'rank 0'
    expect_file trace.json
    rm -r results/traced trace.json

    # --- all ranks write the data that one process writes; a second call finds them whole; one file is written by rank 0
    run "${launch[@]}" "$dlbench" gen "${written[@]}" --set dataset.path="by-$mpi" --json
    expect_exit 0
    expect_json 'd["written"] == 100'
    expect diff -r by-one "by-$mpi"
    run "${launch[@]}" "$dlbench" gen "${written[@]}" --set dataset.path="by-$mpi" --json
    expect_json 'd["written"] == 0'
    rm "by-$mpi"/*3.tar "by-$mpi"/*7.tar # of two ranks
    run "${launch[@]}" "$dlbench" gen "${written[@]}" --set dataset.path="by-$mpi" --json
    expect_json 'd["written"] == 20'
    expect diff -r by-one "by-$mpi"
    run "${launch[@]}" "$dlbench" gen --set dataset.format=hdf5 --set dataset.codec=raw --set generate.samples=20 \
        --set generate.sample_bytes=100 --set dataset.path="hdf5-$mpi"
    [ "$code" -eq 0 ] && expect_err 'hdf5.*rank 0' # of a build with HDF5

    # --- a rank whose path is another folder writes nothing there, and gen fails
    mkdir -p here there/data
    : >there/data/own
    launcher "$mpi" 1
    apart=("${written[@]}" --set dataset.path=data)
    run "${launch[@]}" -wdir "$PWD/here" "$dlbench" gen "${apart[@]}" : -np 1 -wdir "$PWD/there" "$dlbench" gen "${apart[@]}"
    expect [ "$code" -ne 0 ]
    expect_err 'rank 1 on .*E_RANKS_DATA'
    expect [ "$(ls there/data)" = own ]
    rm -rf here there

    # --- one rank is a run without ranks
    launcher "$mpi" 1
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --run-name single
    expect_exit 0
    expect [ "$(json_get results/single/summary.json '(d["world"], d.get("ranks"))')" = '(1, None)' ]
    rm -r results/single

    # --- refused: ranks with another program
    mkdir -p other
    { cat "$dlbench" && echo; } >other/dlbench
    chmod 755 other/dlbench
    cp "$(dirname "$dlbench")/dlbench-mpi-$mpi.so" other
    launcher "$mpi" 2
    run "${launch[@]}" "$dlbench" run "${brief[@]}" --run-name mixed : -np 1 other/dlbench run "${brief[@]}" --run-name mixed
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_PROGRAM'
    expect_no_file results/mixed
    run "${launch[@]}" "$dlbench" gen "${written[@]}" --set dataset.path=mixed : -np 1 other/dlbench gen "${written[@]}" \
        --set dataset.path=mixed
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_PROGRAM'
    expect_no_file mixed

    # --- refused: ranks with other data
    mkdir -p here there
    for place in here/100 there/101; do
        "$dlbench" gen --dataset.format files --dataset.codec raw --dataset.path "${place%/*}/data" --generate.samples 64 \
            --generate.sample_bytes "${place#*/}" >/dev/null 2>&1
    done
    stored=(--set dataset.format=files --set dataset.codec=raw --set dataset.path=data --set loader.batch_size=8 --set run.repeats=1
        --set device.step_ms=0 --run-name data)
    launcher "$mpi" 1
    run "${launch[@]}" -wdir "$PWD/here" "$dlbench" run "${stored[@]}" : -np 1 -wdir "$PWD/there" "$dlbench" run "${stored[@]}"
    expect [ "$code" -ne 0 ]
    expect_err 'E_RANKS_DATA'
    rm -rf here there
done
finish
