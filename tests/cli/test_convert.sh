#!/usr/bin/env bash
# convert: repacks, checks, refuses, leaves nothing behind.
# Each conversion is synced to its disk; a disk that others write to makes that a matter of minutes.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
. "$(dirname "$0")/lib.sh"

raw=(--set dataset.codec=raw --set generate.sample_bytes=2000)

# What the samples of a folder of files hold, by label; their names are not compared.
content() {
    (cd "$1" && find . -type f ! -name '.dlbench-*' -print0 | xargs -0 sha256sum |
        sed -E 's#^([0-9a-f]+) .*class_0*([0-9]+)/.*#\1 \2#' | LC_ALL=C sort)
}
no_leftover() { [ -z "$(find . -maxdepth 2 \( -name '*.part-*' -o -name '*.old-*' \))" ] || failed "left: $(ls)"; }

run "$dlbench" gen --set dataset.path=src "${raw[@]}" --set generate.samples=300 --set generate.classes=7
expect_exit 0
content src >src.txt

# --- every format that has a writer, and back to files: the same bytes, the same labels
n_formats=0
pair() { # name, format, further options
    local name=$1 format=$2
    shift 2
    if ! has_module format "$format"; then
        echo "not shown: $name"
        return
    fi
    run "$dlbench" convert src "$name" --format "$format" "$@" --json
    if has_code E_MISSING; then # a compression that this build lacks
        expect_exit 2
        echo "not shown: $name ($(tail -n 1 "$err"))"
        return
    fi
    n_formats=$((n_formats + 1))
    expect_exit 0
    expect_err '^convert: starting$'
    expect_json "d['command'] == 'convert' and d['source'] == 'src' and d['source_format'] == 'files'"
    expect_json "d['path'] == '$name' and d['format'] == '$format' and d['samples'] == d['verified'] == 300"
    expect_json "d['bytes'] == 600000 and d['seconds'] > 0 and d['skipped_samples'] == 0 and d['skipped'] == []"
    no_leftover
    run "$dlbench" inspect "$name" --json
    expect_exit 0
    expect_json "d['format'] == '$format' and d['samples'] == 300 and d['looked_at']['bad'] == 0"
    run "$dlbench" convert "$name" back --format files
    expect_exit 0
    expect_out '^back: 300 samples, 60[0-9] kB'
    content back >back.txt
    expect cmp -s src.txt back.txt
    rm -rf back
    # The same again over it: refused, then replaced.
    expect_error E_TARGET_EXISTS 2 "$dlbench" convert src "$name" --format "$format" "$@"
    expect_err '--overwrite'
    run "$dlbench" convert src "$name" --format "$format" "$@" --overwrite
    expect_exit 0
    no_leftover
    run "$dlbench" convert "$name" back --format files --from "$format"
    expect_exit 0
    content back >back.txt
    expect cmp -s src.txt back.txt
    rm -rf back
}
pair out.files files
pair out.tars webdataset --set webdataset.shard_samples=100
pair out.zst webdataset --set webdataset.shard_samples=100 --set webdataset.compression=zst
pair out.h5 hdf5
pair out.lmdb lmdb
expect [ "$n_formats" -ge 1 ]

# --- photographs keep their kind
if has_module codec jpeg; then
    run "$dlbench" gen --set dataset.path=jpegs --set generate.samples=20 --set generate.sample_bytes=20kB
    expect_exit 0
    run "$dlbench" convert jpegs photos --format files
    expect_exit 0
    expect [ "$(find photos -name '*.jpg' | wc -l)" -eq 20 ]
    run "$dlbench" inspect photos --json
    expect_json 'd["codec"] == "jpeg" and d["samples"] == 20 and d["fields"] == ["jpg"]'
    # As for inspect, only photographs are samples, unless dataset.codec=raw makes every file one.
    echo junk >"$(dirname "$(find jpegs -name '*.jpg' -print -quit)")/Thumbs.db"
    run "$dlbench" convert jpegs alone --format files --json
    expect_exit 0
    expect_json 'd["samples"] == d["verified"] == 20 and "Thumbs.db" in d["odd"][0] and d["n_odd"] == len(d["odd"])'
    expect [ "$(find alone -type f -name '*.jpg' | wc -l)" -eq 20 ]
    expect [ -z "$(find alone -name '*.db')" ]
    run "$dlbench" convert jpegs alone --format files --overwrite
    expect_err '^convert: odd: 1 .*Thumbs\.db'
    run "$dlbench" convert jpegs alone --format files --overwrite --set dataset.codec=raw --json
    expect_exit 0
    expect_json 'd["samples"] == d["verified"] == 21'
