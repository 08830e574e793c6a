#!/usr/bin/env bash
# convert invents nothing: payloads, labels and names that the source lacks, or would lose, are refused or named.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

has_module format webdataset || skip "this build has no format webdataset"
command -v python3 >/dev/null || skip "python3 is not installed"

cat >tars.py <<'PY'
import io, os, tarfile
def tar(name, members):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with tarfile.open(name, "w") as file:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
def sample(key, *fields):
    return [("%s.%s" % (key, field), field.encode() if field != "cls" else b"%d" % (ord(key[-1]) % 7)) for field in fields]
keys = "abcdefgh"
full = [m for k in keys for m in sample(k, "jpg", "cls")]
tar("full.tar", full)
tar("no_jpg.tar", [m for m in full if m[0] != "e.jpg"])
tar("only_json.tar", [m for k in keys for m in sample(k, "json", "cls")])
tar("json_late.tar", [m for k in keys for m in sample(k, "json" if k == "e" else "jpg", "cls")])
tar("json_early.tar", [m for k in keys for m in sample(k, "json" if k < "c" else "jpg", "cls")])
tar("no_cls.tar", [m for m in full if m[0] != "e.cls"])
tar("first_no_cls.tar", full[:1] + full[2:])
tar("no_labels.tar", [m for m in full if not m[0].endswith("cls")])
tar("class_0.tar", [(n, b"0" if n.endswith("cls") else d) for n, d in full])
tar("large_label.tar", [(n, b"3000000000" if n.endswith("cls") else d) for n, d in full])
tar("words.tar", [(n, b"cat" if n.endswith("cls") else d) for n, d in full])
tar("apart.tar", [m for m in full if m[0].endswith("jpg")] + [m for m in full if m[0].endswith("cls")])
tar("twice.tar", full + full[4:6])
tar("halves/0.tar", [m for m in full if m[0].endswith("jpg")])
tar("halves/1.tar", [m for m in full if m[0].endswith("cls")])
tar("png/0.tar", [m for m in full if m[0].endswith("jpg")])
tar("png/1.tar", [(n[:2] + "png", d) for n, d in full if n.endswith("jpg")])
tar("same_keys/0.tar", full)
tar("same_keys/1.tar", full)
n = 62
tar("long_name.tar", [m for k in keys for m in sample(k, "l" * n, "cls")])
tar("longer_name.tar", [m for k in keys for m in sample(k, "l" * (n + 1), "cls")])
tar("names_alike.tar", [m for k in keys for m in sample(k, "segmentation_map_left", "segmentation_map_right", "cls")])
eight = ["f%d" % i for i in range(8)]
tar("eight.tar", [("%s.%s" % (k, f), (k + f).encode()) for k in keys for f in eight])
tar("eight_cls.tar", [m for k in keys for m in sample(k, *eight[:7], "cls")])
tar("bin.tar", [m for k in keys for m in [(k + ".", b"1"), (k + ".bin", b"2"), (k + ".cls", b"1")]])
tar("spaces.tar", [m for k in keys for m in sample(k, "a b", "a_b", "j\u00e9", "cls")])
tar("control.tar", [m for k in keys for m in sample(k, "a\x1bb", "cls")])
tar("nameless.tar", full + [("README", b"text")])
PY
python3 tars.py

formats=
for format in webdataset files hdf5 lmdb; do has_module format $format && formats="$formats $format"; done

refused() { # code, exit code, arguments of convert: SOURCE and further options
    local wanted=$1 exit_code=$2 source=$3
    shift 3
    rm -rf made
    expect_error "$wanted" "$exit_code" "$dlbench" convert "$source" made "$@" --json
    expect [ -z "$(find . -maxdepth 1 -name 'made*')" ]
}
says() { expect_json "d['error']['path'].endswith('$1') and re.search(r'$2', d['error']['text'])"; }
converted() { # SOURCE, format, number of samples, further options
    local source=$1 format=$2 n=$3
    shift 3
    rm -rf made
    run "$dlbench" convert "$source" made --format "$format" --json "$@"
    expect_exit 0
    expect_json "d['samples'] == d['verified'] == $n"
}

