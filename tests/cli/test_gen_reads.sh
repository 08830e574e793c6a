#!/usr/bin/env bash
# gen: options that only reading uses do not make complete data other data.
. "$(dirname "$0")/lib.sh"

same() { # format, codec, option of reading
    has_module format "$1" || { echo "not shown: $1"; return; }
    local args=(gen --set dataset.format="$1" --set dataset.path="$1" --set dataset.codec="$2" --set generate.samples=20
        --set generate.sample_bytes=300 --json)
    if [ ! -d "$1" ]; then
        run "$dlbench" "${args[@]}"
        expect_exit 0
        expect_json 'd["written"] == 20'
    fi
    run "$dlbench" "${args[@]}" --set "$3"
    expect_exit 0
    expect_json 'd["written"] == 0'
}
same tokens tokens tokens.seed=3
same tokens tokens tokens.sampling=contiguous
same tfrecord raw tfrecord.crc=false
same npz raw npz.array=data
same lmdb raw lmdb.readahead=true
same lmdb raw lmdb.prefix=0
same hdf5 raw hdf5.label=none
same hdf5 raw hdf5.dataset=/data
same hdf5 raw hdf5.allow_external=true

# Those that writing uses still do.
for option in tokens.seq_len=64 tokens.layout=megatron tokens.file_tokens=5000; do
    expect_error E_TARGET_OTHER_DATA 2 "$dlbench" gen --set dataset.format=tokens --set dataset.path=tokens --set dataset.codec=tokens \
        --set generate.samples=20 --set generate.sample_bytes=300 --set "$option"
done

# A manifest of an older gen holds the options of reading, too.
if command -v python3 >/dev/null; then
    python3 - <<'PY'
import json
path = "tokens/.dlbench-manifest.json"
manifest = json.load(open(path))
manifest["params"].update({"tokens.seed": 5, "tokens.sampling": "random"})
json.dump(manifest, open(path, "w"))
PY
    same tokens tokens tokens.seed=3
fi
finish
