#!/usr/bin/env bash
# Includes go down the floors only, third-party headers stay in the file that wraps them, modules and lists agree. The checker
# is checked first: each offence that is planted in a copy must be found, where it is.
set -euo pipefail
root=${DLB_SOURCE_DIR:?}
. "$root/tests/lint/lib.sh"
need python3

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$root"/{core,bench,formats,loaders,scenarios,reports,tests} "$copy"
wanted=()
must_find() { # file, line to plant, words of the offence
    printf '%s\n' "$2" >>"$copy/$1"
    wanted+=("$1" "$2" "$3")
}
must_find core/base/err.c '#include "loaders/loader.h"' 'core/base may not include "loaders/loader.h"'
must_find reports/report.h '#include "scenarios/spec/spec.h"' 'reports may not include "scenarios/spec/spec.h"'
must_find loaders/device/device.h '#include "loaders/loader.h"' 'loaders/device may not include'
must_find formats/format.h '#include "format.h"' 'not a path from the root'
must_find formats/files/fmt_files.c '#include <archive.h>' '<archive.h> belongs to'
must_find formats/files/fmt_files.c '#include <bzlib.h>' '<bzlib.h> is unknown'
must_find formats/files/write.h '#include "formats/tokens/megatron.h"' 'is private to formats/tokens'
must_find formats/generate/owned.h '#include "formats/convert/convert.h"' 'comes back to itself'
must_find formats/formats.def 'X(nothing)' 'X(nothing) has no fmt_nothing.c below formats'
# A format outside of formats/ is held to the same.
must_find tests/skeleton/formats.def 'X(nothing)' 'X(nothing) has no fmt_nothing.c below tests/skeleton'
planted=tests/skeleton/fmt_planted.c
: >"$copy/$planted"
must_find $planted '' 'has no line X(planted) in tests/skeleton/formats.def'
must_find $planted '#include "loaders/loader.h"' 'formats may not include "loaders/loader.h"'
must_find $planted '#include "tests/support/folder.h"' 'formats may not include "tests/support/folder.h"'
must_find $planted '#include "formats/tokens/megatron.h"' 'is private to formats/tokens'
must_find $planted '#include <archive.h>' '<archive.h> belongs to'
must_find $planted '#include <cmocka.h>' '<cmocka.h> belongs to'

said=$(python3 "$root/tests/lint/floors.py" "$copy" || true)
for ((i = 0; i < ${#wanted[@]}; i += 3)); do
    name=${wanted[i]##*/}
    if [[ -z $(grep -F -- "${wanted[i + 2]}" <<<"$said" | grep -F "${name%.*}") ]]; then
        echo "a planted '${wanted[i + 1]}' in ${wanted[i]} was not found"
        exit 1
    fi
done

python3 "$root/tests/lint/floors.py" "$root"
