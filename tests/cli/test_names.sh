#!/usr/bin/env bash
# Names from outside reach the terminal escaped: no byte of theirs moves the cursor, sets a title or starts a line, and what is
# printed is UTF-8. In JSON a name is unchanged, with \xHH for bytes that are not valid UTF-8.
. "$(dirname "$0")/lib.sh"

text=$'a\e]0;title\a\e[2J\nforged: line\r\x7f\xc2\x9b2J' # valid UTF-8: for values of the configuration
name=$text$'\xff'
shown='a\x1b]0;title\x07\x1b[2J\x0aforged: line\x0d\x7f\xc2\x9b2J'
few=(--set loader.batch_size=2 --set device.step_ms=0 --set run.repeats=1 --set loader.num_workers=0)

# UTF-8, without control characters but newlines, and without a line that begins as the name's second one does.
clean() {
    iconv -f UTF-8 -t UTF-8 "$@" >/dev/null || failed "no UTF-8 in one of: $*"
    ! LC_ALL=C grep -Paq '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^forged' "$@" || failed "printed raw in one of: $*"
}

# each EXIT CMD...: as it stands and with --json, where the verb has that.
each() {
    local wanted=$1
    shift
    run "$@" --json
    expect_exit "$wanted"
    clean "$out" "$err"
    expect_json
    run "$@"
    expect_exit "$wanted"
    clean "$out" "$err"
}
shows() { grep -Fq -- "${1:-$shown}" "$out" "$err" || failed "should be shown: ${1:-$shown}"; }
# names EXPRESSION: of the last document, in which `name` is the name as JSON holds it and back(text) the bytes it stands for.
names() {
    NAME=$name python3 - "$tmp/.doc" "$1" <<'PY' 2>"$tmp/.py" || failed "not so: $1: $(tail -n 1 "$tmp/.py")"
import json, os, re, sys
d = json.load(open(sys.argv[1]))
raw = os.environb[b"NAME"]
name = raw.decode(errors="backslashreplace")
back = lambda text: re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), text.encode())
assert eval(sys.argv[2])
PY
}
document() { # keeps the document of a command
    run "$@" --json
    cp "$out" "$tmp/.doc"
}

# --- words of the command line ---
run "$dlbench" help "$name"
expect_exit 2
clean "$out" "$err"
shows '\x1b]0;title\x07\x1b[2J\x0aforged'
each 2 "$dlbench" "$name"
each 2 "$dlbench" run --set "dataset.$text=1"
each 2 "$dlbench" run --set "dataset.codec=$text"
each 2 "$dlbench" run --config "$name.toml"
for verb in run sweep storage gen gap; do
    each 2 "$dlbench" "$verb" --set "$name=1"
    each 2 "$dlbench" "$verb" "$name"
done
for verb in convert inspect report doctor; do
    each 2 "$dlbench" "$verb" "--$name"
done
each 2 "$dlbench" gap --python "$name"
each 2 "$dlbench" run --results "" --run-name "$name"
each 2 "$dlbench" run --run-name "$name/b"
each 0 "$dlbench" doctor

# --- a configuration's keys, values and name ---
printf '[dataset]\n"k\\u001b]0;x\\u0007\\u009b\\nforged\\u007f" = 1\n' >"$name.toml"
each 2 "$dlbench" run --config "$name.toml"
shows '\x1b]0;x\x07\xc2\x9b\x0aforged\x7f'
printf '[dataset]\nformat = "\\u001b[2J\\u009b\\nforged"\n' >"$name.toml"
each 2 "$dlbench" run --config "$name.toml"
printf 'x = \033[2J\233\nforged = = 1\n' >"$name.toml"
each 2 "$dlbench" run --config "$name.toml"
printf '[dataset]\nformat = "synthetic"\ncodec = "raw"\n[generate]\nsamples = 32\nsample_bytes = 64\n[loader]\nprefetch_factor = 3\n' \
    >"$name.toml"
run "$dlbench" run --config "$name.toml" "${few[@]}" --run-name noted
expect_exit 0
clean "$out" "$err"
shows # the origin of a setting without meaning
run "$dlbench" sweep --exhaustive --config "$name.toml" "${few[@]}" --set 'sweep.loader.batch_size=[2, 4]' --set loader.batch_size=4 \
    --set 'sweep.loader.drop_last=[true, false]' --run-name pinned
expect_exit 0
clean "$out" "$err"

# --- an interpreter that fails, and what it prints ---
printf '#!/bin/sh\nprintf "\\033[2J\\233" >&2\nexit 1\n' >$'py\e[2J\x7f' && chmod +x $'py\e[2J\x7f'
each 0 "$dlbench" gap --samples 2000 --features 4 --batch-size 500 --epochs 1 --set gap.repeats=1 --set device.step_ms=0.1 \
    --python $'./py\e[2J\x7f' --run-name gap --overwrite