fi

# --- several fields become files of one name; the label is that of the folder; labels without samples keep their number
if command -v python3 >/dev/null; then
    cat >shard.py <<'PY'
import io, sys, tarfile
with tarfile.open(sys.argv[1], "w") as tar:
    for i in range(30):
        for name, data in (("jpg", bytes([i]) * (100 + i)), ("json", b'{"n": %d}' % i), ("cls", b"%d\n" % (i % 3 * 2))):
            info = tarfile.TarInfo("s%04d.%s" % (i, name))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
PY
    mkdir tar && python3 shard.py tar/a.tar
    if has_module format webdataset; then
        run "$dlbench" convert tar fields --from webdataset --format files --json
        expect_exit 0
        expect_json 'd["samples"] == d["verified"] == 30'
        expect [ "$(find fields -type d | wc -l)" -eq 6 ]
        expect [ "$(find fields -name '*.jpg' | wc -l)" -eq 30 ]
        expect [ "$(find fields -name '*.json' | wc -l)" -eq 30 ]
        expect [ "$(find fields -name '*.cls' | wc -l)" -eq 0 ]
        expect grep -q '"n": 5' fields/class_000004/00000005.json
    fi
fi

# --- a sample of a tar stays one sample, whatever its label is; fields that a format has no place for are refused
if command -v python3 >/dev/null && [ -d fields ]; then
    cat >tars.py <<'PY'
import io, tarfile
def tar(name, members):
    with tarfile.open(name, "w") as file:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
for name, label in ("none", b""), ("word", b"dog"), ("minus", b"-1"):
    tar(name + ".tar", [m for key, cls in (("a", b"1"), ("e", label), ("c", b"3"))
                        for m in ((key + ".jpg", b"image " + key.encode()), (key + ".cls", cls))])
tar("first.tar", [m for i in range(9) for m in (("%d.cls" % i, b"%d" % i), ("%d.bin" % i, b"%d" % i * 50))])
tar("views.tar", [m for key in "ab" for m in ((key + ".left.jpg", b"l" + key.encode()), (key + ".right.jpg", b"r"))])
tar("bare.tar", [("a.jpg", b"a"), ("a.json", b"{}"), ("a.cls", b"1"), ("b.cls", b"2"), ("d.cls", b"4"), ("c.jpg", b"c")])
PY
    python3 tars.py
    for format in webdataset files hdf5 lmdb; do
        has_module format $format || continue
        run "$dlbench" convert first.tar made --format $format --json
        expect_exit 0
        expect_json 'd["samples"] == d["verified"] == 9'
        rm -rf made
        for name in none word minus views bare; do
            run "$dlbench" convert $name.tar made --format $format --json
            case $format-$name in
                webdataset-bare | files-bare)
                    expect_failed E_SAMPLE_NO_PAYLOAD 3
                    expect_json "re.search(r'$name\\.tar\$', d['error']['path']) and d['error']['offset'] > 0 and 'cls' in d['error']['text']"
                    ;;
                webdataset-* | files-views)
                    expect_exit 0
                    expect_json 'd["samples"] == d["verified"] > 1'
                    ;;
                *-views | *-bare)
                    expect_failed E_SAMPLE_FIELDS_UNFIT 2
                    expect_json "re.search(r'$name\\.tar\$', d['error']['path']) and d['error']['offset'] == 0"
                    ;;
                *)
                    expect_failed E_SAMPLE_LABEL_UNFIT 2
                    expect_json "re.search(r'$name\\.tar\$', d['error']['path']) and d['error']['offset'] > 0 and 'cls' in d['error']['text']"
                    ;;
            esac
            no_leftover
            rm -rf made
        done
    done
fi

