#!/usr/bin/env bash
# What looks like a shard and is not read is named: hidden, unfinished and in folders below, and the numbers that a set lacks. A link
# that leads nowhere and a pipe are shards that cannot be read.
. "$(dirname "$0")/lib.sh"

unfinished=(part partial tmp temp incomplete crdownload download)

odd() { expect_json "any(re.search(r'$1', x) for x in d['odd'])"; }


# FORMAT ENDING CODE-OF-SEVERAL: a folder whose shard is a.ENDING; empty: many shards make a data set.
check() {
    local format=$1 ending=$2 several=$3 kind=(--dataset.codec raw)
    has_module format "$format" || return
    [ "$format" = tokens ] && kind=(--dataset.codec tokens --tokens.layout llmc)
    rm -rf made "$format"
    run "$dlbench" gen --set dataset.format="$format" "${kind[@]}" --dataset.path made --generate.samples 8 --generate.sample_bytes 64
    expect_exit 0
    mkdir "$format"
    cp "$(find made -type f ! -name '.*' | head -n 1)" "$format/a.$ending"
    run "$dlbench" inspect "$format" --json
    expect_json 'd["samples"] >= 1'
    local n samples end
    n=$(json_get "$out" 'd["n_odd"]')
    samples=$(json_get "$out" 'd["samples"]')

    mkdir -p "$format/sub/deep"
    cp "$format/a.$ending" "$format/sub/deep/t.$ending"
    cp "$format/a.$ending" "$format/sub/u.$ending"
    cp "$format/a.$ending" "$format/.h.$ending"
    cp "$format/a.$ending" "$format/.c.$ending.x1Y2z3"
    for end in "${unfinished[@]}"; do
        cp "$format/a.$ending" "$format/x.$ending.$end"
        cp "$format/a.$ending" "$format/x.$ending.77.$end"
        cp "$format/a.$ending" "$format/sub/x.$ending.$end"
    done
    touch "$format/.DS_Store" "$format/sub/notes.txt"
    run "$dlbench" inspect "$format" --json
    expect_exit 0
    expect_json "d['n_odd'] == $n + 3 and d['samples'] == $samples"
    odd "^2 .*\\b$format/sub/deep/t\\.$ending\\b"
    odd "^2 .*\\b$format/\\.c\\.$ending\\.x1Y2z3\\b"
    odd "^$((2 * ${#unfinished[@]})) .*\\b$format/x\\.$ending\\.77\\.crdownload\\b"
    rm -r "$format"/.[!.]* "$format/sub" "$format"/x.*

    mkdir "$format/b.$ending"
    run "$dlbench" inspect "$format" --json
    expect_json "d['n_odd'] == $n + 1"
    odd "^1 .*\\b$format/b\\.$ending"
    rmdir "$format/b.$ending"

    mv "$format/a.$ending" "$format/a-00001-of-00003.$ending"
    run "$dlbench" inspect "$format" --json
    expect_json "d['n_odd'] == $n + 1"
    odd "^2 of the 3 .*\\ba-\\*-of-00003\\.$ending\\b.*: 00000, 00002\$"
    touch "$format/a-00000-of-00003.$ending.tmp"
    run "$dlbench" inspect "$format" --json
    expect_json "d['n_odd'] == $n + 2 and d['samples'] == $samples"
    odd "^2 of the 3 .*: 00000, 00002\$"
    rm "$format/a-00000-of-00003.$ending.tmp"
    mv "$format/a-00001-of-00003.$ending" "$format/a.$ending"

    # A shard that cannot be read.
    for what in link pipe; do
        local wanted=E_NOT_FOUND
        rm -f "$format/b.$ending"
        if [ $what = link ]; then ln -s /nowhere/b "$format/b.$ending"; else mkfifo "$format/b.$ending" && wanted=E_NOT_A_FILE; fi
        if [ -n "$several" ]; then
            expect_failed_at "$several" "$format" "$dlbench" convert "$format" out --format files --from "$format"
            mv "$format/a.$ending" spare
            expect_failed_at $wanted "$format/b.$ending" "$dlbench" convert "$format" out --format files --from "$format"
            mv spare "$format/a.$ending"
        else
            unreadable "$format" "$ending" $wanted
        fi
    done
    stale "$format" "$ending"
    claimed "$format" "$ending" "$several"
}

