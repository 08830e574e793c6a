#!/usr/bin/env bash
# A slow rank of a real job is named: one rank reads the same data from a storage with a planted latency. Of equal ranks none is named.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi
workload=()
source "$DLB_SOURCE_DIR/tests/cli/slowfs.sh"
slow=2 # the rank

# A folder for each rank, whose `data` leads to the same files: all of them directly, or those of the planted rank through slowfs.
run "$dlbench" gen --dataset.format files --dataset.codec raw --dataset.path made --generate.samples 128 --generate.sample_bytes 4000
expect_exit 0
mkdir files
cp made/*/* files
for rank in $(seq 0 $((n_ranks - 1))); do
    mkdir "place$rank"
    ln -s "$tmp/files" "place$rank/data"
done
cat >in_place <<EOF
#!/bin/sh
cd "$tmp/place\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" && exec "$dlbench" "\$@"
EOF
chmod 755 in_place

# A batch of 4 reads takes 4 x 25 ms, where a step takes 40.
work=(--set dataset.format=files --set dataset.codec=raw --set dataset.path=data --set loader.batch_size=4 --set loader.num_workers=1
    --set device.step_ms=40 --set run.epochs=4 --set run.repeats=1)

# Other programs can slow a rank down: what is wrong is wrong twice.
straggler() { # implementation, name, what the document says: class and rank, or None
    local found
    launcher "$1" "$n_ranks"
    for attempt in 1 2; do
        run "${launch[@]}" ./in_place run "${work[@]}" --results "$tmp/results" --run-name "$2-$1-$attempt"
        expect_exit 0
        valid_summary "results/$2-$1-$attempt/summary.json"
        found=$(json_get "results/$2-$1-$attempt/summary.json" 'd["straggler"] and (d["straggler"]["class"], d["straggler"]["rank"])')
        [ "$found" = "$3" ] && return
    done
    failed "$2: the straggler should be $3, twice it is not, but $found"
}

for mpi in "${implementations[@]}"; do
    straggler "$mpi" equal None
done
source=$tmp/files mount_slow 25000 0 0
rm "place$slow/data"
ln -s "$mnt" "place$slow/data"
for mpi in "${implementations[@]}"; do
    straggler "$mpi" slow "('INPUT STRAGGLER', $slow)"
    expect [ "$(json_get "results/slow-$mpi-$attempt/summary.json" '[r["rank"] for r in d["ranks"] if r["straggler"]]')" = "[$slow]" ]
    run "$dlbench" report "results/slow-$mpi-$attempt"
    expect_out "INPUT STRAGGLER: rank $slow"
done
unmount_slow
finish
