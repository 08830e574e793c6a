#!/usr/bin/env bash
# --resume: what is refused, and why; an interrupted sweep; a full disk; a few kills at random (tests/faults/resume.py has many).
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

grid=("${quick[@]}" --set run.repeats=2 --exhaustive --set 'sweep.loader.num_workers=[0, 1]')
journal=results/s/journal.jsonl
n_repetitions() { grep -c '"is":"repetition"' "$journal"; }

# Kills a sweep when its journal has that many repetitions.
kill_sweep() {
    rm -rf results/s
    "$dlbench" sweep "${grid[@]}" --run-name s >"$out" 2>"$err" </dev/null &
    pid=$! last='sweep, killed'
    for _ in $(seq 600); do
        [ "$(grep -cs '"is":"repetition"' "$journal")" -ge "$1" ] 2>/dev/null && break
        sleep 0.05
    done
    kill -9 "$pid"
    wait "$pid"
    expect [ "$(n_repetitions)" -ge "$1" ]
}

# --- nothing to resume
expect_error E_NOT_FOUND 3 "$dlbench" sweep --resume results/none
expect_error E_RESUME_NOTHING 2 "$dlbench" sweep --resume /
mkdir -p results/own
expect_error E_RESUME_NOTHING 2 "$dlbench" sweep --resume results/own
echo notes >results/own/journal.jsonl
expect_error E_RESULT_FOREIGN 2 "$dlbench" sweep --resume results/own
expect_err '^dlbench: results/own: .*"journal\.jsonl".* --resume\b'
expect_error E_RESULT_FOREIGN 2 "$dlbench" sweep "${grid[@]}" --run-name own --overwrite
expect [ "$(cat results/own/journal.jsonl)" = notes ]
run "$dlbench" run "${brief[@]}" --run-name whole
expect_exit 0
expect_no_file results/whole/journal.jsonl
expect_error E_RESUME_NOTHING 2 "$dlbench" run --resume results/whole
expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" sweep --resume results/s --run-name t
expect_error E_USAGE_UNKNOWN_FLAG 2 "$dlbench" doctor --resume results/s

# --- what was measured is not overwritten by mistake
kill_sweep 6
cp -r results/s before
expect_error E_RESULT_UNFINISHED 2 "$dlbench" sweep "${grid[@]}" --run-name s

# --- another configuration, command, data set, program, version; damage: refused, and nothing is changed
expect_error E_RESUME_OTHER_CONFIG 2 "$dlbench" run --resume results/s
expect_error E_RESUME_OTHER_CONFIG 2 "$dlbench" sweep --resume results/s "${grid[@]}" --set run.repeats=4
expect_err 'run\.repeats was 2, now 4'
expect_error E_RESUME_OTHER_CONFIG 2 "$dlbench" sweep --resume results/s "${quick[@]}"
expect_err 'sweep\.loader\.num_workers'
cp "$dlbench" other
printf 'x' >>other
expect_error E_RESUME_OTHER_PROGRAM 2 ./other sweep --resume results/s
expect_err 'xxh64'
sed -i '1s/"journal":1/"journal":2/' "$journal"
expect_error E_JOURNAL_VERSION 3 "$dlbench" sweep --resume results/s
cp before/journal.jsonl "$journal"
sed -i '3s/"block":0/"block":1/' "$journal"
expect_error E_JOURNAL_DAMAGED 3 "$dlbench" sweep --resume results/s
expect_err "$journal @ [0-9]+: "
cp before/journal.jsonl "$journal"
expect cmp before/journal.jsonl "$journal"

# --- it goes on, also where the last record is cut, from another folder, with its own configuration or without
truncate -s -7 "$journal"
mkdir elsewhere
run env -C elsewhere "$dlbench" sweep --resume ../results/s/ "${grid[@]}" --json
expect_exit 0
valid_summary "$out"
expect_json "d['resumed']['times'] == 1 and d['run_name'] == 's' and not d['partial'] and all(c['status'] == 'ok' for c in d['cells'])"
expect_json "[len(c['samples_per_s']['values']) for c in d['cells']] == [2, 2]"
expect_no_file "$journal"
expect [ -z "$(find results -name '.cells-*' -o -name '*.tmp')" ]

