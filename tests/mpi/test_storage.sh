#!/usr/bin/env bash
# dlbench storage on four ranks, which share a storage of planted bandwidth: all of them together reach what the bandwidth gives.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi
source "$DLB_SOURCE_DIR/tests/cli/slowfs.sh"

files=800 sample=262144 step_ms=40 gate=0.8
# shellcheck disable=SC2034 # of slowfs.sh
workload=(--set dataset.format=files --set dataset.codec=raw --set loader.batch_size=1 --set loader.pin_memory=true
    --set loader.shuffle=true --set loader.drop_last=true --set "device.step_ms=$step_ms" --set "workload.gate=$gate"
    --set run.max_batches=14 --set run.repeats=2 --set storage.allow_small=true --set loader.persistent_workers=true
    --set loader.num_workers=1)

limit_s=600 single=$dlbench
for mpi in "${implementations[@]}"; do
    launcher "$mpi" "$n_ranks"
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${launch[*]}" "$single" >on_ranks
    chmod 755 on_ranks
    dlbench=$PWD/on_ranks
    # Half-way between two numbers of each rank: N accelerators on R ranks take R * N * gate * sample / step bytes a second. One more
    # or less on each rank would be as many as there are ranks in all.
    for half in 15 55; do
        rate=$((half * n_ranks * 8 * sample * 1000 / step_ms / 100))
        within=0 plant "bandwidth_${mpi}_$half" 0 $rate 0 $((half / 10))
        expect_json "d['storage']['max_accelerators_all_ranks'] == $((half / 10 * n_ranks))"
        expect_json 'len(d["ranks"]) == 4 and all(r["samples_per_s"] > 0 for r in d["ranks"])'
        valid_summary "$out"
    done
    dlbench=$single
done
finish
