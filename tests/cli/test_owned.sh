#!/usr/bin/env bash
# gen and convert replace and remove what dlbench wrote, and nothing else: whatever its name, and whatever a link leads to.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

raw=(--set dataset.codec=raw --set generate.sample_bytes=64 --set generate.samples=8 --set generate.classes=4)
run "$dlbench" gen --set dataset.path=src "${raw[@]}"
expect_exit 0

tree() { find "$@" \( -type f -exec sha256sum {} + \) -o -printf '%y %p %l\n' | LC_ALL=C sort; }
formats=()
for format in files webdataset hdf5 lmdb; do has_module format $format && formats+=("$format"); done

# convert --overwrite refuses a target and leaves all as it is, whatever the format.
refused() { # target, what is named (a pattern), folders that keep all they have...
    local target=$1 named=$2 before format
    shift 2
    before=$(tree "$@")
    for format in "${formats[@]}"; do
        expect_error E_TARGET_FOREIGN 2 "$dlbench" convert src "$target" --format "$format" --overwrite
        expect_err "^dlbench: ${target%/}: .*$named"
    done
    expect [ "$(tree "$@")" = "$before" ]
    expect [ -z "$(find . -maxdepth 1 -name '*.part-*')" ]
}

# --- hidden names, and a file system's own folder
for name in .dlbench-thesis/thesis.txt .dlbench-notes.md lost+found/123 .dlbench-files .dlbench-manifest.json; do
    mkdir -p "t/$(dirname "$name")" && echo thesis >"t/$name"
    name=${name%/thesis.txt}; refused t "${name/+/.}" t
    rm -rf t
done
mkdir -p t/lost+found # holds nothing
run "$dlbench" convert src t --format files --overwrite
expect_exit 0
mkdir notes && echo '{"dlbench_manifest": 1, "params": {}}' >notes/list
ln -s ../notes/list t/.dlbench-manifest.json
refused t .dlbench-manifest.json t notes
rm -rf t notes

# --- a data set that somebody else made is not ours, although it is one for sure
mkdir -p photos/cat && echo holiday >photos/cat/IMG_1.jpg
refused photos cat/IMG_1.jpg photos
mkdir -p flat/class_0001 && echo holiday >flat/class_0001/00000001.jpg
refused flat class_0001/00000001.jpg flat
"$dlbench" convert src t3 --format files >/dev/null 2>&1
tar -cf t3/thesis-backup.tar src
refused t3 thesis-backup.tar t3
rm t3/thesis-backup.tar && echo holiday >t3/class_000001/holiday.jpg
refused t3 class_000001/holiday.jpg t3
mv t3/class_000001/holiday.jpg t3/class_000001/00000099.jpg
refused t3 class_000001/00000099.jpg t3
rm t3/class_000001/00000099.jpg && mkdir t3/papers
refused t3 papers t3
rmdir t3/papers
written=$(find t3 -name '*.bin' -print -quit)
echo changed >>"$written"
refused t3 "${written#t3/}" t3
rm "$written" && ln -s ../../src "$written"
refused t3 "${written#t3/}" t3 src
rm "$written"
run "$dlbench" convert src t3 --format files --overwrite # what is missing does not matter
expect_exit 0
rm t3/.dlbench-files # as older versions left it
refused t3 class_ t3
rm -rf photos flat t3

# --- a single file: its name proves nothing, nor that it is of the format
for name in notes.tar my.bin data.h5; do
    echo 'my own text' >$name
    refused $name '' $name
    rm $name