# --- usage
refused() { # codes, exit code, arguments of convert
    local codes=$1 wanted=$2
    shift 2
    expect_error "$codes" "$wanted" "$dlbench" convert "$@"
    no_leftover
}
refused E_USAGE_MISSING_ARGUMENT 2
refused E_USAGE_MISSING_ARGUMENT 2 src
refused E_USAGE_MISSING_ARGUMENT 2 src dst
expect_err '--format'
refused E_USAGE_UNEXPECTED_ARGUMENT 2 src dst third --format files
refused E_USAGE_UNKNOWN_FORMAT 2 src dst --format zip
expect_err '"zip".*files'
refused E_CONVERT_FORMAT_UNFIT 2 src dst --format tokens
expect_err 'tokens.*files'
refused E_CONVERT_NOTHING_STORED 2 src dst --format files --from synthetic
refused E_NOT_FOUND 3 nowhere dst --format files
expect_err '^dlbench: nowhere: '
refused E_NOT_FOUND 3 src nowhere/dst --format files
expect_err '^dlbench: nowhere: '
ln -s src link
for target in src/dst link; do # the source, or in it
    refused E_TARGET_OVERLAPS 2 src $target --format files --overwrite
done
refused E_TARGET_NAME_UNFIT 2 src src/. --format files --overwrite
refused E_TARGET_OVERLAPS 2 src src/dst --format files
refused E_TARGET_OVERLAPS 2 src/ src --format files --overwrite
refused E_TARGET_OVERLAPS 2 link src/dst --format files
mkdir -p outer && cp -r src outer/src
refused E_TARGET_OVERLAPS 2 outer/src outer --format files --overwrite
mkdir -p there
refused E_TARGET_EXISTS 2 src there --format files
expect_err '^dlbench: there: '
run "$dlbench" convert src there --format files --overwrite # an empty folder holds nothing to lose
expect_exit 0
rm -rf there

# --overwrite replaces a data set only: not one with other files in it, nor a folder that only looks like one.
foreign() { # folder, what is foreign in it
    local before
    before=$(find "$1" | LC_ALL=C sort)
    refused E_TARGET_FOREIGN 2 src "$1" --format files --overwrite
    expect_err "^dlbench: $1: .*\"$2\""
    expect [ "$(find "$1" | LC_ALL=C sort)" = "$before" ]
}
mkdir -p home/.ssh home/papers && echo key >home/.ssh/id && echo text >home/papers/thesis.tex
foreign home '(.ssh|papers/thesis.tex)'
rm -rf home/.ssh
foreign home 'papers/thesis.tex'
cp -r src beside && echo notes >beside/notes.txt
foreign beside 'notes.txt'
rm beside/notes.txt && ln -s /etc beside/class_0001/link
foreign beside 'class_0001/link'
rm beside/class_0001/link && mkdir beside/.git
foreign beside '.git'
rmdir beside/.git
run "$dlbench" convert src beside --format files --overwrite
expect_exit 0
mkdir docs && printf 'PK\003\004and so on' >docs/letter.docx
foreign docs 'letter.docx'
rm -rf home beside docs
run bash -c "cd src/class_0001 && '$dlbench' convert ../../jpegs ../../src --format files --overwrite"
[ -d jpegs ] && expect_failed E_TARGET_OVERLAPS 2 # it holds the working folder
content src | cmp -s - src.txt || failed "the source changed"
mkdir locked && chmod 555 locked
expect_unprivileged_error E_PERMISSION 3 "$dlbench" convert "$tmp/src" "$tmp/locked/dst" --format files
expect_err "^dlbench: $tmp/locked/dst"

