#!/usr/bin/env bash
# A gen that is killed while it writes its mark, list or manifest leaves them under temporary names. The next gen removes those,
# and nothing else.
. "$(dirname "$0")/lib.sh"

gen=("$dlbench" gen --set dataset.path=t --set dataset.codec=raw --set generate.sample_bytes=64 --set generate.samples=8)
sleep 0 &
gone=$!
wait $gone
[ -d /proc/$gone ] && skip "the number $gone belongs to another process already"

leave() { # number of a process: as that one left them
    for name in incomplete files manifest.json; do
        for end in "$1" "$1-1"; do
            [ -d t ] && echo '{' >t/.dlbench-$name.$end.tmp
        done
    done
}
left() { find t -name '.dlbench-*.tmp*' | wc -l; }

# Before there is a mark.
mkdir t
echo '{' >t/.dlbench-incomplete.$gone.tmp
echo '{' >t/.dlbench-incomplete.$gone-1.tmp
run "${gen[@]}"
expect_exit 0
expect [ "$(left)" -eq 0 ]

# In a folder that is complete, in one that is repaired, and in one that is resumed.
leave $gone
run "${gen[@]}"
expect_exit 0
expect_out 'already complete'
expect [ "$(left)" -eq 0 ]
leave $gone
rm "$(find t -name 00000003.bin)"
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

# Those of a process that runs stay, and so does what only looks like them.
leave $$
mkdir t/.dlbench-files.$gone.tmp
for name in .dlbench-files.${gone}x.tmp .dlbench-files.tmp .dlbench-files..tmp .dlbench-files.0.tmp .dlbench-files.99999999999.tmp \
    .dlbench-files.-1.tmp .dlbench-notes.$gone.tmp .dlbench-files.$gone.tmp.kept; do
    echo mine >t/$name
done
n=$(left)
run "${gen[@]}"
expect_exit 0
expect [ "$n" -eq 15 -a "$(left)" -eq 15 ]

finish