# --- a sample that has nothing but its label has no payload
for format in $formats; do
    refused E_SAMPLE_NO_PAYLOAD 3 no_jpg.tar --format "$format"
    says no_jpg.tar '\be\b.*cls'
    # ... as little as one that has a description in the place of what others have
    refused E_SAMPLE_NO_PAYLOAD 3 json_late.tar --format "$format"
    says json_late.tar '\be\b.*json'
    refused E_SAMPLE_NO_PAYLOAD 3 json_early.tar --format "$format"
    says json_early.tar '\ba\b.*json'
    converted only_json.tar "$format" 8
    converted full.tar "$format" 8
    expect_json 'd["unlabelled"] == 0'
done
for format in $formats; do
    converted no_jpg.tar "$format" 7 --set dataset.on_error=skip
    expect_json 'd["skipped_samples"] == 1 and d["cut_shards"] == 0 and d["skipped"][0].endswith(" [E_SAMPLE_NO_PAYLOAD]")'
    converted json_late.tar "$format" 7 --set dataset.on_error=skip
done
refused E_SAMPLE_NO_PAYLOAD 3 json_early.tar --format webdataset --set dataset.on_error=skip

# --- labels: webdataset keeps those that there are, others need all of them or none
for source in no_cls first_no_cls; do
    for format in $formats; do
        [ "$format" = webdataset ] && continue
        refused E_SAMPLE_NO_LABEL 2 $source.tar --format "$format"
        [ $source = no_cls ] && says no_cls.tar '\be\b'
        [ $source = first_no_cls ] && says first_no_cls.tar '\ba\b'
    done
    converted $source.tar webdataset 8
    expect_json 'd["unlabelled"] == 1'
    expect [ "$(tar tf made/shard-000000.tar | grep -c '\.cls$')" -eq 7 ]
    rm -rf made
    run "$dlbench" convert $source.tar made --format webdataset
    expect_out '^  unlabelled: 1 '
done
for format in $formats; do
    converted no_labels.tar "$format" 8
    expect_json 'd["unlabelled"] == 8'
    case $format in
        webdataset) expect [ "$(tar tf made/shard-000000.tar | grep -c cls)" -eq 0 ] ;;
        files) expect [ -z "$(find made -mindepth 1 -type d)" ] && expect [ "$(find made -name 'sample_*.jpg' | wc -l)" -eq 8 ] ;;
    esac
    run "$dlbench" inspect made --json
    expect_exit 0
    expect_json 'd["samples"] == 8'
    [ "$format" = files ] || expect_json 'd["classes"] == 0'
    # There and back: still without labels, still the same bytes.
    rm -rf back
    run "$dlbench" convert made back --format webdataset --json
    expect_exit 0
    expect_json 'd["samples"] == d["unlabelled"] == 8'
    expect [ "$(tar xOf back/shard-000000.tar | sha256sum)" = "$(tar xOf no_labels.tar | sha256sum)" ]
    # What convert wrote, it replaces.
    run "$dlbench" convert no_labels.tar made --format "$format" --overwrite
    expect_exit 0
    # Labels that are all 0 are labels.
    converted class_0.tar "$format" 8
    expect_json 'd["unlabelled"] == 0'
    rm -rf back
    run "$dlbench" convert made back --format webdataset --json
    expect_json 'd["samples"] == 8 and d["unlabelled"] == 0'
done
for format in webdataset files; do # a word is not a class number; it stays in its field
    converted words.tar $format 8
    expect_json 'd["unlabelled"] == 8'
    expect [ -z "$(find made -name 'class_*')" ]
done
expect [ "$(cat made/sample_00000003.cls)" = cat ]

# --- members of a sample that are not adjacent, and keys that occur twice
for format in $formats; do
    refused E_SAMPLE_KEY_TWICE 3 apart.tar --format "$format"
    says apart.tar '"a"'
    refused E_SAMPLE_KEY_TWICE 3 twice.tar --format "$format" --set dataset.access=indexed
    says twice.tar '"c"'
done
refused E_SAMPLE_KEY_TWICE 3 halves --format webdataset
says 1.tar '"a"'
converted same_keys webdataset 16 # other samples of other shards
expect_json 'd["forgotten_keys"] == 0'
converted png webdataset 16

