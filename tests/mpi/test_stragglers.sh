#!/usr/bin/env bash
# A slow rank of a real job is named: one rank reads the same data from a storage with a planted latency, or has steps that take twice
# as long. Of equal ranks none is named.
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
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
[ "\$rank" != $slow ] || [ ! -e "$tmp/slow_steps" ] || export LD_PRELOAD="$DLB_BUILD_DIR/tests/libslow_step.so" DLB_SLOW_STEP=2
cd "$tmp/place\$rank" && exec "$dlbench" "\$@"
EOF
chmod 755 in_place

# A batch of 4 reads takes 4 x 25 ms, where a step takes 40.
work=(--set dataset.format=files --set dataset.codec=raw --set dataset.path=data --set loader.batch_size=4 --set loader.num_workers=1
    --set device.step_ms=40 --set run.epochs=4 --set run.repeats=1)

# Other programs can slow a rank down: where one is planted, what is wrong is wrong twice.
straggler() { # implementation, name, what the document says: class and rank, or None; how many runs it may take
    local found
    launcher "$1" "$n_ranks"
    for attempt in $(seq "$4"); do
        run "${launch[@]}" ./in_place run "${work[@]}" --results "$tmp/results" --run-name "$2-$1-$attempt"
        expect_exit 0
        valid_summary "results/$2-$1-$attempt/summary.json"
        found=$(json_get "results/$2-$1-$attempt/summary.json" 'd["straggler"] and (d["straggler"]["class"], d["straggler"]["rank"])')
        [ "$found" = "$3" ] && return
    done
    failed "$2: the straggler should be $3, but is $found in $4 of $4 runs"
}

# So does the report, and it alone is marked.
is_named() { # implementation, name, class
    expect [ "$(json_get "results/$2-$1-$attempt/summary.json" '[r["rank"] for r in d["ranks"] if r["straggler"]]')" = "[$slow]" ]
    run "$dlbench" report "results/$2-$1-$attempt"
    expect_out "$3: rank $slow"
}

for mpi in "${implementations[@]}"; do
    straggler "$mpi" equal None 1
done
if [ -z "$DLB_SANITIZE" ]; then # a library that is loaded first is loaded before the sanitizer's
    touch slow_steps
    for mpi in "${implementations[@]}"; do
        straggler "$mpi" steps "('COMPUTE STRAGGLER', $slow)" 2
        is_named "$mpi" steps 'COMPUTE STRAGGLER'
    done
    rm slow_steps
fi
source=$tmp/files mount_slow 25000 0 0
rm "place$slow/data"
ln -s "$mnt" "place$slow/data"
for mpi in "${implementations[@]}"; do
    straggler "$mpi" slow "('INPUT STRAGGLER', $slow)" 2
    is_named "$mpi" slow 'INPUT STRAGGLER'
done
unmount_slow
finish
