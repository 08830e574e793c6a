# shellcheck shell=bash
# Starts programs with mpirun; sourced after tests/cli/lib.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if [ "${DLB_SANITIZE-}" = thread ]; then
    export TSAN_OPTIONS="${TSAN_OPTIONS-} suppressions=$DLB_SOURCE_DIR/tests/tsan.supp"
    export UCX_MEM_EVENTS=no # MPICH's UCX hooks madvise, and is called in a thread that the sanitizer has already closed: a crash inside of it
fi

# Sets launch to the command that starts so many ranks.
launcher() { # implementation, number of ranks
    launch=("mpirun.$1" -np "$2")
    [ "$1" = mpich ] || launch=("mpirun.$1" --oversubscribe -np "$2")
}
