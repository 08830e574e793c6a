# shellcheck shell=bash
# What scripts/test and scripts/check share; sourced, from the root of the sources.

# Sets PYTHON, where it is not set, to the first Python that can import the packages given: the one in PATH, or Debian's own, which
# alone has what apt installed. Fails where neither can.
choose_python() { # packages
    local python packages=$*
    [[ -z ${PYTHON-} ]] || return 0
    for python in python3 /usr/bin/python3; do
        if "$python" -c "import ${packages// /, }" 2>/dev/null; then
            export PYTHON=$python
            return 0
        fi
    done
    return 1
}

# Prints the tests that ctest skipped, a line each: name, tab, the reason that the test printed.
skipped_tests() { # what ctest printed, build folder
    awk '
        FNR == NR { if (/\*\*\*Skipped/) { sub(/^.*Test +#[0-9]+: /, ""); why[$1] = "it printed no reason" } next }
        / Testing: / { name = $3 }
        /^skipped: / && name in why { why[name] = substr($0, 10) }
        END { for (name in why) print name "\t" why[name] }
    ' "$1" "$2/Testing/Temporary/LastTest.log" | sort
}
