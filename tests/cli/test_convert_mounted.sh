#!/usr/bin/env bash
# A mount point cannot be renamed, so that it is refused as convert's target before anything is written. A folder in it is fine.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] && command -v unshare >/dev/null && unshare -m true 2>/dev/null || skip "no right to mount"
run "$dlbench" gen --set dataset.path=src --set dataset.codec=raw --set generate.sample_bytes=64 --set generate.samples=8
expect_exit 0
mkdir at bound
run "$dlbench" convert src bound --format files --overwrite
expect_exit 0
cp -a bound kept
n_shown=0
mounted() { # how to mount something at the target, the target, flags...: in a name space of its own
    local how=$1 target=$2
    shift 2
    unshare -m sh -c "mount --make-rprivate / && $how" 2>/dev/null || { echo "not shown: $how"; return; }
    n_shown=$((n_shown + 1))
    expect_error E_TARGET_NAME_UNFIT 2 unshare -m sh -c "mount --make-rprivate / && $how && exec \"\$@\"" sh \
        "$dlbench" convert src "$target" --format files "$@"
    expect_err "^dlbench: $target: "
    expect [ -z "$(find . -maxdepth 1 -name '*.part-*')" ]
}
for more in '' --overwrite; do
    mounted 'mount -t tmpfs tmpfs at' at $more
    mounted 'mount --bind bound bound' bound $more # of the same file system
done
expect diff -r bound kept
into="mount --make-rprivate / && mount -t tmpfs tmpfs at"
if unshare -m sh -c "$into" 2>/dev/null; then
    run unshare -m sh -c "$into && exec '$dlbench' convert src at/new --format files"
    expect_exit 0
fi
[ $n_shown -eq 0 ] && [ $n_failed -eq 0 ] && skip "nothing could be mounted"

finish