shows './py\x1b[2J\x7f'
clean results/gap/summary.json results/gap/summary.txt
mkdir torn && printf 'raise RuntimeError("\\033[31mred\\033]0;t\\007\\n\\u009b2J")\n' >torn/torch.py
PYTHONPATH=torn each 0 "$dlbench" sweep --dry-run "${few[@]}" --set dataset.format=synthetic --set 'sweep.loader.batch_size=[2, 4]' \
    --set python.interpreter=python3
shows '\x1b[31mred'

# --- results: their folder, their name, and what a result from elsewhere holds ---
run "$dlbench" run --config "$name.toml" "${few[@]}" --results "$name" --run-name "$name"
expect_exit 0
clean "$out" "$err" "$name/$name/summary.json" "$name/$name/summary.txt" "$name/$name/environment.json"
shows "$shown\\xff/$shown\\xff/summary.json"
each 2 "$dlbench" run --config "$name.toml" "${few[@]}" --results "$name" --run-name "$name"
each 0 "$dlbench" report "$name/$name"
document "$dlbench" report "$name/$name"
expect_exit 0
names 'd["run_name"] == name and back(d["run_name"]) == raw'
touch "$name/$name/$name"
each 3 "$dlbench" run --config "$name.toml" --results "$name/$name" --run-name "$name" # is a file
mkdir other && python3 - "$name/$name/summary.json" <<'PY'
import json, sys
bad = "\x1b]0;x\x07\x1b[2J\nforged\r\x7f\u009b"
def spoil(value):
    if isinstance(value, dict):
        return {key: spoil(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [spoil(entry) for entry in value]
    return value + bad if isinstance(value, str) and value != "ok" else value
doc = json.load(open(sys.argv[1]))
json.dump(spoil(doc), open("other/summary.json", "w"))
doc["axes"] = {"loader." + bad: [1, 2]}
doc["config"][bad] = bad
json.dump(doc, open("other/keys.json", "w"))
doc["cells"][0]["verdict"] = {bad: 1}
json.dump(doc, open("other/bad.json", "w"))
open("other/none.json", "w").write('{"\x1b[2J')
PY
each 0 "$dlbench" report other
shows '\x1b]0;x\x07\x1b[2J\x0aforged\x0d\x7f'
each 0 "$dlbench" report other/keys.json
each 3 "$dlbench" report other/bad.json
each 3 "$dlbench" report other/none.json
each 3 "$dlbench" report "$name/none"

# --- files and folders ---
mkdir -p "files/$name" && printf x >"files/$name/1$name.bin" && printf yy >"files/$name/2.bin"
ln -s nowhere "files/$name/3$name.bin"
each 0 "$dlbench" inspect files
document "$dlbench" inspect files
expect_exit 0
names 'd["n_odd"] == len(d["odd"]) == 1 and name in d["odd"][0] and name in d["looked_at"]["first"]["path"]'
cp -r files "$text"
each 0 "$dlbench" inspect "$text"
shows
command=$(sed -n 's/.*--set \([^ ]*dataset\.path=.*\) --set loader\.shuffle.*/\1/p' "$out")
eval "word=$command" # what a shell makes of it
# shellcheck disable=SC2154
expect [ "$word" = "dataset.path=$text" ]
each 2 "$dlbench" convert "$name" to.tar --format webdataset
each 2 "$dlbench" convert files to.tar --format "$name"
each 2 "$dlbench" convert files to.tar --from "$name" --format files
each 3 "$dlbench" inspect "$name/none"
if has_module format webdataset; then
    document "$dlbench" convert files "to$name" --format webdataset
    expect_exit 0
    names 'd["path"] == "to" + name and d["verified"] == 2 and name in d["odd"][0]'
    expect_file "to$name"
    each 2 "$dlbench" convert files "to$name" --format webdataset # exists
    run "$dlbench" convert files "again$name" --format files
    expect_exit 0
    clean "$out" "$err"
    shows "again$shown"
fi
run "$dlbench" gen --set dataset.format=files --set dataset.codec=raw --set "dataset.path=gen$text" --set generate.samples=8 \
    --set generate.sample_bytes=64
expect_exit 0
clean "$out" "$err"
shows "gen$shown"
each 0 "$dlbench" gen --set dataset.format=files --set dataset.codec=raw --set "dataset.path=gen$text" --set generate.samples=8 \
    --set generate.sample_bytes=64
each 2 "$dlbench" gen --set dataset.format=files --set dataset.codec=raw --set "dataset.path=$name" --set generate.samples=8
each 0 "$dlbench" storage --workload resnet50 --accelerator h100 --path "new$text" --dry-run
shows "new$shown"
each 3 "$dlbench" storage --workload resnet50 --accelerator h100 --path "none$text"
shows "none$shown"

# --- a sample that cannot be read: the cell's reason, the result's notes, and the samples left out ---
if has_module codec jpeg; then
    mkdir -p "jpeg/$name" && printf x >"jpeg/$name/$name.jpg" && printf y >"jpeg/$name/2.jpg"
    jpegs=(--set dataset.path=jpeg --set run.epochs=5 "${few[@]}" --set dataset.codec=jpeg --set dataset.format=files)
    each 3 "$dlbench" run "${jpegs[@]}" --run-name jpeg --overwrite
    shows
    each 3 "$dlbench" sweep --exhaustive "${jpegs[@]}" --set 'sweep.loader.batch_size=[1, 2]' --run-name jpegs --overwrite
    run "$dlbench" run "${jpegs[@]}" --set dataset.on_error=skip --run-name skip --json
    clean "$out" "$err"
    expect_json
    each 0 "$dlbench" inspect jpeg
fi

# --- shards, and fields of samples in them ---
if has_module format webdataset; then
    mkdir shards
    NAME=$name python3 - <<'PY'
import io, os, tarfile
name = os.environb[b"NAME"]
with tarfile.open(b"shards/" + name + b".tar", "w", format=tarfile.GNU_FORMAT) as tar:
    for i in range(6):
        for field in ("a\x1b[2J", "b\n\r\x7f", "c\x9b", "d\udcff", "cls"):
            info = tarfile.TarInfo(f"{i}.{field}")
            info.size = 3
            tar.addfile(info, io.BytesIO(b"123"))
data = open(b"shards/" + name + b".tar", "rb").read()
open(b"shards/cut" + name + b".tar", "wb").write(data[:1800])
open(b"shards/" + name + b".tar.bz2", "wb").write(data)
PY
    each 0 "$dlbench" inspect shards
    shows '\x1b[2j'
    shows "cut$shown\\xff.tar"
    document "$dlbench" inspect shards
    expect_exit 0
    names 'd["n_odd"] == len(d["odd"]) and any("shards/cut" + name + ".tar" in odd for odd in d["odd"])'
    names '"\\xff" in "".join(d["fields"]) and "a\x1b[2j" in d["fields"]'
    each 3 "$dlbench" convert shards from.shards --format files
    run "$dlbench" convert shards some.shards --format files --set dataset.on_error=skip
    clean "$out" "$err"
    shows "cut$shown"
    run "$dlbench" run --set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=shards --set run.epochs=5 "${few[@]}" --run-name cut
    expect_exit 3
    clean "$out" "$err"
fi

# --- data sets of HDF5, databases and keys of LMDB ---
# The names of what gen wrote are replaced in the file: neither has checksums.
if has_module format hdf5; then
    run "$dlbench" gen --set dataset.format=hdf5 --set dataset.path=h5 --set dataset.codec=raw --set generate.samples=8 \
        --set generate.sample_bytes=64
    expect_exit 0
    python3 - <<'PY'
data = open("h5/data.h5", "rb").read()
assert data.count(b"\0data\0") == 1
open("a.h5", "wb").write(data.replace(b"\0data\0", b"\0\x1b[2J\0"))
open("b.h5", "wb").write(data.replace(b"\0data\0", b"\0\n\x9bff\0"))
PY
    for file in a.h5 b.h5; do
        each 0 "$dlbench" inspect $file
    done
    each 2 "$dlbench" run --set dataset.format=hdf5 --set dataset.codec=raw --set dataset.path=h5 --set "hdf5.dataset=/$text" "${few[@]}" \
        --run-name h5
    if python3 -c 'import h5py' 2>"$tmp/.py"; then
        NAME=$text python3 - <<'PY'
import os, h5py
with h5py.File("c.h5", "w") as file:
    for i in range(2):
        file.create_dataset(f"{i}" + os.environ["NAME"], data=[[1, 2], [3, 4]] * (3 - i), dtype="u1")
PY
        each 0 "$dlbench" inspect c.h5
        shows "0$shown"
    fi
fi
if has_module format lmdb; then
    run "$dlbench" gen --set dataset.format=lmdb --set dataset.path=db --set dataset.codec=raw --set generate.samples=8 \
        --set generate.sample_bytes=48
    expect_exit 0
    python3 - <<'PY'
data = open("db/data.mdb", "rb").read()
key = b"\x1b[2J\n\x9b\xffA"
for file, flags in ("key.mdb", b"\0"), ("database.mdb", b"\2"):
    at = data.index(b"\x08\0" + b"00000000")  # behind the node's flags
    open(file, "wb").write(data[:at - 2] + flags + b"\0\x08\0" + key + data[at + 10:])
PY
    for file in key.mdb database.mdb; do
        each 0 "$dlbench" inspect $file
    done
    shows '\x1b[2J\x0a\x9b\xffA'
    each 2 "$dlbench" run --set dataset.format=lmdb --set dataset.codec=raw --set dataset.path=db --set "lmdb.prefix=$text" "${few[@]}" \
        --run-name lm
fi
# --- a long name is cut between two characters
for lead in '' a ab; do
    long=$lead$(printf '€%.0s' {1..80})
    for how in "$long" "run --$long=1" "run $long" "run --set $long=1" "run --set $long" "run --set dataset.codec=$long" \
        "run --set loader.num_workers=$long" "run --set loader.pin_memory=$long" "run --set generate.sample_bytes=$long" \
        "run --run-name $long" "convert a b --format $long"; do
        # shellcheck disable=SC2086 # words
        run "$dlbench" $how
        expect_exit 2
        expect_err '€'
        expect_no_err '\\x[0-9a-f]{2}'
    done
done

finish
