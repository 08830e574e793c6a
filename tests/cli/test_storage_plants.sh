#!/usr/bin/env bash
# dlbench storage on storage with planted limits (slowfs: B bytes/s, L a request, D requests at a time): the number of accelerators
# that it finds is the one that the limits and the workload give, and where nothing is planted the storage is not blamed.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/slowfs.sh"

# The workload: a sample of 256 KiB a step of 20 ms. Without FUSE_MAX_PAGES a request is 128 KiB, so that a sample takes two, one
# after the other.
files=400 sample=262144 step_ms=20 gate=0.8
request=131072
workload=(--set dataset.format=files --set dataset.codec=raw --set loader.batch_size=1 --set loader.pin_memory=true
    --set loader.shuffle=true --set loader.drop_last=true --set "device.step_ms=$step_ms" --set "workload.gate=$gate"
    --set run.max_batches=14 --set run.repeats=2 --set storage.allow_small=true --set loader.persistent_workers=true)

# N accelerators at the gate take N * gate * sample / step bytes a second: N = floor(rate * step / (gate * sample)).
by_rate() { # bytes/s
    echo $(($1 * step_ms * 10 / 1000 / (8 * sample)))
}

for half in 25 65; do # tenths of N: half-way between two numbers
    rate=$((half * 8 * sample * 1000 / step_ms / 100))
    plant "bandwidth_$half" 0 $rate 0 "$(by_rate $rate)" --set loader.num_workers=1
done

# D requests at a time, each taking L, for all readers together: rate = D * request / L.
rate=$((6 * request * 1000 / 14))
plant depth_6 14000 0 6 "$(by_rate $rate)" --set loader.num_workers=2
rate=$((8 * request * 10000 / 132))
plant depth_8 13200 0 8 "$(by_rate $rate)" --set loader.num_workers=2

# One pool of W readers for all, each waiting L for each request: rate = W * request / L.
pool=(--set accelerators.shared_workers=true --set run.warmup_batches=10)
rate=$((8 * request * 10000 / 152))
plant latency_8 15200 0 0 "$(by_rate $rate)" --set loader.num_workers=8 "${pool[@]}"
rate=$((9 * request * 1000 / 20))
plant latency_9 20000 0 0 "$(by_rate $rate)" --set loader.num_workers=9 "${pool[@]}"

# Nothing is planted: more accelerators than the CPUs can serve. With steps so short a window of as few batches would be over in
# 14 ms, in which one moment without a CPU decides. As above, what is wrong is wrong twice: the numbers that are compared are some
# tenths of a second long, and a CPU that is taken away during one of them leaves nothing to compare with.
unblamed='d["storage"]["bottleneck"] in ("cpu", "memory-bandwidth", "harness", "none")'
for again in 1 2; do
    mount_slow 0 0 0
    search free_$again --set loader.num_workers=1 --set device.step_ms=1 --set storage.max_accelerators=64 --set run.max_batches=300
    unmount_slow
    echo "nothing planted: $(json_get "$out" '(d["storage"]["max_accelerators"], d["storage"]["bottleneck"], d["storage"]["bottleneck_text"])')"
    [ "$(json_get "$out" "$unblamed")" = True ] && break
done
expect_json "$unblamed"
finish