# --- ways of access that the source's format does not have are refused; one that is not used is named
for access in mmap library; do
    refused E_DATASET_ACCESS_UNFIT 2 full.tar --format files --set dataset.access=$access
done
converted full.tar files 8 --set dataset.access=indexed
expect_err '^convert: dataset\.access = "indexed"'
for access in auto stream; do
    converted full.tar files 8 --set dataset.access=$access
    expect_no_err 'dataset\.access'
done

# --- names of fields are whole, or refused
converted long_name.tar webdataset 8
expect [ "$(tar tf made/shard-000000.tar | grep -cE '\.l{62}$')" -eq 8 ]
converted long_name.tar files 8
expect [ "$(find made -name '*.l*' | grep -cE '\.l{62}$')" -eq 8 ]
converted names_alike.tar webdataset 8
expect [ "$(tar tf made/shard-000000.tar | grep -cE '\.segmentation_map_(left|right)$')" -eq 16 ]
converted names_alike.tar files 8
expect [ "$(find made -type f | grep -cE '[0-9]\.segmentation_map_(left|right)$')" -eq 16 ]
for format in $formats; do
    refused E_SAMPLE_FIELD_NAME_LONG 3 longer_name.tar --format "$format"
    says longer_name.tar 'lll.*\b62\b'
done

# --- as many fields as are read: with the same bytes, and no label that is not there
for source in eight eight_cls; do
    converted $source.tar webdataset 8
    expect_json "d['unlabelled'] == $([ $source = eight ] && echo 8 || echo 0)"
    expect [ "$(tar xOf made/shard-000000.tar | sha256sum)" = "$(tar xOf $source.tar | sha256sum)" ]
    expect [ "$(tar tf made/shard-000000.tar | sed 's/^[0-9]*//' | sort | uniq -c)" = \
        "$(tar tf $source.tar | sed 's/^[a-h]//' | sort | uniq -c)" ]
done
converted eight.tar files 8
expect [ "$(find made -name 'sample_*.f[0-7]' | wc -l)" -eq 64 ]

# --- names of files are the fields' own; two of one name, and what no file should be called, are refused
converted spaces.tar files 8
for name in 'a b' 'a_b' 'jé'; do expect [ "$(find made -name "*[0-9].$name" | wc -l)" -eq 8 ]; done
for format in webdataset files; do
    refused E_SAMPLE_FIELD_NAMES 3 bin.tar --format $format # what has no name is called bin
    says bin.tar '"bin"'
done
refused E_SAMPLE_FIELD_NAMES 3 control.tar --format files

# --- a folder in which files are fields of one sample: each is a sample, which is said, or refused
mkdir fields labels
for k in a b c; do
    echo "image $k" >fields/$k.jpg && echo "text $k" >fields/$k.txt
    echo "image $k" >labels/$k.jpg && echo 1 >labels/$k.cls
done
for format in $formats; do
    converted fields "$format" 6 --from files --set dataset.codec=raw
    expect_json 'd["n_odd"] == 1 and re.search(r"\b3\b", d["odd"][0])'
    refused E_SAMPLE_NO_PAYLOAD 3 labels --format "$format" --from files --set dataset.codec=raw
    says labels/a.cls cls
done

# --- a label that is too large for a folder: which sample
refused E_SAMPLE_LABEL_UNFIT 2 large_label.tar --format files
says large_label.tar 3000000000

# --- tokens that fill no window, each file's own
python3 - <<'PY'
import os
os.mkdir("tokens")
for name, n in ("a", 100), ("b", 33), ("c", 5), ("d", 64):
    open("tokens/%s.bin" % name, "wb").write(bytes(2 * n))
PY
for format in $formats; do
    converted tokens "$format" 8 --from tokens --set tokens.layout=raw --set tokens.seq_len=21
    expect_json 'd["left_out_tokens"] == 15 + 11 + 5' # windows begin at the last token of the one before
    converted tokens "$format" 8 --from tokens --set tokens.layout=raw --set tokens.seq_len=21 --set tokens.sampling=random
    expect_json 'd["left_out_tokens"] is None'
