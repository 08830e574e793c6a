#!/usr/bin/env bash
# run.cache: which state was asked for, which was reached, and that nothing is wrongly called cold.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

cache='d["cells"][0]["cache"]'
small=(--set dataset.codec=raw --set generate.samples=256 --set generate.sample_bytes=65536)
# A short step: without one, a ceiling copies 128 KB as often as it can.
loop=(--set dataset.codec=raw --set loader.batch_size=2 --set device.step_ms=0.5 --set run.warmup_batches=1)
cold=(--set run.cache=cold)

# --- wrong usage
expect_error E_CONFIG_UNKNOWN_CHOICE 2 "$dlbench" run "${loop[@]}" --set dataset.path=data --set run.cache=lukewarm
expect_err 'run\.cache'
expect_error E_DROP_CACHES_NOT_COLD 2 "$dlbench" run "${quick[@]}" --drop-caches
expect_err 'drop-caches.*run\.cache'

# --- data that are made up: nothing was read, and nothing is claimed
run "$dlbench" run "${brief[@]}" "${cold[@]}" --run-name synthetic --json
expect_exit 0
valid_summary "$out"
expect_json "d['cells'][0]['config']['run.cache'] is None and ${cache}['label'] == 'unknown' and ${cache}['delivered_bytes'] is None"

# --- as it is
run "$dlbench" gen "${small[@]}" --set dataset.path=data
expect_exit 0
run "$dlbench" run "${loop[@]}" --set dataset.path=data --set run.repeats=2 --run-name as-is --json
expect_exit 0
valid_summary "$out"
expect_json "${cache}['asked'] == 'as-is' and ${cache}['label'] in ('warm', 'mixed', 'cold', 'unknown') and len(${cache}['repetitions']) == 2"
expect_json "${cache}['delivered_bytes'] == 256 * 65536 and ${cache}['metadata'] in ('warm', 'unknown')"
expect_json 'not any(n["code"] == "CACHE_NOT_AS_ASKED" for n in d["notes"])'

# --- files that are memory cannot be cold
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && shm=$(mktemp -d /dev/shm/dlb_cache_XXXXXX); then
    trap 'rm -rf "$tmp" "$shm"' EXIT
    run "$dlbench" gen "${small[@]}" --set dataset.path="$shm/data"
    expect_exit 0
    run "$dlbench" run "${loop[@]}" "${cold[@]}" --set dataset.path="$shm/data" --set run.repeats=1 --run-name tmpfs --json
    expect_exit 0
    valid_summary "$out"
    expect_json "${cache}['asked'] == 'cold' and ${cache}['label'] == 'warm' and ${cache}['filesystem'] == 'tmpfs'"
    expect_json "${cache}['device'] is None and ${cache}['device_bytes'] is None and 'memory' in ${cache}['why']"
    expect_json 'any(n["code"] == "CACHE_NOT_AS_ASKED" and re.search("cold.*warm", n["text"]) for n in d["notes"])'
    run "$dlbench" report results/tmpfs
    expect_out '^cache: +warm \(asked: cold\)'
else
    echo "not tested: /dev/shm is no tmpfs here"
fi

# --- a disk
run "$dlbench" run "${loop[@]}" "${cold[@]}" --set dataset.path=data --run-name cold --json
expect_exit 0
valid_summary "$out"
case $(stat -f -c %T .) in
ext2/ext3 | xfs) ;;
*)
    echo "not tested: whether a disk is cold: $(stat -f -c %T .) may hide or compress what is read"
    finish
    ;;
esac
if [ "$(json_get "$out" "${cache}['process_bytes'] is None")" = True ]; then
    echo "not tested: whether a disk is cold: this kernel does not say what it read"
    finish
fi
expect_json "${cache}['label'] == 'cold' and ${cache}['resident_before_frac'] <= 0.01 and len(${cache}['repetitions']) == 3"
expect_json "all(r['label'] == 'cold' and r['process_bytes'] >= 0.95 * r['delivered_bytes'] for r in ${cache}['repetitions'])"
expect_json "${cache}['metadata'] == 'warm' and any(n['code'] == 'COLD_LIMITS' for n in d['notes'])"
expect_json 'not any(n["code"] == "CACHE_NOT_AS_ASKED" for n in d["notes"])'
run "$dlbench" report results/cold
expect_out '^cache: +cold \(asked: cold\): .*0\.0%'

