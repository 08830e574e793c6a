#!/usr/bin/env bash
# Every two of fault, point, format and loader at least once (tests/faults); scripts/faults runs the product.
. "$(dirname "$0")/lib.sh"
: "${DLB_BUILD_DIR:?}"

export DLB_FAULTS_SO=$DLB_BUILD_DIR/tests/libfaults.so
some=
interpreters='raises/(import/syntax|sample/(no-text|surrogate))|batch/count/(zero|huge)'
case $DLB_SANITIZE in
'') interpreters+='|ENOSPC/start/write-cell|fork/start/' ;;
address*)
    # Its functions come first and call the preload's, but for malloc, which it does itself.
    first=$(ldd "$DLB_BIN" | awk '/lib(asan|clang_rt\.asan)/ { print $3; exit }')
    [ -n "$first" ] || skip "the sanitizer is linked statically, so no preload can come behind it"
    DLB_FAULTS_SO="$first $DLB_FAULTS_SO"
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0
    some='^(?!nomem/|mmap/read/armed)'
    ;;
*) skip "of the sanitizers, address runs it: what it plants are errors and deaths, and contract/ looks for races" ;;
esac
limit_s=280
run python3 "$DLB_SOURCE_DIR/tests/faults/matrix.py" --pairwise --only "$some"
expect_exit 0
cat "$out"

# Of the faults in interpreters of PyTorch's cells those that are quick; scripts/faults has them all.
run python3 "$DLB_SOURCE_DIR/tests/faults/torch_matrix.py" --all --only "$interpreters"
expect_exit 0
cat "$out"
finish