# --- a sample that cannot be read: an error, or skipped and named
cp -r src torn && chmod 755 torn
victim=$(find torn -name '*.bin' | LC_ALL=C sort | sed -n 17p)
chmod 000 "$victim"
mkdir -p open && chmod 777 open
run_unprivileged "$dlbench" convert "$tmp/torn" "$tmp/open/dst" --format files
expect_failed E_PERMISSION 3
expect_err "$(basename "$victim")"
expect [ -z "$(ls open)" ]
grep -v "^$(sha256sum <"src/${victim#*/}" | cut -d ' ' -f 1) " src.txt >torn.txt
expect [ "$(wc -l <torn.txt)" = 299 ]
without_victim() { # format, options of convert
    local format=$1
    shift
    has_module format "$format" || { echo "not shown: a sample left out, $format"; return; }
    run_unprivileged "$dlbench" convert "$tmp/torn" "$tmp/open/dst" --format "$format" --set dataset.on_error=skip "$@" --json
    if has_code E_MISSING; then # a compression that this build lacks
        echo "not shown: a sample left out, $format $*"
        return
    fi
    expect_exit 0
    expect_json "d['samples'] == d['verified'] == 299 and d['skipped_samples'] == 1"
    expect_json "'$(basename "$victim")' in d['skipped'][0] and d['skipped'][0].endswith(' [E_PERMISSION]')"
    expect_err "^convert: .*$(basename "$victim").*\[E_PERMISSION\]\$"
    expect [ "$(ls -A open)" = dst ]
    run "$dlbench" convert open/dst back --format files --json
    expect_exit 0
    expect_json "d['samples'] == d['verified'] == 299"
    content back >back.txt
    expect cmp -s torn.txt back.txt
    rm -rf back open/dst
}
without_victim files
without_victim webdataset
without_victim lmdb
without_victim hdf5
without_victim hdf5 --set hdf5.chunk_samples=0
without_victim hdf5 --set hdf5.chunk_samples=64 --set hdf5.filter=deflate

# --- a JPEG that is cut short, or is none: copied as it is, counted and named
if has_module codec jpeg && has_module format webdataset; then
    "$dlbench" gen --set dataset.path=shots --set dataset.format=files --set dataset.codec=jpeg \
        --set generate.samples=6 --set generate.sample_bytes=4000 >/dev/null 2>&1 || failed "gen of JPEGs"
    mapfile -t images < <(find shots -name '*.jpg' | LC_ALL=C sort)
    truncate -s 900 "${images[1]}"
    printf 'not an image' >"${images[4]}"
    run "$dlbench" convert shots broken --format webdataset --json
    expect_exit 0
    expect_json "d['samples'] == d['verified'] == 6 and d['skipped_samples'] == 0 and d['damaged_samples'] == 2"
    expect_json "'$(basename "${images[1]}")' in d['damaged'][0] and '$(basename "${images[4]}")' in d['damaged'][1]"
    run "$dlbench" convert broken again --format files
    expect_exit 0
    expect_out '^  damaged: 2 samples'
    expect [ "$(grep -c '^convert: a damaged image' "$err")" = 2 ]
    if has_module format lmdb; then # read by a child process
        run "$dlbench" convert broken rows --format lmdb --json
        expect_json "d['damaged_samples'] == 2"
        run "$dlbench" convert rows back --format files --json
        expect_exit 0
        expect_json "d['damaged_samples'] >= 1 and len(d['damaged']) == d['damaged_samples']"
    fi
    rm -rf back broken again rows shots
else
    echo "not shown: damaged JPEGs"
fi

# --- so is a PNG or a clip
for kind in image/png audio/wav audio/flac; do
    has_module codec ${kind%/*} || { echo "not shown: damaged ${kind%/*}"; continue; }
    "$dlbench" gen --set dataset.path=whole --set dataset.codec=${kind%/*} --set generate.${kind%/*}=${kind#*/} --set generate.samples=6 \
        --set generate.sample_bytes=4000 >/dev/null 2>&1 || failed "gen of $kind"
    mapfile -t files < <(find whole -name "*.${kind#*/}" | LC_ALL=C sort)
    truncate -s 30 "${files[1]}"
    run "$dlbench" convert whole copied --format files --json
    expect_exit 0
    expect_json "d['samples'] == d['verified'] == 6 and d['damaged_samples'] == 1 and '$(basename "${files[1]}")' in d['damaged'][0]"
    rm -rf whole copied
done

# --- interrupted: it ends at once and leaves nothing. Repeated with more samples if the machine is too fast.
interrupt() { # signal, samples
    rm -rf big dst dst.part-*
    "$dlbench" gen --set dataset.path=big "${raw[@]}" --set generate.samples="$2" >/dev/null 2>&1 || return 1
    "$dlbench" convert big dst --format files >"$out" 2>"$err" </dev/null &
    pid=$!
    for _ in $(seq 400); do
        [ -n "$(find dst.part-* -name '*.bin' -print -quit 2>/dev/null)" ] && break
        sleep 0.01
    done
    kill -"$1" $pid 2>/dev/null
    wait $pid 2>/dev/null
    code=$? last="convert, SIG$1 at $2 samples"
    [ $code -ne 0 ]
}
interrupted=
for samples in 5000 20000 80000; do interrupt INT $samples && interrupted=yes && break; done
if [ -n "$interrupted" ]; then
    expect_exit 130
    expect_code E_CANCELLED
    no_leftover
    expect_no_file dst
else
    echo "not shown: convert was too fast to interrupt"
fi

# --- killed: only temporary names stay, no format takes them for the target, and the next convert removes them
interrupted=
for samples in 5000 20000 80000; do interrupt KILL $samples && interrupted=yes && break; done
if [ -n "$interrupted" ]; then
    expect_exit 137
    expect_no_file dst
    expect [ "$(find . -maxdepth 1 -name 'dst.part-*' | wc -l)" -eq 1 ]
    mkdir dst.part-77 dst.part-mine && touch dst.part-mine/x && mkdir dst.part-88 && touch dst.part-88/y
    run "$dlbench" convert src dst --format files
    expect_exit 0
    expect_err '^convert: .*\./dst\.part-[0-9]+'
    expect_file dst
    expect_file dst.part-mine/x # not named as ours are
    expect_file dst.part-88/y   # nor marked
    expect_no_file dst.part-77
    rm -rf dst.part-mine dst.part-88
    no_leftover
fi
rm -rf big dst

# --- two at once to one target: the second is refused, the first goes on
mkdir dst.part-1 && : >dst.part-1/.dlbench-convert
if command -v flock >/dev/null; then
    (exec 8>dst.part-1/.dlbench-convert && flock 8 && exec sleep 60) >/dev/null 2>&1 &
    holder=$!
    for _ in $(seq 100); do flock -n dst.part-1/.dlbench-convert true || break; sleep 0.05; done
    expect_error E_TARGET_BUSY 2 "$dlbench" convert src dst --format files
    expect_err 'dst\.part-1: '
    expect_file dst.part-1
    kill $holder 2>/dev/null
    wait $holder 2>/dev/null
    for _ in $(seq 100); do flock -n dst.part-1/.dlbench-convert true && break; sleep 0.05; done
fi
rm -rf dst.part-1

# --- likewise what a convert on another machine left, or still writes: its locks may not be seen here
mkdir dst.part-66 && head -c 400 /dev/zero | tr '\0' x >dst.part-66/.dlbench-convert
expect_error E_TARGET_BUSY 2 "$dlbench" convert src dst --format files
expect_err 'dst\.part-66: '
expect_file dst.part-66/.dlbench-convert
rm -rf dst.part-66

# --- a full disk: told once, and nothing is left
last='convert with a limit on file sizes'
head -c 100000 /dev/zero >large.bin && mkdir -p large/a && mv large.bin large/a/
(ulimit -f 1 && exec "$dlbench" convert large dst --format files >/dev/null 2>stderr </dev/null)
code=$?
cp stderr "$err" && : >"$out"
expect_failed E_IO 3
expect_err '^dlbench: dst'
no_leftover
expect_no_file dst
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=500k tmpfs small 2>/dev/null; then
    for format in files webdataset hdf5 lmdb; do
        has_module format $format || continue
        expect_error E_NO_SPACE 3 "$dlbench" convert src small/dst --format $format
        expect_err '^dlbench: small/dst: .* [0-9]+ '
        expect [ "$(wc -l <"$err")" -eq 2 ] # told once
        expect [ -z "$(ls -A small)" ]
    done
    # What was to be replaced is still there.
    mkdir few && cp -r src/class_0001 few/ && find few -name '*.bin' | sed 2q | sort >few.txt
    find few -name '*.bin' | sort | comm -23 - few.txt | xargs rm
    run "$dlbench" convert few small/dst --format files --from files --set dataset.codec=raw
    expect_exit 0
    (cd small/dst && find . -type f -exec sha256sum {} +) >few.txt
    expect_error E_NO_SPACE 3 "$dlbench" convert src small/dst --format files --overwrite
    expect [ "$(cd small/dst && find . -type f -exec sha256sum {} +)" = "$(cat few.txt)" ]
    expect [ "$(ls -A small)" = dst ]
    umount small
else
    echo "not shown: a full disk (no right to mount one)"
fi

finish
