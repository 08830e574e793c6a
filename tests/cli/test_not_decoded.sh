#!/usr/bin/env bash
# Samples that no codec decodes (video, Parquet, text) are refused, unless dataset.codec = "raw" is said; then verdict and "not
# modelled" say that decoding is left out. PNG and WebP are found.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

mkdir video text parquet
for i in $(seq 40); do
    printf '\0\0\0\x18ftypmp42%032d' "$i" >"video/$i.mp4"
    printf '{"a": %d}\n' "$i" >"text/$i.jsonl"
    printf 'PAR1 %d PAR1' "$i" >"parquet/$i.parquet"
done
for kind in video text parquet; do
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

# --- said
run "$dlbench" run --set dataset.path=video --set dataset.codec=raw --set loader.batch_size=4 --set device.step_ms=1 \
    --set run.warmup_batches=1 --set run.repeats=1 --run-name said --json
expect_exit 0
expect_json '"NO_DECODE" in [n["code"] for n in d["not_modelled"]]'
expect_json '"Decoding is left out" in d["cells"][0]["verdict"]["text"]'

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
run "$dlbench" inspect png
expect_out 'dataset.codec=image'
expect_out 'transform.pixels=f32'
finish
