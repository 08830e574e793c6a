#!/usr/bin/env bash
# clang-tidy has no finding (.clang-tidy has the checks, and why some are off). It takes seconds a file, so this looks at what
# changed last: uncommitted sources, then those of the commits since the merge base with origin/main, the newest first. Where HEAD
# is that merge base, as in a clone of main, those of the last 20 commits. DLB_TIDY_MAX files are the most (16).
# DLB_TIDY=all (scripts/check) looks at all sources.
set -euo pipefail
. "${DLB_SOURCE_DIR:?}/tests/lint/lib.sh"
build=${DLB_BUILD_DIR:?}
[[ -z ${DLB_SANITIZE-} ]] || { echo "skipped: the build without sanitizers is looked at"; exit 77; }
tidy=$(clang_14 clang-tidy) || cannot_run "no clang-tidy 14"
need python3

# Every file that this build compiles, but for those that it generates and those that nvcc compiles.
compiled() {
    python3 - "$build/compile_commands.json" <<'PY'
import json, os, sys

root = os.getcwd() + "/"
with open(sys.argv[1], encoding="utf-8") as file:
    names = {entry["file"] for entry in json.load(file)}
for name in sorted(names):
    if name.startswith(root) and name.endswith((".c", ".cpp")) and "/generated/" not in name:
        print(name[len(root):])
PY
}

# What changed, the last first. A header is looked at through the source beside it.
changed() {
    local base range=(-n 20)
    base=$(git merge-base HEAD origin/main 2>/dev/null || true)
    [[ -z $base || $base == $(git rev-parse HEAD) ]] || range=("$base..HEAD")
    {
        git diff --name-only HEAD
        git ls-files --others --exclude-standard
        git log --format= --name-only "${range[@]}"
    } | sed 's/\.h$/.c/' | awk '!seen[$0]++'
}

mapfile -t files < <(compiled)
((${#files[@]} > 0)) || { echo "$build/compile_commands.json names no sources"; exit 1; }
n_all=${#files[@]} n_left=0
if [[ ${DLB_TIDY-} != all ]]; then
    if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
        mapfile -t files < <(changed | grep -Fxf <(printf '%s\n' "${files[@]}") || true)
    else
        echo "no git history here: the first sources stand for all"
    fi
    most=${DLB_TIDY_MAX:-16}
    if ((${#files[@]} > most)); then
        n_left=$((${#files[@]} - most))
        files=("${files[@]:0:most}")
    fi
fi
if ((${#files[@]} == 0)); then
    echo "no source changed, of $n_all"
    exit 0
fi

status=0
printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P "$(nproc)" "$tidy" --quiet -p "$build" 2> >(grep -v 'warnings\? generated\.$\|warnings\? treated as errors*$' >&2 || true) || status=1
echo "${#files[@]} of $n_all sources looked at; $n_left changed ones left to scripts/check"
exit "$status"
