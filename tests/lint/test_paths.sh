#!/usr/bin/env bash
# Each file that a comment or a document names exists. NAME in a path makes it a pattern; a build writes some files.
set -euo pipefail
. "${DLB_SOURCE_DIR:?}/tests/lint/lib.sh"

pattern='NAME'
written='bench/cli/version\.h|formats/extra_formats\.def'
planted='tests/skeleton/fmt_planted\.c'              # by test_floors.sh
foreign='core/lib/(hash/crc32c|io/record_writer)\.h' # TensorFlow's
rooms='core|bench|formats|loaders|scenarios|reports|tests|scripts|docs|configs|cmake'
suffixes='c|h|cu|cpp|sh|md|toml|def|py|cmake|json|in'

# Prints WHERE:LINE:PATH of each path in these files and folders that is not there; how many were looked at goes to $looked_at.
looked_at=$(mktemp)
trap 'rm -rf "$looked_at" "${folder:-}"' EXIT
missing() {
    local where line path n=0
    while IFS=: read -r where line path; do
        n=$((n + 1))
        [[ -e $path || $path =~ $pattern || $path =~ ^($written|$planted|$foreign)$ ]] || echo "$where:$line: $path is not there"
    done < <(grep -rnoIE "(^|[^A-Za-z0-9_./-])($rooms)/[A-Za-z0-9_./-]*[A-Za-z0-9_]\\.($suffixes)\\b" --exclude-dir=corpus \
        --exclude=test_paths.sh "$@" | sed -E "s#^([^:]*:[^:]*:)[^A-Za-z0-9_]#\\1#")
    echo $n >"$looked_at"
}

folder=$(mktemp -d)
printf '/* as formats/gone/fmt_gone.c does, and docs/GONE.md; not core/base/io.h */\n' >"$folder/a.c"
(($(missing "$folder" | wc -l) == 2)) || { echo "the check does not find what is planted"; exit 1; }

missing core bench formats loaders scenarios reports tests scripts docs configs cmake CMakeLists.txt ./*.md >"$folder/found"
cat "$folder/found"
(($(cat "$looked_at") > 1000)) || { echo "only $(cat "$looked_at") paths were looked at"; exit 1; }
[[ ! -s $folder/found ]]
