#!/usr/bin/env bash
# Samples that no codec decodes (video, Parquet, text) are refused, unless dataset.codec = "raw" is said; then verdict and "not
# modelled" say that decoding is left out. PNG and WebP are found.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

mkdir video text parquet bmp
for i in $(seq 40); do
    printf '\0\0\0\x18ftypmp42%032d' "$i" >"video/$i.mp4"
    printf '{"a": %d}\n' "$i" >"text/$i.jsonl"
    printf 'PAR1 %d PAR1' "$i" >"parquet/$i.parquet"
    printf 'BM\66\0\0\0\0\0\0\0\66\0\0\0%040d' "$i" >"bmp/$i.bmp"
done
for kind in video text parquet bmp; do
    for words in "try $kind" "try $kind --json" "init $kind" "init $kind --write $kind.toml"; do
        expect_error E_DATASET_NOT_DECODED 3 "$dlbench" $words
    done
    expect_no_file $kind.toml
    expect_no_file results
done
for kind in video text parquet bmp; do
    run "$dlbench" inspect $kind
    expect_failed E_DATASET_NOT_DECODED 3
    run "$dlbench" inspect $kind --json
    expect_failed E_DATASET_NOT_DECODED 3
    for verb in run sweep; do # dataset.codec is jpeg unless it is said
        run "$dlbench" $verb --set dataset.path=$kind --run-name $verb --overwrite
        expect_exit 3
        expect_err 'E_DATASET_NOT_DECODED|E_MISSING'
    done
done

for verb in init try; do # what inspect refuses is not measured by another way
    run "$dlbench" $verb video
    expect_failed E_DATASET_NOT_DECODED 3
done

# --- said
run "$dlbench" run --set dataset.path=video --set dataset.codec=raw --set loader.batch_size=4 --set device.step_ms=1 \
    --set run.warmup_batches=1 --set run.repeats=1 --run-name said --json
expect_exit 0
expect_json '"NO_DECODE" in [n["code"] for n in d["not_modelled"]]'
expect_json '"Decoding is left out" in d["cells"][0]["verdict"]["text"]'

for words in "try video" "try video --set dataset.format=files"; do
    run "$dlbench" $words --dataset.codec raw --dry-run
    expect_exit 0
    expect_out '^sweep, not run: '
done

# --- the numbers of gen are no such samples
run "$dlbench" gen --set dataset.path=bytes --set dataset.codec=raw --set generate.samples=20 --set generate.sample_bytes=1kB
run "$dlbench" inspect bytes --json
expect_exit 0
expect_json 'd["codec"] == "raw"'

# --- images by content
has_module codec image || finish
for kind in png mixed; do
    run "$dlbench" gen --set dataset.path=$kind --set dataset.codec=image --set generate.image=$kind --set generate.samples=30 \
        --set generate.sample_bytes=4kB
    [ $kind = mixed ] && [ "$code" != 0 ] && finish # a build without libwebp
    expect_exit 0
    run "$dlbench" inspect $kind --json
    expect_exit 0
    expect_json 'd["codec"] == "image" and d["images"]["samples"] == 30 and d["looked_at"]["bad"] == 0'
done
run "$dlbench" run --set dataset.path=png --set dataset.codec=jpeg # of another codec, which is named
expect_failed E_DATASET_OTHER_CODEC 3
expect_err 'dataset\.codec = "image"'
run "$dlbench" inspect png
expect_out 'dataset.codec=image'
expect_out 'transform.pixels=f32'

# The default codec takes no PNG, and says which does.
expect_error E_DATASET_OTHER_CODEC 3 "$dlbench" run --set dataset.path=png
expect_err 'dataset\.codec = "image"'

# --- images that no codec takes are not measured as bytes: damaged ones, ones without an extension
mkdir damaged nameless
find png -name '*.png' | while read -r file; do
    head -c 20 "$file" >"damaged/${file##*/}"
    name=${file##*/}
    cp "$file" "nameless/${name%.png}"
done
for kind in damaged nameless; do
    run "$dlbench" inspect $kind
    expect_exit 0
    expect_no_out 'dlbench sweep'
    expect_error E_DATASET_NOT_DECODED 3 "$dlbench" try $kind
    expect_error E_DATASET_NOT_DECODED 3 "$dlbench" init $kind
    run "$dlbench" try $kind --dataset.codec raw --dry-run
    expect_exit 0
done

# --- a format that is said is inspected, whatever else lies there
mkdir both && cp -r png both
make_shard both/shard.tar
run "$dlbench" try both --dataset.format files --dry-run
expect_exit 0
expect_out '^  format +files'
expect_out '^  codec +image'

# --- audio: class folders, flat, shards
has_module codec audio || finish
for kind in wav flac mixed; do
    run "$dlbench" gen --set dataset.path=a-$kind --set dataset.codec=audio --set generate.audio=$kind --set generate.samples=30 \
        --set generate.sample_bytes=8kB
    expect_exit 0
    run "$dlbench" inspect a-$kind --json
    expect_exit 0
    expect_json 'd["codec"] == "audio" and d["looked_at"]["bad"] == 0 and d["odd"] == []'
    expect_json 'd["audio"]["samples"] == 30 and d["audio"]["rate_hz"] == [16000] * 3 and d["audio"]["channels"] == [1] * 3'
done
mkdir flat
cp a-mixed/*/* flat
run "$dlbench" inspect flat
expect_out 'dataset.codec=audio'
expect_out 'transform.num_frames=[0-9]+ --set transform.num_channels=1 '
run "$dlbench" init flat
expect_out '^num_frames = [0-9]+ '
run "$dlbench" run --set dataset.path=flat --set dataset.codec=audio --set loader.batch_size=5 --set device.step_ms=1 \
    --set transform.num_frames=1000 --set run.warmup_batches=0 --set run.repeats=1 --set run.checksum=true --run-name flat --json
expect_exit 0
expect_json 'd["cells"][0]["status"] == "ok" and d["cells"][0]["epochs"][0]["bytes"] == 30 * 1000 * 4'
truncate -s 2000 flat/00000000.wav
run "$dlbench" inspect flat
expect_out 'E_AUDIO_CUT_SHORT'
expect_out 'dataset.on_error=skip'
if has_module format webdataset; then
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.path=shards --set dataset.codec=audio --set generate.samples=30 \
        --set generate.sample_bytes=8kB
    expect_exit 0
    run "$dlbench" inspect shards --json
    expect_json 'd["format"] == "webdataset" and d["codec"] == "audio" and d["fields"] == ["wav", "cls"]'
fi
finish