done
if has_module format hdf5; then
    run "$dlbench" convert src data.h5 --format hdf5
    expect_exit 0
    cp data.h5 copy.h5
    run "$dlbench" convert src copy.h5 --format hdf5 --overwrite
    expect_exit 0
    head -c -64 data.h5 >theirs.h5 # without what convert puts at the end
    run "$dlbench" inspect theirs.h5
    expect_exit 0
    refused theirs.h5 '' theirs.h5
    "$dlbench" gen --set dataset.path=of_gen --set dataset.format=hdf5 "${raw[@]}" >/dev/null 2>&1
    cp of_gen/data.h5 theirs.h5
    refused theirs.h5 '' theirs.h5
    rm -rf ./*.h5 of_gen
fi

# --- a link is not replaced: new data would lie on another disk
"$dlbench" convert src disk --format files >/dev/null 2>&1
ln -s disk link && ln -s nowhere dangling
for target in link link/ dangling; do refused "$target" '' disk link dangling; done
rm -rf disk link dangling

# --- gen writes nothing, and removes nothing, behind a link in its folder
linked() { # the link: nothing changes
    local before
    before=$(tree g victim)
    expect_error E_TARGET_FOREIGN 2 "$dlbench" gen --set dataset.path=g "${raw[@]}"
    expect_err "^dlbench: g: .*\"$1\""
    expect [ "$(tree g victim)" = "$before" ]
}
new_gen() {
    rm -rf g victim && mkdir victim && echo photo >victim/holiday.jpg
    "$dlbench" gen --set dataset.path=g "${raw[@]}" >/dev/null 2>&1
}
new_gen # a list that names what gen never made
ln -s ../victim g/pics && echo '1 pics/holiday.jpg' >>g/.dlbench-files
run "$dlbench" gen --set dataset.path=g "${raw[@]}"
expect grep -q photo victim/holiday.jpg
new_gen
ln -s ../victim g/class_9999 && echo photo >victim/00000005.bin && echo '1 class_9999/00000005.bin' >>g/.dlbench-files
linked class_9999
new_gen # a class's folder that leads somewhere else
class=$(dirname "$(find g -name 00000005.bin)")
rm -rf "$class" && ln -s ../victim "$class" && echo photo >victim/00000005.bin
linked "${class#g/}"
new_gen # a file that does
rm "$(find g -name 00000005.bin)" && ln -s ../../victim/holiday.jpg "$class/00000005.bin"
linked "${class#g/}/00000005.bin"
new_gen # unfinished
rm g/.dlbench-manifest.json && ln -s ../victim/holiday.jpg g/.shard.part
printf '{"params": {}}' >g/.dlbench-incomplete
linked .shard.part
mkdir fresh && echo thesis >fresh/.dlbench-thesis
expect_error E_TARGET_FOREIGN 2 "$dlbench" gen --set dataset.path=fresh "${raw[@]}"
expect grep -q thesis fresh/.dlbench-thesis
rm -rf g victim fresh
ln -s nowhere g
expect_error E_TARGET_FOREIGN 2 "$dlbench" gen --set dataset.path=g "${raw[@]}"
expect [ -L g ]
rm g
mkdir -p elsewhere && ln -s elsewhere g # the folder itself may be a link
run "$dlbench" gen --set dataset.path=g "${raw[@]}"
expect_exit 0
expect [ "$(find elsewhere -name '*.bin' | wc -l)" -eq 8 ]
rm "$(find elsewhere -name 00000005.bin)"
run "$dlbench" gen --set dataset.path=g "${raw[@]}"
expect_exit 0
expect [ "$(find elsewhere -name '*.bin' | wc -l)" -eq 8 ]
rm -rf g elsewhere

# --- what looks like the folder of a killed convert keeps what convert did not write
mkdir -p dst.part-78 dst.part-79/dst/class_000001 dst.part-80/dst victim
echo thesis | tee dst.part-78/thesis.txt >victim/thesis.txt
: >dst.part-78/.dlbench-convert # a mark that cannot be read
ln -s victim dst.part-81
{ printf '%-40s%-40s%-256s' id "$(cat /proc/sys/kernel/random/boot_id)" "$(uname -n)" | tr ' ' '\0'; } >mark
for pid in 79 80 81; do cp mark dst.part-$pid/.dlbench-convert; done
echo thesis >dst.part-79/dst/thesis.txt && echo sample >dst.part-79/dst/class_000001/00000001.bin
ln -s ../../../victim dst.part-79/dst/class_000002
echo sample >dst.part-80/dst/shard-000001.tar && mkdir dst.part-80/dst.share-3 && echo 1 >dst.part-80/dst.share-3/kept
run "$dlbench" convert src dst --format files
expect_exit 0
expect_err '^convert: .*\./dst\.part-79 '
expect_file dst.part-78/thesis.txt
expect_file dst.part-79/dst/thesis.txt
expect [ -L dst.part-79/dst/class_000002 ]
expect_no_file dst.part-79/dst/class_000001
expect_no_file dst.part-80
expect_file victim/thesis.txt
expect_file victim/.dlbench-convert
rm -rf dst dst.part-*

finish
