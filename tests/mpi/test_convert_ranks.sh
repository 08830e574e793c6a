#!/usr/bin/env bash
# convert on four ranks by each MPI: the files of one process; what is refused; ranks that are killed or interrupted.
[ -d /dev/shm ] && [ -w /dev/shm ] && : "${TMPDIR:=/dev/shm}"
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi
has_module format webdataset || skip "this build has no format webdataset"

raw=(--set dataset.codec=raw --set generate.sample_bytes=2000 --set generate.classes=5)
"$dlbench" gen "${raw[@]}" --set dataset.format=files --set generate.samples=203 --set dataset.path=files >/dev/null 2>&1
"$dlbench" gen "${raw[@]}" --set dataset.format=webdataset --set webdataset.shard_samples=11 --set generate.samples=120 \
    --set dataset.path=shards >/dev/null 2>&1
"$dlbench" gen "${raw[@]}" --set dataset.format=webdataset --set generate.samples=100000 --set generate.sample_bytes=100 \
    --set dataset.path=big >/dev/null 2>&1
cp -r shards damaged
printf '%0600d' 0 | dd of=damaged/shard-000004.tar bs=1 seek=20480 conv=notrunc 2>/dev/null
of_files=(--from files --set dataset.codec=raw)
to_shards=(--format webdataset --set webdataset.shard_samples=7)
"$dlbench" convert files files-shards "${of_files[@]}" "${to_shards[@]}" >/dev/null 2>&1
"$dlbench" convert shards shards-files --format files >/dev/null 2>&1
"$dlbench" convert shards shards-shards "${to_shards[@]}" >/dev/null 2>&1

leave_out=(--set dataset.on_error=skip)
"$dlbench" convert damaged damaged-files --format files "${leave_out[@]}" >/dev/null 2>&1
# Labels in some samples only, each kind in shards of its own. A sample's halves in the first and the last shard.
python3 - <<'PY'
import io, os, tarfile
def tar(name, members):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with tarfile.open(name, "w") as file:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
for s in range(4):
    full = [(f"{s}{i}.{field}", b"1") for i in range(10) for field in ("txt", "cls")]
    tar(f"mixed/{s}.tar", [m for m in full if s < 2 or m[0].endswith("txt")])
    halves = {0: [("h.txt", b"1")], 3: [("h.bin", b"1"), ("h.cls", b"1")]}
    tar(f"halves/{s}.tar", full + halves.get(s, []))
PY

together() { run "${launch[@]}" "$dlbench" convert "$@"; }
nothing_left() { expect [ -z "$(find . -maxdepth 2 -name "$1*")" ]; } # name of the target
refused() { # code, target, source, further arguments
    local wanted=$1 target=$2 source=$3
    shift 3
    together "$source" "$target" "$@"
    expect [ "$code" -ne 0 ]
    expect_code "$wanted"
    nothing_left "$target"
}

# A conversion that takes a while: pid.
start() { # target
    last="${launch[*]} convert big $1"
    setsid "${launch[@]}" "$dlbench" convert big "$1" --format files >"$out" 2>"$err" </dev/null &
    pid=$!
    for _ in $(seq 400); do [ -n "$(find "$1".part-* -name '*.bin' -print -quit 2>/dev/null)" ] && return; sleep 0.02; done
}
processes_of() { pgrep -f "^[^ ]*dlbench convert big $1( |\$)"; }
runner_of() { # target, rank: the child of the process that the launcher started
    for p in $(processes_of "$1"); do
        [ "$(rank_of "$p")" = "$2" ] && ! processes_of "$1" | grep -qx "$(parent_of "$p")" && pgrep -P "$p"
    done
}
ended() { # target
    for _ in $(seq 400); do [ -z "$(processes_of "$1")" ] && break; sleep 0.05; done
    expect [ -z "$(processes_of "$1")" ]
    wait "$pid"
    code=$?
    nothing_left "$1"
}

