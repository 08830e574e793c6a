#!/usr/bin/env bash
# doctor: every module of every list, and every check, with reasons.
. "$(dirname "$0")/lib.sh"

run "$dlbench" doctor
expect [ "$code" -eq 0 -o "$code" -eq 1 ]
text_code=$code
expect_out '^Modules$'
expect_out '^This machine$'
expect_err_empty
cp "$out" text

run "$dlbench" doctor --json
expect_exit "$text_code"
expect_json 'd["command"] == "doctor" and d["ok"] == (not any(c["state"] == "bad" for c in d["checks"]))'
expect_json "d['ok'] == ($text_code == 0)"
expect_json 'len(d["checks"]) > 5 and all(c["state"] in ("ok", "note", "bad") and c["found"] for c in d["checks"])'
expect_json 'all(c["advice"] for c in d["checks"] if c["state"] == "bad")'
expect_json 'all(m["available"] == (m["missing"] is None) for m in d["modules"])'

# The lists in the sources are what it shows: nothing is silently absent.
cp "$out" doctor.json
listed() { # kind, list
    sed -n 's/^X(\([a-z0-9_]*\)).*/\1/p' "$2" | while read -r name; do
        [ "$(json_get doctor.json "any(m['kind'] == '$1' and m['name'] == '$name' for m in d['modules'])")" = True ] ||
            echo "$1 $name"
        grep -q " $name " text || echo "$1 $name (text)"
    done
}
in_source() { listed "$1" "$DLB_SOURCE_DIR/$2"; }
absent=$(in_source format formats/formats.def && in_source codec formats/codecs.def && in_source loader loaders/loaders.def &&
    in_source device loaders/device/devices.def && in_source scenario scenarios/scenarios.def &&
    in_source report reports/reports.def)
extra=${DLB_BUILD_DIR-}/generated/formats/extra_formats.def # formats from outside of formats/, in builds that name some
[ -e "$extra" ] && absent=$absent$(listed format "$extra")
last="absent from doctor: $absent"
expect [ -z "$absent" ]

expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" doctor extra

finish
