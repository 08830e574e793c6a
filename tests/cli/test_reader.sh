#!/usr/bin/env bash
# What gen and convert write, judged by a reader that shares no code with them (tests/support/reader.py): every format that gen
# writes, every pair of formats that convert takes, and sources that others made (tests/support/foreign.py).
# Each conversion is synced to its disk; a disk that others write to makes that a matter of minutes.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/support/run.sh"

choose_python numpy h5py lmdb zstandard || skip "no Python here has numpy, h5py, lmdb and zstandard: run scripts/deps --dev"
export PYTHONDONTWRITEBYTECODE=1
for module in format:webdataset format:hdf5 format:lmdb format:npz codec:jpeg codec:zstd; do
    has_module "${module%:*}" "${module#*:}" || skip "this build lacks the $module"
done
support=$DLB_SOURCE_DIR/tests/support
n_samples=24 n_classes=3

# Each source: name in $sources, and by name its format, how reader.py is told of it, and what convert is told.
declare -A format_of data_of settings_of
sources=()
source_is() { # name, format, options of the reader or "-", SECTION.KEY=VALUE...
    local name=$1 format=$2 data=$2:$1 setting
    [ "$3" = - ] || data+=,$3
    shift 3
    sources+=("$name")
    format_of[$name]=$format data_of[$name]=$data settings_of[$name]=
    for setting in "$@"; do settings_of[$name]+="--set $setting "; done
}

# --- gen: every format, plain and in each variant that is stored differently
generated() { # name, format, codec, options of the reader or "-", SECTION.KEY=VALUE...
    local name=$1 codec=$3
    source_is "$1" "$2" "${@:4}"
    # shellcheck disable=SC2086
    run "$dlbench" gen --set dataset.format="$2" --set dataset.codec="$codec" --set dataset.path="$1" --set generate.seed=14 \
        --set generate.samples=$n_samples --set generate.classes=$n_classes --set generate.sample_bytes=3001 ${settings_of[$name]}
    expect_exit 0
    run "$dlbench" inspect "$name" --json
    expect_exit 0
    cp "$out" "$name.json"
    echo "generated ${data_of[$name]} $n_samples $n_classes" >>jobs
    [ "$2" = tokens ] || echo "decodes ${data_of[$name]} $codec 3001" >>jobs
    echo "inspected ${data_of[$name]%,feature=*} $name.json" >>jobs # of records: inspect is told of no feature
}
seven=webdataset.shard_samples=7
generated raw.files files raw -
generated raw.tar webdataset raw - $seven
generated raw.tar.gz webdataset raw - $seven webdataset.compression=gz
generated raw.tar.zst webdataset raw - $seven webdataset.compression=zst
generated raw.lmdb lmdb raw -
generated raw.npz npz raw -
generated raw.tfrecord tfrecord raw - tfrecord.shard_samples=7
generated raw.example tfrecord raw feature=image/encoded tfrecord.shard_samples=7 tfrecord.feature=image/encoded
generated raw.h5 hdf5 raw -
generated raw.flat.h5 hdf5 raw - hdf5.chunk_samples=0
for name in "${sources[@]:1}"; do echo "same ${data_of[raw.files]} ${data_of[$name]}" >>jobs; done
for filter in deflate shuffle+deflate lzf shuffle+lzf; do
    generated raw.$filter.h5 hdf5 raw - hdf5.chunk_samples=5 hdf5.filter=$filter
    echo "same ${data_of[raw.deflate.h5]} ${data_of[raw.$filter.h5]}" >>jobs
done
for codec in jpeg zstd npy; do # photographs, whose sizes differ; each sample compressed; each an array
    generated $codec.files files $codec -
    generated $codec.tar webdataset $codec - $seven
    generated $codec.h5 hdf5 $codec -
    for format in tar h5; do echo "same ${data_of[$codec.files]} ${data_of[$codec.$format]}" >>jobs; done
done
generated jpeg.lmdb lmdb jpeg -
generated jpeg.tfrecord tfrecord jpeg - tfrecord.shard_samples=7
for format in lmdb tfrecord; do echo "same ${data_of[jpeg.files]} ${data_of[jpeg.$format]}" >>jobs; done
for layout in raw llmc megatron npy; do
    generated tokens.$layout tokens raw layout=$layout tokens.layout=$layout tokens.file_tokens=10000
    echo "same ${data_of[tokens.raw]} ${data_of[tokens.$layout]}" >>jobs
done
generated tokens.u32 tokens raw layout=npy tokens.layout=npy tokens.dtype=u32

# --- sources of others
mkdir foreign
run "$PYTHON" "$support/foreign.py" foreign
expect_exit 0
while read -r name format read settings; do
    # shellcheck disable=SC2086
    source_is "foreign/$name" "$format" "$read" $settings
done <"$out"

