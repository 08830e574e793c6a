#!/usr/bin/env bash
# A rank whose cell makes no progress keeps all waiting: it is named, with what it waits in, and can go on.
source "$DLB_SOURCE_DIR/tests/cli/lib.sh"
source "$DLB_SOURCE_DIR/tests/cli/measure.sh"
source "$DLB_SOURCE_DIR/tests/mpi/mpi.sh"
find_mpi
source "$DLB_SOURCE_DIR/tests/cli/slowfs.sh"

for mpi in "${implementations[@]}"; do
    # --- a cell is stopped, and the others wait for it: it alone is named, and it can go on
    start_ranks "$mpi" cell --set accelerators.barrier=true
    stopped=$(cell_of_rank cell 2)
    kill -STOP "$stopped"
    await_err 75 'rank 2 on .*stopped by a signal'
    expect [ "$(grep -c 'rank [013] on' "$err")" -eq 0 ]
    kill -CONT "$stopped"
    sleep 2
    kill -INT "$pid"
    expect_end 10 cell launcher
    expect [ "$(json_get results/cell/summary.json '(d["partial"], len(d["ranks"]))')" = '(True, 4)' ]
    rm -rf results/cell
done

# --- the storage does not answer any more: call and file are named
files=4000 sample=65536
mount_slow 1000 0 0
server=$(pgrep -P "$slowfs_pid")
start_ranks "${implementations[0]}" storage --set dataset.format=files --set dataset.path="$mnt" --set loader.batch_size=4 \
    --set run.epochs=20 --set loader.num_workers=1
kill -STOP "$server"
await_err 75 "rank [0-3] on .*in (open|read|pread|stat)\(\) of $mnt/"
kill -CONT "$server"
sleep 1
kill -INT "$pid"
expect_end 20 storage launcher
unmount_slow
finish
