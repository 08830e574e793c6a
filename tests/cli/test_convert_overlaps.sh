#!/usr/bin/env bash
# convert --overwrite: a target that holds files of the source is refused, however the source is named.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"
has_module format webdataset || skip "no webdataset in this build"

raw=(--set dataset.codec=raw --set generate.sample_bytes=500)
run "$dlbench" gen --set dataset.path=src "${raw[@]}" --set generate.samples=40 --set generate.classes=4
expect_exit 0
for folder in a b; do
    run "$dlbench" convert src $folder --format webdataset --set webdataset.shard_samples=10
    expect_exit 0
done
sums() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum); }
sums a >a.sums
sums b >b.sums

refused() { # source, target, options
    expect_error E_TARGET_OVERLAPS 2 "$dlbench" convert "$@" --overwrite
    expect cmp -s <(sums a) a.sums
    expect cmp -s <(sums b) b.sums
}
refused "$PWD/a/shard-000000.tar::$PWD/b/shard-000001.tar" a --format webdataset
refused "$PWD/a/shard-000000.tar::$PWD/b/shard-000001.tar" b --format webdataset
refused "$PWD/{a,b}/shard-000000.tar" b --format webdataset
refused "{a,b}/shard-000000.tar" a --format files
refused "a/shard-{000000..000003}.tar" a --format webdataset
refused a/shard-000002.tar a --format webdataset

# Shards that are links to those in the target.
mkdir links
ln -s ../a/shard-000000.tar links/x.tar
ln -s a there
refused links a --format webdataset
refused "there/shard-000000.tar::there/shard-000001.tar" a --format webdataset

# Other shards of the same folders are no reason to refuse.
run "$dlbench" convert "{a,b}/shard-000000.tar" c --format webdataset --json
expect_exit 0
expect_json "d['samples'] == d['verified'] == 20"
run "$dlbench" convert "a/shard-000000.tar::a/shard-000001.tar" b --format webdataset --overwrite --json
expect_exit 0
expect_json "d['samples'] == d['verified'] == 20"
expect cmp -s <(sums a) a.sums
finish
