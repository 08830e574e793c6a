# Storage with planted limits (tests/support/slowfs.c), and searches on it; sourced after lib.sh. The test that sources
# it sets `workload`, arguments of all searches.
: "${DLB_BUILD_DIR:?}"
[ -n "$DLB_SANITIZE" ] && skip "planted times are looked for on the clock, which sanitizers bend"
slowfs=$DLB_BUILD_DIR/tests/slowfs
[ -x "$slowfs" ] || skip "$slowfs was not built"

# Mounts one: $mnt, until unmount. $files is how many there are, of $sample bytes; or, where it is set, $source their folder.
mount_slow() { # latency in us, bytes/s, depth
    coproc SLOWFS { exec "$slowfs" 1 "${files:-0}" "${sample:-0}" "$1" "$2" "$3" ${source:+"$source"} 2>"$tmp/slowfs.err"; }
    # shellcheck disable=SC2153 # what coproc sets
    slowfs_pid=$SLOWFS_PID slowfs_in=${SLOWFS[1]}
    mnt=
    read -r mnt <&"${SLOWFS[0]}"
    [ -n "$mnt" ] && return
    wait "$slowfs_pid"
    [ $? -eq 77 ] && skip "no FUSE file system can be mounted: $(cat "$tmp/slowfs.err")"
    failed "slowfs did not start: $(cat "$tmp/slowfs.err")" && finish
}

unmount_slow() {
    eval "exec $slowfs_in>&-"
    wait "$slowfs_pid" 2>/dev/null
    wait
}

# The search on what is mounted, further arguments behind; the document in $out.
search() { # name
    local name=$1
    shift
    run "$dlbench" storage --path "$mnt" "${workload[@]}" --run-name "$name" --json "$@"
    expect_exit 0
}

# What is planted: latency us, bytes/s, depth, number expected; then further arguments. The answer may be $within from that, or 1.
# Other programs can bend a search, and then a second one is made: what is wrong is wrong twice.
plant() { # name (what is planted first), us, bytes/s, depth, expected, arguments
    local name=$1 us=$2 rate=$3 depth=$4 expected=$5 found kind=${1%%_*} again blamed within=${within-1}
    shift 5
    # Where other programs keep every CPU busy, or a hypervisor takes them, it is right to say so instead.
    # $undecided names a bottleneck that is as right here, or is empty.
    blamed='any(why in d["storage"]["bottleneck_text"] for why in ("of all CPUs were busy", "a hypervisor took")) or d["storage"]["bottleneck"] == "harness" or d["storage"]["bottleneck"].startswith("storage-'"${kind/depth/}"'") or d["storage"]["bottleneck"] == "'"${undecided-}"'"'
    for again in 1 2; do
        mount_slow "$us" "$rate" "$depth"
        search "${name}_$again" "$@"
        unmount_slow
        found=$(json_get "$out" 'd["storage"]["max_accelerators"]')
        echo "$name: $expected expected, $found found ($(json_get "$out" \
            '(d["storage"]["low"], d["storage"]["high"], d["storage"]["bottleneck"])'))"
        [ "$found" -ge $((expected - within)) ] && [ "$found" -le $((expected + within)) ] && [ "$(json_get "$out" "$blamed")" = True ] && break
    done
    expect [ "$found" -ge $((expected - within)) ] && expect [ "$found" -le $((expected + within)) ]
    expect_json "$blamed"
    expect_json 'd["storage"]["settled"] and d["storage"]["low"] <= d["storage"]["max_accelerators"] <= d["storage"]["high"]'
}