# A link that leads nowhere and a pipe do not make a folder one of shards.
stale() { # FORMAT ENDING
    local what
    has_module format "$1" && has_module format files || return
    for what in link pipe; do
        rm -rf stale
        mkdir -p stale/cat
        touch stale/cat/{1,2}.jpg
        if [ $what = link ]; then ln -s /nowhere/b "stale/old.$2"; else mkfifo "stale/old.$2"; fi
        run "$dlbench" inspect stale --json
        expect_json "d['format'] == 'files' and d['samples'] == 2"
    done
}

# A folder with a whole shard and such links is still its format's: opening it names a link.
claimed() { # FORMAT ENDING CODE-OF-SEVERAL
    local i
    mv "$1/a.$2" whole
    rm -f "$1"/*
    mv whole "$1/m.$2"
    for i in {10..29}; do ln -s /nowhere/b "$1/$i.$2"; done
    case $1 in
        webdataset | tfrecord)
            run "$dlbench" inspect "$1" --json
            expect_json "d['format'] == '$1' and d['samples'] == $samples"
            odd "\\b10\\.$2"
            ;;
        *) expect_failed_at "${3:-E_NOT_FOUND}" "$1" "$dlbench" inspect "$1" --json ;;
    esac
}

unreadable() { # FORMAT ENDING CODE
    expect_failed_at "$3" "$1/b.$2" "$dlbench" convert "$1" "$1.out" --format files --from "$1"
    expect_no_file "$1.out"
    [ "$1" = tokens ] && return # a file of tokens is read whole or not at all, also with on_error = "skip"
    run "$dlbench" inspect "$1" --json
    expect_exit 0
    odd "\\bb\\.$2"
    expect_failed_at "$3" "$1/b.$2" "$dlbench" run --set dataset.format="$1" --dataset.codec raw --dataset.path "$1" --run.repeats 1 \
        --device.step_ms 1 --run.warmup_batches 0
    run "$dlbench" convert "$1" "$1.out" --format files --from "$1" --dataset.on_error skip
    expect_exit 0
    expect_out '\b1\b.*shards'
    expect_err "\\b$1/b\\.$2.*$3"
    rm -rf "$1.out"
}
expect_failed_at() { # CODE PATH CMD...
    local codes=$1 path=$2
    shift 2
    run "$@"
    [ "$code" -ne 0 ] || failed "should fail"
    expect_code "$codes"
    expect_err "$path"
}

# However many folders lie below, opening looks into the first 1,024 of them: the others cost no call.
many() { # N-FOLDERS N-UNSEEN FIRST-UNSEEN
    mkdir -p many/f00001/in
    (cd many && seq -f 'f%05g' "$1" | xargs mkdir -p && cp ../npz/m.npz a.npz && cp a.npz f00001/in)
    run "$dlbench" inspect many --json
    expect_exit 0
    odd '^1 shard .*\bmany/f00001/in/a\.npz\b'
    if [ "$2" -eq 0 ]; then expect_json "d['n_odd'] == 1"; else odd "^$2 .*\\bmany/f$3\\b"; fi
}

# Links to folders and other file systems are named, not looked into: links may lead out of the data set, into a loop, or to what is
# counted anyway.
linked() {
    rm -rf linked
    mkdir -p linked/a/in outside
    cp npz/m.npz linked/a.npz
    cp npz/m.npz linked/a/t.npz
    cp npz/m.npz outside/u.npz
    ln -s . linked/self
    ln -s ../.. linked/a/in/up
    ln -s a linked/b
    ln -s "$PWD/outside" linked/c
    ln -s ../../../outside linked/a/in/out
    run "$dlbench" inspect linked --json
    expect_exit 0
    expect_json "d['n_odd'] == 2"
    odd '^1 shard .*\blinked/a/t\.npz\b'
    odd '^3 .*\blinked/a/in/out\b'
    if unshare --mount sh -c 'mount -t tmpfs none linked/a/in' 2>/dev/null; then
        run unshare --mount sh -c 'mount -t tmpfs none linked/a/in && cp linked/a.npz linked/a/in && exec "$@"' sh "$dlbench" inspect linked --json
        odd '^1 shard .*\blinked/a/t\.npz\b'
        odd '^3 .*\blinked/a/in\b'
    fi
}

check webdataset tar ''
check tfrecord tfrecord ''
check tokens bin ''
check hdf5 h5 E_HDF5_SEVERAL_FILES
check npz npz E_DATASET_SEVERAL_FILES
if has_module format npz; then
    many 1022 0
    many 2100 1078 01023
    linked
fi

finish
