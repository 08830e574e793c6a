#!/usr/bin/env bash
# The list of what gen wrote into a folder holds nothing else: what somebody put there is not listed, replaced or removed.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

raw=(--set dataset.codec=raw --set generate.sample_bytes=64 --set generate.samples=40 --set generate.classes=3)
run "$dlbench" gen --set dataset.path=src "${raw[@]}"
expect_exit 0

# A file that gen did not write stays, whatever gen and convert do afterwards.
foreign() { # format, the file, another file to damage, flags of gen...
    local format=$1 mine=$2 lost=$3 gen
    shift 3
    gen=("$dlbench" gen --set dataset.format="$format" --set dataset.path=t "${raw[@]}" "$@")
    run "${gen[@]}"
    expect_exit 0
    cp t/.dlbench-files whole
    if [ "$format" = files ]; then echo 'my own' >"t/$mine"; else cp "$lost" "t/$mine"; fi
    sha=$(sha256sum "t/$mine")
    rm "$lost"
    expect_error E_TARGET_FOREIGN 2 "${gen[@]}"
    expect_err "^dlbench: t/$mine: .* (41|50) "
    expect_file "$lost"
    expect cmp whole t/.dlbench-files
    expect [ "$(sha256sum "t/$mine")" = "$sha" ]
    truncate -s 5 "t/$mine"
    run "${gen[@]}"
    expect_no_err '^gen: 1 .*damaged'
    expect [ "$(stat -c %s "t/$mine")" = 5 ]
    expect_error E_TARGET_FOREIGN 2 "$dlbench" convert src t --format files --overwrite
    expect_err "\"$mine\""
    # An older dlbench listed it: it is not replaced, and the next gen lists its own files again.
    sed -i "1a5 $mine" t/.dlbench-files
    expect_error E_TARGET_FOREIGN 2 "$dlbench" convert src t --format files --overwrite
    expect_err "\"$mine\""
    expect_file "t/$mine"
    truncate -s 6 "t/$mine"
    run "${gen[@]}"
    expect_no_err '^gen: 1 .*damaged'
    expect [ "$(stat -c %s "t/$mine")" = 6 ]
    expect cmp whole t/.dlbench-files
    mv "t/$mine" kept
    run "${gen[@]}"
    expect_exit 0
    expect_out 'already complete'
    rm -rf t
}
lost=$(cd src && find . -name 00000002.bin) lost=t${lost#.}
for mine in class_0000/00009999.bin class_0000/00000040.bin class_0000/000000003.bin class_0000/00000001.txt; do
    foreign files $mine "$lost"
done
foreign_shards() { # format, end, the file
    has_module format "$1" && foreign "$1" "$3" "t/shard-000002$2" --set "$1.shard_samples=10"
}
for mine in shard-000777.tar shard-0000001.tar shard-000001.tar.gz; do foreign_shards webdataset .tar $mine; done
for mine in shard-000777.tfrecord shard-000004.tfrecord; do foreign_shards tfrecord .tfrecord $mine; done

# Of several such files the one that counts is named, whatever else is there, and however the folder is written.
counts() { # what is read of it (a regex), the path of the folder
    expect_error E_TARGET_FOREIGN 2 "$dlbench" gen --set dataset.path="$2" "${of[@]}"
    expect_err "^dlbench: $2/?$1: .* (41|50|5[0-9]) .* 40[; ]"
}
beside() { # files that are no samples, in the folder t
    mkdir -p t/.git t/0.git
    for file in README.txt AAA .git/HEAD 0.git/HEAD; do echo text >"t/$file"; done
}
if has_module format webdataset; then
    of=(--set dataset.format=webdataset --set webdataset.shard_samples=10 "${raw[@]}")
    run "$dlbench" gen --set dataset.path=t "${of[@]}"
    expect_exit 0
    beside
    cp t/shard-000001.tar t/.shard-000004.tar
    cp t/shard-000001.tar t/extra.tar
    for path in t t/ ./t "$PWD/t"; do counts extra.tar "$path"; done
    rm t/extra.tar
    # A link is such a file, too. The data behind it are whole.
    for mine in more.tar shard-000007.tar; do
        ln -s shard-000000.tar "t/$mine"
        counts "$mine" t
        rm "t/$mine"
    done
    run "$dlbench" gen --set dataset.path=t "${of[@]}"
    expect_exit 0
    expect_out 'already complete'
    rm -rf t
fi
of=(--set dataset.format=files "${raw[@]}")
run "$dlbench" gen --set dataset.path=t "${of[@]}"
expect_exit 0
mkdir t/.git
cp "src${lost#t}" t/.git/00000001.bin
cp "src${lost#t}" t/class_0001/mine.bin
for path in t t/ "$PWD/t"; do counts class_0001/mine.bin "$path"; done
rm t/class_0001/mine.bin
ln -s "../${lost#t/}" t/class_0001/mine.bin
counts class_0001/mine.bin t
rm t/class_0001/mine.bin
ln -s ../src/class_0001 t/class_0009 # not a file in it: that one is where it belongs
for path in t t/; do counts class_0009 "$path"; done
rm -rf t

# Of complete data only the list is written again, if it names others' files, and where it cannot be written the data are complete, too.
of=(--set dataset.path=t --set dataset.format=files "${raw[@]}")
run "$dlbench" gen "${of[@]}"
expect_exit 0
cp t/.dlbench-files whole
sed '1a5 class_0000/00009999.bin' whole >t/.dlbench-files
cp t/.dlbench-files older
chmod a-w t
run_unprivileged "$dlbench" gen "${of[@]}"
chmod u+w t
expect_exit 0
expect_out 'already complete'
expect cmp older t/.dlbench-files
run "$dlbench" gen "${of[@]}"
expect_exit 0
expect_out 'already complete'
expect cmp whole t/.dlbench-files
# What is lost is written again in any case.
cp older t/.dlbench-files
rm "$lost"
run "$dlbench" gen "${of[@]}"
expect_exit 0
expect_err '^gen: 1 .*damaged'
expect cmp whole t/.dlbench-files
rm -rf t

# All that gen made is listed, whatever the format and the codec.
all_listed() { # flags of gen...
    run "$dlbench" gen --set dataset.path=t --set generate.samples=40 --set generate.sample_bytes=8000 --set generate.classes=7 "$@"
    has_code "E_MISSING" && return # a format or a codec that this build lacks
    expect_exit 0
    tail -n +2 t/.dlbench-files | cut -d' ' -f2- | LC_ALL=C sort >listed
    (cd t && find . -type f ! -name '.*' | cut -c3- | LC_ALL=C sort) >there
    expect cmp listed there
    run "$dlbench" convert src t --format files --overwrite # all of it is known as dlbench's
    expect_exit 0
    rm -rf t
}
for codec in raw jpeg image audio zstd npy; do
    for format in files webdataset tfrecord; do all_listed --set dataset.format=$format --set dataset.codec=$codec; done
done
for format in hdf5 lmdb npz; do all_listed --set dataset.format=$format --set dataset.codec=raw; done
for layout in raw npy llmc megatron; do
    all_listed --set dataset.format=tokens --set dataset.codec=raw --set tokens.layout=$layout --set tokens.file_tokens=10000
done
for pack in gz zst; do all_listed --set dataset.format=webdataset --set dataset.codec=raw --set webdataset.compression=$pack; done

finish
