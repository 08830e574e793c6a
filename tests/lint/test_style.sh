#!/usr/bin/env bash
# clang-format agrees with every C file. Releases of it disagree with each other: 14, Debian 12's, is the judge.
set -euo pipefail
cd "${DLB_SOURCE_DIR:?}"
formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $formatter || $("$formatter" --version) != *"version 14."* ]]; then
    echo "skipped: no clang-format 14"
    exit 77
fi

mapfile -t files < <(find core bench formats loaders scenarios reports tests \( -name '*.[ch]' -o -name '*.cpp' \) -print | sort)
((${#files[@]} > 0))
"$formatter" --dry-run --Werror --ferror-limit=1 "${files[@]}"
