#!/usr/bin/env bash
# The limit of open files decides how many class folders stay open. Fewer descriptors than folders are enough.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

measured=(--set dataset.path=many --set dataset.codec=raw --set run.max_batches=3 --set run.warmup_batches=0 --set run.repeats=1
    --set loader.num_workers=2 --set loader.batch_size=8 --set device.step_ms=0.1)
made=0
for n in 63 64 127 254 300; do # folders beside the one that holds them
    for (( ; made < n; made++)); do mkdir -p many/c$made && echo $made >many/c$made/1.bin; done
    run bash -c "ulimit -n 256; exec '$dlbench' inspect many --json"
    expect_exit 0
    expect_json "d['samples'] == d['classes'] == $n"
    run bash -c "ulimit -n 256; exec '$dlbench' convert many to --format files --json"
    expect_exit 0
    expect_json "d['verified'] == $n"
    rm -rf to
    [ $n = 254 ] || continue
    run bash -c "ulimit -n 256; exec '$dlbench' run ${measured[*]} --run-name n$n --json"
    expect_exit 0
done

# Fewer than files of tokens, too: by maps, and by many reads at once.
run "$dlbench" gen --set dataset.path=tokens --set dataset.format=tokens --set dataset.codec=tokens --set generate.samples=300 \
    --set tokens.seq_len=8 --set tokens.file_tokens=9
expect_exit 0
expect [ "$(find tokens -name 'tokens-*.bin' | wc -l)" -eq 300 ]
for how in "--set dataset.access=mmap" "--set loader.io=auto"; do
    run bash -c "ulimit -n 256; exec '$dlbench' run ${measured[*]} --set dataset.path=tokens --set dataset.format=tokens \
        --set dataset.codec=tokens --set tokens.seq_len=8 $how --json"
    expect_exit 0
    expect_json "d['dataset']['samples'] == 300"
done
finish
