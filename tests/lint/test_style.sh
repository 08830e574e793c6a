#!/usr/bin/env bash
# clang-format agrees with every C file. Releases of it disagree with each other: 14, Debian 12's, is the judge.
set -euo pipefail
. "${DLB_SOURCE_DIR:?}/tests/lint/lib.sh"
formatter=$(clang_14 clang-format) || cannot_run "no clang-format 14"

mapfile -t files < <(find core bench formats loaders scenarios reports tests \( -name '*.[ch]' -o -name '*.cpp' \) -print | sort)
((${#files[@]} > 0))
"$formatter" --dry-run --Werror --ferror-limit=1 "${files[@]}"
