#!/usr/bin/env bash
# torch makes shared memory as /dev/shm/torch_<process>_<random>_<counter>, and unlinks it at once. What a process leaves that is killed in
# between is unlinked when all of its cell have ended, and no other file is.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
[[ -w /dev/shm ]] || skip "/dev/shm cannot be written"
[[ $(cat /proc/sys/fs/leases-enable 2>/dev/null) == 1 ]] || skip "no leases: nobody can tell whether a file is in use"
unset VIRTUAL_ENV CONDA_PREFIX
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double NAME=dlbench-test-$$
touch made
trap 'kill -9 $killed 2>/dev/null; cat made* | xargs -r rm -f; rm -rf "$tmp" "/dev/shm/$NAME"-*' EXIT
killed="" n=0
# Each process that is forked makes a file, and the loop's one, too. One process is an orphan of a group of its own.
cat >train.py <<'PY'
import os, signal, time
import torch
from torch.utils.data import Dataset


def make(what, name=None):
    path = "/dev/shm/torch_%s_123456789_%d" % (name or os.getpid(), what)
    with open("made", "a") as file:
        file.write(path + "\n")
    return path


def make_mine():
    """As torch makes it: first its size, in newer versions its blocks, then a zero. Some are killed at each of these."""
    file = os.open(make(1), os.O_CREAT | os.O_RDWR)
    os.truncate(file, 1 << 20)
    kind = os.getpid() % 3
    if kind > 1:
        os.posix_fallocate(file, 0, 1 << 20)
    if kind > 0:
        os.write(file, b"\0")


def take_others():
    """Files that are not the cell's, with names that are: an older one, and one that another process has open."""
    for what, name in enumerate(("old", "held"), 2):
        os.rename("/dev/shm/%s-%s" % (os.environ["NAME"], name), make(what))
    os.utime("/dev/shm/torch_%d_123456789_3" % os.getpid())
    os.close(os.open(make(4, os.environ["STRANGER"]), os.O_CREAT | os.O_RDWR))
    os.close(os.open(make(5) + ".mine", os.O_CREAT | os.O_RDWR))
    with open(make(6), "w") as file:
        file.write("a batch")


class Mine(Dataset):
    def __init__(self, at=-1, workers=0):
        self.at, self.n_made = at, 3 + workers
        os.register_at_fork(after_in_child=make_mine)
        make_mine()
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                signal.pause()
            os._exit(0)
        if os.path.exists("/dev/shm/%s-old" % os.environ["NAME"]):
            take_others()

    def __len__(self):
        return 64

    def __getitem__(self, i):
        while i == 0 and sum(line.endswith("_1\n") for line in open("made")) < self.n_made:
            time.sleep(0.01)
        if i == 20 and self.at == i:
            os.kill(os.getpid(), signal.SIGKILL)
        if i == 0 and self.at == -2:  # before the first batch, so that whatever asks first stays here
            time.sleep(1000)
        return torch.zeros(8)
PY

arguments=(run --set loader.kind=torch --set dataset.format=python --set python.interpreter=python3 --set python.dataset=train.py:Mine
    --set loader.batch_size=8 --set device.step_ms=1 --set run.warmup_batches=0 --set run.repeats=1 --set loader.shuffle=false
    --results results --overwrite --json)
of_workers() { echo --set "loader.num_workers=$1" --set "python.args.workers=$1" --set "python.args.at=$2"; }
begin() { mv made "made.$((n++))" && touch made; }
left() { compgen -G "/dev/shm/torch_*_123456789_1" | grep -Fxf made; }

for case in "0 20" "2 -1" "2 20"; do # the process that loads is killed; to the end
    read -r workers at <<<"$case"
    begin
    # shellcheck disable=SC2046 # words
    run "$dlbench" "${arguments[@]}" $(of_workers "$workers" "$at")
    [[ $(wc -l <made) -ge $((3 + workers)) ]] || failed "too few files were made in /dev/shm"
    ! left || failed "num_workers = $workers, at = $at: left in /dev/shm"
done

# dlbench is killed: the keeper ends the others, and is waited for by nobody.
begin
# shellcheck disable=SC2046 # words
"$dlbench" "${arguments[@]}" $(of_workers 2 -2) >"$out" 2>"$err" </dev/null &
killed=$!
for ((i = 0; i < 600 && $(left | wc -l) < 5; i++)); do sleep 0.1; done
[[ $(left | wc -l) -ge 5 ]] || failed "five files should lie in /dev/shm while the cell runs"
kill -9 "$killed"
wait "$killed" 2>/dev/null
killed=""
for ((i = 0; i < 100; i++)); do
    left >/dev/null || break
    sleep 0.1
done
! left || failed "dlbench was killed: left in /dev/shm"

# Strangers' files: of another process, older than the cell, open in another process, of another name, and with bytes.
begin
true &
export STRANGER=$!
wait "$STRANGER"
touch -d "1 minute ago" "/dev/shm/$NAME-old"
exec 9<>"/dev/shm/$NAME-held"
# shellcheck disable=SC2046 # words
run "$dlbench" "${arguments[@]}" $(of_workers 0 -1)
expect_exit 0
! left || failed "left in /dev/shm beside strangers' files"
[[ $(grep -c '_[2-6]$' made) == 5 ]] || failed "the strangers' files were not made"
sed -n '/_[2-46]$/p; s/_5$/_5.mine/p' made >strangers
while read -r file; do
    [[ -e $file ]] || failed "a stranger's file was unlinked: ${file##*_}"
done <strangers
exec 9>&-
xargs -r rm -f <strangers

finish