# --- every source to every format: the same samples, or an error and nothing left
pair() { # source, format, name, options of the target
    local source=$1 format=$2 target="to/${1//\//.}.$3"
    shift 3
    # shellcheck disable=SC2086
    run "$dlbench" convert "$source" "$target" --from "${format_of[$source]}" --format "$format" --set dataset.codec=raw \
        ${settings_of[$source]} "$@" --json
    if [ "$refusal" = none ]; then
        expect_exit 0
        [ "$code" -eq 0 ] || return
        n_pairs=$((n_pairs + 1))
        cp "$out" "$target.json"
        echo "converted ${data_of[$source]} $format:$target $target.json" >>jobs
        [ -z "$DLB_SANITIZE" ] || return # the sources were inspected
        run "$dlbench" inspect "$target" --json
        expect_exit 0
        cp "$out" "$target.inspect.json"
        echo "inspected $format:$target $target.inspect.json" >>jobs
        return
    fi
    case $refusal in E_SAMPLE_FIELD_NAME_LONG) expect_exit 3 ;; *) expect_exit 2 ;; esac
    expect_code "$refusal"
    [ -z "$(compgen -G "$target*")" ] || failed "left: $(ls -d "$target"*)"
}
mkdir to
n_pairs=0
for source in "${sources[@]}"; do
    refusal=none
    [ "$source" = foreign/tar_long ] && refusal=E_SAMPLE_FIELD_NAME_LONG # its fields' names are too long to be kept
    [ "$source" = foreign/tar_fields ] && refusal=E_SAMPLE_FIELDS_UNFIT # these formats hold one field
    pair "$source" hdf5 h5
    pair "$source" hdf5 packed.h5 --set hdf5.chunk_samples=5 --set hdf5.filter=shuffle+deflate
    pair "$source" lmdb lmdb
    [ "$source" = foreign/tar_fields ] && refusal=none
    pair "$source" files files
    pair "$source" webdataset tar --set $seven
done
pair jpeg.files webdataset tar.gz --set webdataset.compression=gz
pair jpeg.files webdataset tar.zst --set webdataset.compression=zst
expect [ "$n_pairs" -gt 150 ]
for source in "${sources[@]}"; do # in each way that the source can be read
    case ${format_of[$source]} in
    hdf5) ways="library chunks" ;;
    tokens) ways="mmap pread" ;;
    webdataset) ways=indexed ;;
    *) continue ;;
    esac
    case $source in *tar.gz | *tar.zst | *tar_gz | *tar_zst) continue ;; esac # cannot be sought
    refusal=none
    [ "$source" = foreign/tar_long ] && refusal=E_SAMPLE_FIELD_NAME_LONG
    for way in $ways; do
        pair "$source" webdataset "$way.tar" --set $seven --set dataset.access="$way"
    done
done

refusal=E_CONVERT_FORMAT_UNFIT
for format in npz tfrecord tokens memory synthetic; do
    for source in raw.files raw.tar raw.lmdb raw.npz raw.tfrecord raw.h5 tokens.raw; do pair $source $format refused; done
done
refusal=E_CONVERT_NOTHING_STORED
for source in memory synthetic; do
    format_of[$source]=$source settings_of[$source]=
    for format in files webdataset hdf5 lmdb; do pair $source $format refused; done
done

# --- the reader finds what is planted: in copies of what was converted and generated
planted() { # path, copy, the check that then fails
    cp -r "$1" "$2"
    shift 2
    echo "differs $*" >>jobs
}
from=${data_of[raw.files]} json=to/raw.files.files.json
planted to/raw.files.files swapped converted "$from" files:swapped $json
mapfile -t two < <(find swapped/class_000001 -type f)
mv "${two[0]}" other && mv "${two[1]}" "${two[0]}" && mv other "${two[1]}"
planted to/raw.files.files moved converted "$from" files:moved $json
mv "$(find moved/class_000001 -type f | head -n 1)" moved/class_000002/
planted to/raw.files.files renamed converted "$from" files:renamed $json
for file in renamed/class_000000/*; do mv "$file" "${file%.bin}.jpg"; done
planted to/raw.files.tar fewer converted "$from" webdataset:fewer $json
rm fewer/shard-000003.tar
planted to/raw.files.lmdb flipped converted "$from" lmdb:flipped $json
"$PYTHON" - flipped/data.mdb raw.files/class_0000/00000001.bin <<'PY'
import sys
data, sample = (open(path, "rb").read() for path in sys.argv[1:])
at = data.index(sample) + 3000
open(sys.argv[1], "wb").write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
PY
planted raw.tfrecord cut generated tfrecord:cut $n_samples $n_classes
truncate -s -1 cut/shard-000003.tfrecord
planted raw.tfrecord crc generated tfrecord:crc $n_samples $n_classes
printf 'x' | dd of=crc/shard-000001.tfrecord bs=1 seek=100 conv=notrunc 2>dd.log
planted raw.npz zip generated npz:zip $n_samples $n_classes
printf 'x' | dd of=zip/data.npz bs=1 seek=1000 conv=notrunc 2>dd.log
planted tokens.megatron index generated tokens:index,layout=megatron $n_samples $n_classes
truncate -s -8 index/tokens-000000.idx

last='reader.py check jobs'
timeout "$limit_s" "$PYTHON" "$support/reader.py" check jobs >"$out" 2>"$err"
code=$?
expect_exit 0
finish