# --- the data have changed
run "$dlbench" gen --dataset.format files --dataset.codec raw --dataset.path data --generate.samples 64 --generate.sample_bytes 512
expect_exit 0
grid=(--dataset.format files --dataset.codec raw --dataset.path data --loader.batch_size 4 --device.step_ms 1 --run.repeats 5)
rm -rf results/s
"$dlbench" run "${grid[@]}" --run-name s >"$out" 2>"$err" </dev/null &
pid=$! last='run, killed'
for _ in $(seq 600); do [ "$(grep -cs '"is":"block"' "$journal")" -ge 2 ] 2>/dev/null && break; sleep 0.05; done
kill -9 "$pid"
wait "$pid"
f=$(find data -type f -name '*.bin' | head -n 1)
[ -n "$f" ] || f=$(find data -mindepth 2 -type f | head -n 1)
mv "$f" moved
expect_error E_RESUME_OTHER_DATA 2 "$dlbench" run --resume results/s
expect_err 'samples was 64, now 63'
mv moved "$f"
run "$dlbench" run --resume results/s --json
expect_exit 0
expect_json "d['resumed']['times'] == 1 and len(d['cells'][0]['samples_per_s']['values']) == 5"

# --- an interrupted one says how to go on; beside an earlier result, which stays until the new one is whole
before=$(sha256sum <results/s/summary.json)
"$dlbench" run "${grid[@]}" --run-name s --overwrite >"$out" 2>"$err" </dev/null &
pid=$! last='run, interrupted'
for _ in $(seq 600); do [ "$(grep -cs '"is":"block"' "$journal")" -ge 2 ] 2>/dev/null && break; sleep 0.05; done
kill -INT "$pid"
end_long
expect_exit 130
expect_err 'dlbench run --resume results/s$'
expect_file results/s.partial/summary.json
expect [ "$(sha256sum <results/s/summary.json)" = "$before" ]
run "$dlbench" run --resume results/s --json
expect_exit 0
expect_json "d['resumed']['times'] == 1 and len(d['cells'][0]['samples_per_s']['values']) == 5"
expect [ "$(sha256sum <results/s/summary.json)" != "$before" ]
expect_no_file "$journal"

