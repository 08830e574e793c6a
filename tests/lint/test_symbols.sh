#!/usr/bin/env bash
# What the libraries export to each other is named dlb_.
set -euo pipefail
build=${DLB_BUILD_DIR:?}
[[ -z ${DLB_SANITIZE-} ]] || { echo "skipped: sanitizers add symbols of their own"; exit 77; }

libraries=("$build"/libdlb_*.a)
[[ -e ${libraries[0]} ]] || { echo "no libraries in $build"; exit 1; }
# C++ emits weak instances of templates (toml11's); what is ours is a strong symbol.
strays=$(nm -g --defined-only "${libraries[@]}" 2>/dev/null |
    awk 'NF == 3 && $2 ~ /^[TDBRC]$/ && $3 !~ /^(dlb_|_Z)/ { print $3 }' | sort -u)
if [[ -n $strays ]]; then
    echo "external symbols without dlb_:"
    echo "$strays"
    exit 1
fi
