#!/usr/bin/env bash
# clang-format agrees with every C file.
set -euo pipefail
cd "${DLB_SOURCE_DIR:?}"
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }

mapfile -t files < <(find bench formats loaders scenarios reports tests -name '*.[ch]' -o -name '*.cpp' | sort)
((${#files[@]} > 0))
clang-format --dry-run --Werror --ferror-limit=1 "${files[@]}"
