#!/usr/bin/env bash
# tests/gpu/acceptance itself: every check's twin runs on the emulated accelerator, out of an archive laid out as scripts/bundle's, and
# what came of it is written down as it was. Rates and times of a busy machine are not judged here; content and errors are. A real
# bundle goes through it in test_bundle.sh.
. "$(dirname "$0")/lib.sh"

[ -z "$DLB_SANITIZE" ] || skip "bundles hold no sanitizers"
acceptance=$DLB_SOURCE_DIR/tests/gpu/acceptance
limit_s=280

mkdir -p dist/dlbench/bin dist/dlbench/tests
cp "$dlbench" dist/dlbench/bin/
cp -r "$DLB_SOURCE_DIR/configs" dist/dlbench/
cp -r "$DLB_SOURCE_DIR/tests/gpu" dist/dlbench/tests/
archive=$tmp/dist/bundle.tar.gz
tar -C dist -I 'gzip -1' -cf "$archive" dlbench

# --- every check's twin
run python3 "$acceptance" "$archive" --emulated --quick --out results
summary=$(cat "$out")
expect [ "$code" -eq 0 -o "$code" -eq 1 ]
result=$(echo results/*.json)
expect_file "$result"
cp "$result" "$out"
expect_json 'd["emulated"] and d["quick"] and d["device"]["kind"] == "emulated" and len(d["bundle"]["sha256"]) == 64 and d["date"]'
expect_json '{r["check"] for r in d["rows"]} == {"h2d", "overlap", "idle", "model", "checksums", "augment", "imagenet", "sanitizer", "errors"}'
expect_json '[r["name"] for r in d["rows"] if r["measured"] == "could not be run"] == []'
expect_json 'all(r["detail"] for r in d["rows"] if r["measured"] == "not run")'
expect_json 'all(r["held"] for r in d["rows"] if r["check"] in ("checksums", "augment", "errors") and r["held"] is not None)'
expect_json 'sum(r["check"] == "checksums" and r["held"] is True for r in d["rows"]) >= 5'
expect_json 'all(r["held"] for r in d["rows"] if "forked anew" in r["name"]) and any("forked anew" in r["name"] for r in d["rows"])'
[ "$(json_get "$result" 'any(r["held"] is False for r in d["rows"])')" = "$([ "$code" -eq 1 ] && echo True || echo False)" ] ||
    failed "the exit code should follow the table"
plan=$(grep '^plan: ' "$err")
expect [ "$(echo "$plan" | sed -nE 's/.*; ([0-9]+) s, and .*/\1/p')" -le "$(echo "$plan" | sed -nE 's/.* and ([0-9]+) s are the most/\1/p')" ]
expect [ "$(echo "$plan" | sed -nE 's/.* and ([0-9]+) s are the most/\1/p')" -lt 480 ]
echo "$summary" | grep -Eq '^held +what +wanted +measured +detail' || failed "the table should be printed"

# --- an unpacked folder; a program that ends wrong is a failed row, and never a held one
mkdir unpacked broken
tar -C unpacked -xf "$archive"
folder=$(echo unpacked/*)
cp -r "$folder/." broken
mv broken/bin/dlbench broken/bin/really
cat >broken/bin/dlbench <<SH
#!/bin/sh
case "\$*" in
*run.checksum=true*) echo "planted failure" >&2; exit 3 ;;
esac
exec "$tmp/broken/bin/really" "\$@"
SH
chmod 755 broken/bin/dlbench
run python3 "$acceptance" broken --emulated --quick --only augment --out results
expect_exit 1
expect_out '^NO .*could not be run.*planted failure'

# --- wrong usage, no bundle, no GPU
run python3 "$acceptance" "$folder" --only nonsense
expect_exit 2
expect_err '"nonsense" is no check'
run python3 "$acceptance" "$tmp" --emulated
expect_exit 3
expect_err 'holds no bin/dlbench'
if [ ! -e /dev/nvidiactl ]; then
    run python3 "$acceptance" "$folder" --out results
    expect_exit 77
    expect_err 'no GPU answers'
fi
finish
