# shellcheck shell=bash
# What the lints share; sourced. DLB_SOURCE_DIR is the root of the sources.
cd "${DLB_SOURCE_DIR:?}" || exit 1

# A lint that cannot run has failed where it decides (CI=true), and is skipped elsewhere. `scripts/deps --dev` installs what
# lints need.
cannot_run() { # why
    if [[ ${CI-} == true ]]; then
        echo "FAILED: $1; scripts/deps --dev installs it"
        exit 1
    fi
    echo "skipped: $1; scripts/deps --dev installs it"
    exit 77
}

need() { # program
    command -v "$1" >/dev/null || cannot_run "no $1"
}

# Prints which of the two names of a clang tool is release 14. Other releases format and judge differently.
clang_14() { # clang-format or clang-tidy
    local name
    for name in "$1-14" "$1"; do
        if [[ $("$name" --version 2>/dev/null) == *"version 14."* ]]; then
            printf '%s\n' "$name"
            return 0
        fi
    done
    return 1
}
