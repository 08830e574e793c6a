#!/usr/bin/env bash
# What the libraries export to each other is named dlb_, and no two files of a room call each other.
set -euo pipefail
build=${DLB_BUILD_DIR:?}
root=${DLB_SOURCE_DIR:?}
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

. "$root/tests/lint/lib.sh"
need python3
# The checker is checked first.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
plant() { # file of a room, what it defines, what it calls
    : >"$planted/core/base/$1.c"
    printf 'int %s(void);\nint %s(void);\nint %s(void) { return %s(); }\n' "$2" "$3" "$2" "$3" |
        "${CC:-cc}" -x c -c -o "$planted/a.dir/core/base/$1.c.o" -
}
mkdir -p "$planted"/{core/base,a.dir/core/base}
plant one dlb_one dlb_two
plant two dlb_two dlb_three
python3 "$root/tests/lint/calls.py" "$planted" "$planted" || { echo "files that call downwards were taken for a circle"; exit 1; }
plant three dlb_three dlb_one
if python3 "$root/tests/lint/calls.py" "$planted" "$planted" >"$planted/said" || ! grep -q 'one.c.*three.c.*two.c' "$planted/said"; then
    echo "a planted circle was not found: $(cat "$planted/said")"
    exit 1
fi

python3 "$root/tests/lint/calls.py" "$root" "$build"
