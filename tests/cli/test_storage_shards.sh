#!/usr/bin/env bash
# dlbench storage over tar shards on storage with planted limits: most samples come out of a block that is already in memory, and
# whether reads wait for each other is to be seen all the same.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/slowfs.sh"

step_ms=20 gate=0.8 payload=65536
made=(--set dataset.format=webdataset --set dataset.codec=raw --set generate.samples=640 --set "generate.sample_bytes=$payload"
    --set webdataset.shard_samples=40)
workload=("${made[@]}" --set loader.batch_size=1 --set loader.pin_memory=true --set loader.drop_last=true
    --set loader.persistent_workers=true --set "device.step_ms=$step_ms" --set "workload.gate=$gate" --set run.max_batches=20
    --set run.repeats=2 --set storage.allow_small=true)

run "$dlbench" gen "${made[@]}" --set dataset.path=shards
[ "$code" -eq 2 ] && skip "no tar shards: $(tail -n 1 "$err")"
expect_exit 0
source=$tmp/shards

# What a sample takes of its shard, framing included. N accelerators at the gate take N * gate * that / step bytes a second.
each=$(($(stat -c %s shards/shard-000000.tar) / 40))
by_rate() { # bytes/s
    echo $(($1 * step_ms * 10 / 1000 / (8 * each)))
}
rate=$((35 * 8 * each * 1000 / step_ms / 100)) # of three and a half
plant bandwidth_tar 0 $rate 0 "$(by_rate $rate)" --set loader.num_workers=1
expect_json 'all(p["iops"] < p["samples_per_s"] for p in d["storage"]["curve"])'

# One pool of W workers, each waiting L for each request, which has 32 pages at most: a block of 256 KiB whose memory begins
# within a page is three of them. It has three samples and a part of the fourth, whose rest is read by itself: four requests for
# four samples, W / L samples a second, of which an accelerator at the gate takes gate / step.
workers=4 us=28500
expected=$((workers * 1000000 / us * step_ms * 10 / (8 * 1000)))
# With one accelerator the pool has time to spare, in which the kernel reads ahead. Whether that hides what the plant is, is chance:
# never may it be called bandwidth.
undecided=unknown plant latency_tar $us 0 0 "$expected" --set loader.num_workers=$workers --set accelerators.shared_workers=true \
    --set run.warmup_batches=10
finish