# --- no space: told at once, and kept
: "${DLB_BUILD_DIR:?}"
if [ -z "$DLB_SANITIZE" ]; then
    for call in write fsync; do
        rm -rf results/s
        run env LD_PRELOAD="$DLB_BUILD_DIR/tests/libfaults.so" \
            DLB_FAULT="at=$call,in=look,path=/journal.jsonl,after=5,effect=ENOSPC" "$dlbench" run "${grid[@]}" --device.step_ms 0 --run-name s
        expect_exit 3
        expect_code E_NO_SPACE
        expect_err 'dlbench run --resume results/s$'
        run "$dlbench" run --resume results/s --json
        expect_exit 0
        expect_json "d['resumed']['times'] == 1 and len(d['cells'][0]['samples_per_s']['values']) == 5"
    done
    # --- Ctrl-C, and the folder cannot be examined: the journal stays
    interrupt_with() { # DLB_FAULT
        rm -rf results/s
        LD_PRELOAD="$DLB_BUILD_DIR/tests/libfaults.so" DLB_FAULT="in=look,log=$tmp/faults,$1" "$dlbench" run "${grid[@]}" --run-name s \
            >"$out" 2>"$err" </dev/null &
        pid=$! last="run with $1, interrupted"
        for _ in $(seq 600); do [ "$(grep -cs '"is":"block"' "$journal")" -ge 2 ] 2>/dev/null && break; sleep 0.05; done
        kill -INT "$pid"
        end_long
        expect [ "$(sort -u "$tmp/faults" | grep -c "^$pid ")" -eq 1 ]
    }
    for fault in at=read,path=/summary.json,times=1,effect=EIO at=open,path=journal.jsonl,after=2,times=1,effect=EMFILE \
        at=list,path=results/s,after=4,effect=EIO; do
        interrupt_with "$fault"
        expect_exit 130
        expect [ "$(n_repetitions)" -ge 2 ]
        run "$dlbench" run --resume results/s --json
        expect_exit 0
        expect_json "d['resumed']['times'] == 1 and len(d['cells'][0]['samples_per_s']['values']) == 5"
    done

    # --- Ctrl-C when every cell so far has failed
    rm -rf results/s
    LD_PRELOAD="$DLB_BUILD_DIR/tests/libfaults.so" DLB_FAULT='in=cell,at=read,path=/data/,effect=EIO' "$dlbench" sweep "${grid[@]}" --exhaustive \
        --set 'sweep.loader.num_workers=[0, 1, 2, 3]' --set 'sweep.loader.batch_size=[1, 2, 3, 4, 5, 6, 7, 8]' --run-name s >"$out" 2>"$err" </dev/null &
    pid=$! last='sweep that fails, interrupted'
    for _ in $(seq 600); do [ "$(grep -cs '"is":"repetition"' "$journal")" -ge 20 ] 2>/dev/null && break; sleep 0.05; done
    kill -INT "$pid"
    end_long
    expect_exit 130
    expect_code E_IO
    expect_err 'dlbench sweep --resume results/s$'

    # --- the user's module has changed
    printf 'class Train:\n    def __len__(self): return 64\n    def __getitem__(self, i): return memoryview(bytes(64))\n' >data.py
    export PYTHONPATH=$DLB_SOURCE_DIR/tests/support/torch_double
    run env LD_PRELOAD="$DLB_BUILD_DIR/tests/libfaults.so" DLB_FAULT="at=fsync,in=look,path=/journal.jsonl,after=5,effect=ENOSPC" \
        "$dlbench" run --dataset.format python --python.dataset data.py:Train --loader.kind torch --loader.num_workers 0 \
        --loader.batch_size 4 --device.step_ms 1 --run.repeats 3 --run-name module
    expect_exit 3
    cp data.py data.old
    echo '# slower' >>data.py
    expect_error E_RESUME_OTHER_PROGRAM 2 "$dlbench" run --resume results/module
    expect_err 'modules data\.py was'
    mv data.old data.py
    run "$dlbench" run --resume results/module --json
    expect_exit 0
    unset PYTHONPATH

    # --- two configurations in turns: with both, and with no other
    for ms in 1 2; do
        printf '[dataset]\nformat = "synthetic"\ncodec = "raw"\n[generate]\nsamples = 64\n[loader]\nbatch_size = 4\n[device]\nstep_ms = %s\n[run]\nrepeats = 3\n' \
            "$ms" >"$ms.toml"
    done
    run env LD_PRELOAD="$DLB_BUILD_DIR/tests/libfaults.so" DLB_FAULT="at=fsync,in=look,path=/journal.jsonl,after=9,effect=ENOSPC" \
        "$dlbench" compare --run 1.toml 2.toml --run-name turns
    expect_exit 3
    expect_err 'dlbench compare --run 1\.toml 2\.toml --resume results/turns$'
    expect_error E_USAGE_UNEXPECTED_ARGUMENT 2 "$dlbench" compare results/s results/s --resume results/turns
    expect_error E_RESUME_OTHER_CONFIG 2 "$dlbench" compare --run 1.toml 1.toml --resume results/turns
    expect_err 'device\.step_ms was 2\.0, now 1\.0'
    run "$dlbench" compare --run 1.toml 2.toml --resume results/turns --json
    expect_exit 0
    expect_json "d['resumed']['times'] == 1 and [c['blocks'] for c in d['cells']] == [[0, 1, 2]] * 2"
    expect_json "d['compare']['between']['by'] == 'pairs' and d['compare']['overall']['low'] is not None"

    DLB_FAULTS_SO=$DLB_BUILD_DIR/tests/libfaults.so run python3 "$DLB_SOURCE_DIR/tests/faults/resume.py" --kills 8 --only sweep
    expect_exit 0
    cat "$out"
fi
finish
