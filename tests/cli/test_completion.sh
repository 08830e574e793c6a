#!/usr/bin/env bash
# Shell completion: what bash offers after the words of a line; zsh and fish take their scripts where they are installed.
. "$(dirname "$0")/lib.sh"

expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" completion tcsh
expect_err 'bash, zsh, fish'
expect_error E_USAGE_MISSING_ARGUMENT 2 "$dlbench" completion

for shell in bash zsh fish; do
    run "$dlbench" completion $shell
    expect_exit 0
    expect_err_empty
    cp "$out" dlbench.$shell
    if command -v $shell >/dev/null; then
        run $shell -n dlbench.$shell
        expect_exit 0
        expect_err_empty
    else
        echo "not shown: $shell takes its script (there is no $shell)"
    fi
done

# What is offered for the last of these words, one a line.
offered() {
    bash -c '. ./dlbench.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _dlbench; printf "%s\n" "${COMPREPLY[@]}"' \
        complete "$@"
}
check() { # what, wanted, words
    local what=$1 wanted=$2
    shift 2
    [ "$(offered "$@" | tr '\n' ' ')" = "$wanted " ] || failed "$what: $(offered "$@" | head -c 300), not $wanted"
}
check "a command" "sweep" dlbench swe
check "three commands" "convert compare completion" dlbench co
check "a flag" "--exhaustive" dlbench sweep --exh
check "a flag that the command lacks" "" dlbench run --exh
check "a key" "--loader.num_workers" dlbench run --loader.num_w
check "a verb's own key" "--repeats" dlbench gap --rep
check "the values of a key" "in-order any" dlbench run --loader.order ""
check "a value" "in-order" dlbench run --loader.order i
check "a value behind =" "any" dlbench run --loader.order = a
check "values behind =" "in-order any" dlbench run --loader.order =
check "yes or no" "true false" dlbench run --loader.pin_memory ""
check "a file is left to the shell" "" dlbench sweep --config my
check "help of a command" "inspect" dlbench help insp
check "a shell" "fish" dlbench completion fis
check "a hidden command is not offered" "" dlbench cel

# Every key of the help is offered, and every command.
run "$dlbench" help sweep --full
section=
while IFS= read -r line; do
    if [[ $line =~ ^\[([a-z0-9_.]+)\] ]]; then
        section=${BASH_REMATCH[1]}
    elif [[ $section && $line =~ ^\ \ ([a-z0-9_]+)(\ |$) ]]; then
        key=--$section.${BASH_REMATCH[1]}
        for shell in bash zsh; do grep -q -e "${key}[ ':]" dlbench.$shell || failed "$shell does not offer $key"; done
        grep -q -e " -l ${key#--} " dlbench.fish || failed "fish does not offer $key"
    fi
done <"$out"
[ -n "$section" ] || failed "the help has no sections"

finish