# What a process is charged, what its device counts and what was delivered are one figure, but for readahead (a shard that is
# read whole has none to waste) and for other programs on the same disk: the best of a few.
run "$dlbench" gen "${small[@]}" --set dataset.format=webdataset --set webdataset.shard_samples=256 --set dataset.path=shard
if [ "$code" -eq 0 ] && [ "$(json_get results/cold/summary.json "${cache}['device_bytes'] is not None")" = True ]; then
    best=1
    for _ in 1 2 3 4 5 6 7 8; do
        run "$dlbench" run "${loop[@]}" "${cold[@]}" --set dataset.format=webdataset --set dataset.path=shard --set run.repeats=2 \
            --run-name shard --overwrite --json
        expect_exit 0
        expect_json "${cache}['label'] == 'cold'"
        best=$(json_get "$out" "min([$best] + [abs(r['device_bytes'] / r['delivered_bytes'] - 1) for r in ${cache}['repetitions']])")
        awk -v b="$best" 'BEGIN { exit !(b <= 0.05) }' && break
    done
    echo "delivered bytes and the device's own count differ by $(awk -v b="$best" 'BEGIN { printf "%.2f%%", 100 * b }')"
    awk -v b="$best" 'BEGIN { exit !(b <= 0.05) }' ||
        echo "not tested: whether they agree: others read too much from this disk"
fi

# --- what was read once is not cold again: a second epoch comes from the page cache
run "$dlbench" run "${loop[@]}" "${cold[@]}" --set dataset.path=data --set run.epochs=4 --set run.repeats=1 --run-name epochs --json
expect_exit 0
expect_json "${cache}['label'] == 'mixed' and 'epoch' in ${cache}['why']"
expect_json 'any(n["code"] == "CACHE_NOT_AS_ASKED" and "mixed" in n["text"] for n in d["notes"])'

# --- past the page cache the bytes decide, whatever lies in it
cat data/*/* >/dev/null
run "$dlbench" run "${loop[@]}" --set dataset.path=data --set loader.direct=true --set run.epochs=2 --set run.repeats=1 --run-name direct --json
if [ "$code" -eq 0 ] || ! grep -Eq 'O_DIRECT|page cache' "$err"; then # else this file system refuses
    expect_exit 0
    expect_json "${cache}['label'] == 'cold' and 'bypassed' in ${cache}['why']"
fi

# --- warm, and both in one sweep. A kernel that reclaims ahead of need (DAMON) may drop pages again: one of a few runs.
labels='[c["cache"]["label"] for c in d["cells"]]'
for _ in 1 2 3 4 5 6; do
    run "$dlbench" sweep "${loop[@]}" --set dataset.path=data --set 'sweep.run.cache=["warm", "cold"]' --set run.repeats=2 \
        --run-name both --overwrite --json
    expect_exit 0
    [ "$(json_get "$out" "$labels == ['warm', 'cold']")" = True ] && break
done
valid_summary "$out"
expect_json "$labels == ['warm', 'cold']"
expect_json 'd["cells"][0]["cache"]["device_bytes"] is not None and d["cells"][0]["resident_frac"] >= 0.99'
run "$dlbench" report results/both
expect_out '^cache: +(warm|cold) .*, others'

# --- files of others: what is resident is not ours to know, and mincore's "all of it" is not believed
if [ "$(id -u)" -eq 0 ]; then
    mkdir theirs
    chmod 777 theirs
    run_unprivileged "$dlbench" run "${loop[@]}" "${cold[@]}" --set dataset.path="$tmp/data" --set run.repeats=1 --results theirs/results \
        --run-name r --json
    expect_exit 0
    expect_json "${cache}['label'] == 'unknown' or d['cells'][0]['residency_by'] == 'cachestat'"
    expect_json "${cache}['label'] != 'unknown' or (${cache}['resident_before_frac'] is None and 'own the' in ${cache}['why'])"
    run_unprivileged "$dlbench" run "${loop[@]}" "${cold[@]}" --drop-caches --set dataset.path="$tmp/data" --results theirs/results --run-name d
    expect_exit 3
    expect_code E_PERMISSION
    expect_err '/proc/sys/vm/drop_caches.*root'
fi

# --- the whole machine's caches are left alone here: a file stands where the kernel's is, in a namespace of the test's own
: >told
if unshare --mount sh -c 'mount --bind "$1" /proc/sys/vm/drop_caches' sh "$tmp/told" 2>/dev/null; then
    run unshare --mount sh -c 'mount --bind "$0" /proc/sys/vm/drop_caches && exec "$@"' "$tmp/told" \
        "$dlbench" run "${loop[@]}" "${cold[@]}" --drop-caches --set dataset.path=data --set run.repeats=1 --run-name dropped --json
    expect_exit 0
    expect [ "$(cat told)" = 3 ]
    expect_json "${cache}['label'] == 'cold' and ${cache}['metadata'] == 'cold'"
    # what is open all the time keeps its name and inode
    run "$dlbench" gen --set dataset.format=tokens --set dataset.codec=raw --set generate.samples=4096 --set dataset.path=flat
    expect_exit 0
    run unshare --mount sh -c 'mount --bind "$0" /proc/sys/vm/drop_caches && exec "$@"' "$tmp/told" \
        "$dlbench" run "${loop[@]}" "${cold[@]}" --drop-caches --set dataset.format=tokens --set dataset.codec=raw \
        --set dataset.path=flat --set run.repeats=1 --run-name held --json
    expect_exit 0
    expect_json "${cache}['metadata'] == 'unknown'"
else
    echo "not tested: --drop-caches where root allows it"
fi
finish