for mpi in "${implementations[@]}"; do
    launcher "$mpi" "$n_ranks"
    # --- as by one process
    together files "$mpi-1" "${of_files[@]}" "${to_shards[@]}" --json
    expect_exit 0
    expect_json 'd["samples"] == d["verified"] == 203 and d["bytes"] == 406000'
    expect diff -r files-shards "$mpi-1"
    together shards "$mpi-2" --format files
    expect_exit 0
    expect diff -r shards-files "$mpi-2"
    together shards "$mpi-3" "${to_shards[@]}"
    expect_exit 0
    expect diff -r shards-shards "$mpi-3"
    together files "$mpi-3" "${of_files[@]}" "${to_shards[@]}" --overwrite
    expect_exit 0
    expect diff -r files-shards "$mpi-3"
    together shards "$mpi-3" "${to_shards[@]}"
    expect [ "$code" -ne 0 ]
    expect_code E_TARGET_EXISTS
    expect diff -r files-shards "$mpi-3"
    together shards "$mpi-7" --format webdataset # one shard, so three ranks have no share
    expect_exit 0
    expect [ "$(ls "$mpi-7")" = shard-000000.tar ]
    together damaged "$mpi-8" --format files "${leave_out[@]}" --json
    expect_exit 0
    expect_json 'd["cut_shards"] == 1 and len(d["skipped"]) == 1 and d["samples"] < 120'
    expect diff -r damaged-files "$mpi-8"
    if has_module format hdf5; then # one file, by one rank; a library reads it on all
        together files "$mpi-4" "${of_files[@]}" --format hdf5
        expect_exit 0
        expect_err 'hdf5.*rank 0'
        "$dlbench" convert "$mpi-4" "$mpi-5" "${to_shards[@]}" >/dev/null 2>&1
        together "$mpi-4" "$mpi-6" "${to_shards[@]}"
        expect_exit 0
        expect_no_err 'rank 0'
        expect diff -r "$mpi-5" "$mpi-6"
    fi
    nothing_left '*.part-'
    rm -rf "$mpi"-*

    # --- what only several ranks together see
    refused E_SAMPLE_NO_LABEL mixed-to mixed --format files
    refused E_SAMPLE_KEY_TWICE halves-to halves "${to_shards[@]}"

    # --- a rank that sees another folder, or another source, writes nothing
    mkdir here there
    cp -r shards here
    cp -r shards there
    launcher "$mpi" 1
    apart=(convert shards moved "${to_shards[@]}")
    run "${launch[@]}" -wdir "$PWD/here" "$dlbench" "${apart[@]}" : -np 1 -wdir "$PWD/there" "$dlbench" "${apart[@]}"
    expect [ "$code" -ne 0 ]
    expect_err 'rank 1 on .*E_RANKS_DATA'
    expect [ "$(ls here there | tr '\n' ' ')" = 'here: shards  there: shards ' ]
    rm there/shards/*3.tar there/shards/.dlbench-manifest.json
    apart=(convert shards "$PWD/moved" "${to_shards[@]}")
    run "${launch[@]}" -wdir "$PWD/here" "$dlbench" "${apart[@]}" : -np 1 -wdir "$PWD/there" "$dlbench" "${apart[@]}"
    expect [ "$code" -ne 0 ]
    expect_err 'rank 1 on .*E_RANKS_DATA'
    nothing_left moved
    rm -rf here there

    # --- a rank's runner is killed, or the process of its share, or all are interrupted
    launcher "$mpi" "$n_ranks"
    start "$mpi-runner"
    kill -9 "$(runner_of "$mpi-runner" 2)"
    ended "$mpi-runner"
    expect [ "$code" -ne 0 ]
    expect_err 'rank 2 on .*SIGKILL.*E_RANK_LOST'
    start "$mpi-share"
    kill -9 "$(pgrep -P "$(runner_of "$mpi-share" 3)")"
    ended "$mpi-share"
    expect [ "$code" -ne 0 ]
    expect_err 'rank 3 on .*E_CHILD_CRASHED'
    start "$mpi-interrupted"
    kill -INT "$pid"
    ended "$mpi-interrupted" # the launcher may end before rank 0's message reaches it
done
finish
