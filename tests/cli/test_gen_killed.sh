#!/usr/bin/env bash
# A gen that is killed while it writes its mark, list or manifest leaves them under temporary names. The next gen that writes to the
# folder removes those, and nothing else.
. "$(dirname "$0")/lib.sh"

gen=("$dlbench" gen --set dataset.path=t --set dataset.codec=raw --set generate.sample_bytes=64 --set generate.samples=8)
sleep 0 &
gone=$!
wait $gone
[ -d /proc/$gone ] && skip "the number $gone belongs to another process already"

leave() { # number of a process, how long ago (20 minutes if not given): as that one left them
    for name in incomplete files manifest.json; do
        for end in "$1" "$1-1"; do
            echo '{' >t/.dlbench-$name.$end.tmp
            touch -d "${2:-20 minutes ago}" t/.dlbench-$name.$end.tmp
        done
    done
}
damage() { rm "$(find t -name 00000003.bin)"; }
left() { find t -name '.dlbench-*.tmp*' | wc -l; }

# Before there is a mark.
mkdir t
echo '{' >t/.dlbench-incomplete.$gone.tmp
echo '{' >t/.dlbench-incomplete.$gone-1.tmp
touch -d '20 minutes ago' t/.dlbench-incomplete.*
run "${gen[@]}"
expect_exit 0
expect [ "$(left)" -eq 0 ]

# Nothing from a folder that is complete: no lock is held there. In one that is repaired, and in one that is resumed.
leave $gone
run "${gen[@]}"
expect_exit 0
expect_out 'already complete'
expect [ "$(left)" -eq 6 ]
damage
run "${gen[@]}"
expect_exit 0
expect [ "$(left)" -eq 0 ]
leave $gone
printf '{"params": %s}' "$(json_get t/.dlbench-manifest.json 'json.dumps(d["params"])')" >t/.dlbench-incomplete
rm t/.dlbench-manifest.json
run "${gen[@]}"
expect_exit 0
expect [ "$(left)" -eq 0 ]
expect [ "$(find t -name '*.bin' | wc -l)" -eq 8 ]

# Those that are new stay: the process may run on another machine, or in another container.
leave $gone '5 minutes ago'
damage
run "${gen[@]}"
expect_exit 0
expect_out ' written in '
expect [ "$(left)" -eq 6 ]
find t -name '.dlbench-*.tmp' -delete

# Those of a process that runs stay, and so does what only looks like them.
leave $$
mkdir t/.dlbench-files.$gone.tmp
for name in .dlbench-files.${gone}x.tmp .dlbench-files.tmp .dlbench-files..tmp .dlbench-files.0.tmp .dlbench-files.99999999999.tmp \
    .dlbench-files.-1.tmp .dlbench-notes.$gone.tmp .dlbench-files.$gone.tmp.kept; do
    echo mine >t/$name
done
touch -d '20 minutes ago' t/.dlbench-*.tmp*
n=$(left)
damage
run "${gen[@]}"
expect_exit 0
expect_out ' written in '
expect [ "$n" -eq 15 -a "$(left)" -eq 15 ]

finish