done
rm -rf made
run "$dlbench" convert tokens made --from tokens --format webdataset --set tokens.layout=raw --set tokens.seq_len=21
expect_err '^convert: left out: 31 '
expect_no_out 'left out' # once
head -c 86 tokens/d.bin >whole.bin # two windows of 22 that share a token
converted whole.bin webdataset 2 --from tokens --set tokens.layout=raw --set tokens.seq_len=21
expect_json 'd["left_out_tokens"] == 0'
expect_no_err 'left out'

# --- numbers: a target that holds bytes says that their type is lost
if has_module format npz; then
    for type in '|u1' '>f2' '<f2' '<f4'; do
        python3 - "$type" <<'PY'
import sys
header = ("{'descr': '%s', 'fortran_order': False, 'shape': (8, 3, 4), }" % sys.argv[1]).ljust(117).encode() + b"\n"
data = bytes(range(96)) * int(sys.argv[1][2])
open("rows.npy", "wb").write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)
PY
        lost=None
        [[ $type != '<'* ]] || lost="'f$((8 * ${type:2}))'"
        for format in $formats; do
            converted rows.npy "$format" 8
            expect_json "d['numbers_lost'] == $([ "$format" = hdf5 ] && echo None || echo "$lost")"
            expect_json "d['n_odd'] == $([ "$type" = '>f2' ] && echo 1 || echo 0)" # a type that has no name here
        done
    done
    rm -rf made
    run "$dlbench" convert rows.npy made --format webdataset
    expect_out '^  numbers: .*f32'
fi

# --- records: what is not read of the chosen features is refused; other features are named
python3 "$DLB_SOURCE_DIR/tests/support/examples.py"
records() { # folder: converted or refused with these options
    rm -rf made
    run "$dlbench" convert "$1" made --from tfrecord --format webdataset --set tfrecord.feature=image/encoded --json
}
records plain
expect_exit 0
expect_json 'd["samples"] == 3 and d["unlabelled"] == 0 and d["n_odd"] == 0'
records more
expect_exit 0
expect_json 'd["samples"] == 3 and d["n_odd"] == 1 and "text" in d["odd"][0]'
records kind_before # of a feature the last kind counts
expect_exit 0
expect_json 'd["samples"] == 3 and d["unlabelled"] == 0'
for name in negative large several text fraction images label_pieces image_pieces kind_after; do
    records $name
    expect_failed E_SAMPLE_PARTLY_READ 3
    expect_json "d['error']['path'].endswith('$name/a.tfrecord') and d['error']['offset'] > 0"
    expect_no_file made
    run "$dlbench" convert $name made --from tfrecord --format webdataset --set tfrecord.feature=image/encoded --json \
        --set dataset.on_error=skip
    expect_exit 0
    expect_json 'd["samples"] == 2 and d["skipped_samples"] == 1'
    converted $name webdataset 3 --from tfrecord # whole records
done
records some # no label is no loss
expect_exit 0
expect_json 'd["samples"] == 3 and d["unlabelled"] == 1'

# --- what is left out is named before anything is written
rm -rf made
run "$dlbench" convert nameless.tar made --format webdataset
expect_exit 0
expect_err '^convert: odd: 1 .*"README".*nameless\.tar'
expect_no_out 'README'
rm -rf made

# --- a wrong list of samples is not believed
run "$dlbench" convert full.tar made --format webdataset
expect_exit 0
sed -i -E 's/"samples": [0-9]+,/"samples": 9,/' made/.dlbench-manifest.json # there could be so many
run "$dlbench" convert made again --format webdataset # the shard is counted instead
expect_exit 0
expect_out '^again: 8 samples'
expect_err '^convert: odd: .*\bmade/\.dlbench-manifest\.json\b'
rm -rf made again
run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=made --set dataset.codec=raw --set generate.samples=30 \
    --set generate.sample_bytes=300 --set webdataset.shard_samples=1
expect_exit 0
python3 - <<'PY'
import json
m = json.load(open("made/.dlbench-manifest.json"))
m["shards"]["shard-000029.tar"].update(bytes=20, max_sample_bytes=20) # opening looks at others
json.dump(m, open("made/.dlbench-manifest.json", "w"))
PY
expect_error E_SOURCE_CHANGED 3 "$dlbench" convert made again --format webdataset
expect_err 'made/\.dlbench-manifest\.json: .*shard-000029\.tar'
expect_no_file again

finish
