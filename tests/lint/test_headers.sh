#!/usr/bin/env bash
# Every header compiles alone, and twice: it includes what it uses and has a guard.
set -euo pipefail
cd "${DLB_SOURCE_DIR:?}"
compiler=${CC:-cc}
read -ra json <<<"$(pkg-config --cflags jansson)"

n=0 bad=0
while IFS= read -r header; do
    n=$((n + 1))
    if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$compiler" -x c -std=gnu17 -D_GNU_SOURCE -I. -I"${DLB_BUILD_DIR:-.}/generated" "${json[@]}" -Wall -Wextra \
            -Wconversion -Wshadow -Wstrict-prototypes -Wno-unused-function -Werror -fsyntax-only -; then
        echo "$header does not compile alone"
        bad=$((bad + 1))
    fi
done < <(find core bench formats loaders scenarios reports tests -name '*.h' | sort)
echo "$n headers, $bad bad"
((n > 0 && bad == 0))
