#!/usr/bin/env bash
# Worker processes from the command line: the same samples as threads, deaths are reported, no process stays behind.
. "$(dirname "$0")/lib.sh"
. "$DLB_SOURCE_DIR/tests/cli/measure.sh"

processes=(--set loader.kind=processes --set loader.num_workers=2)

# --- the same content, once, and in the same order, in each epoch
for kind in threads processes; do
    for order in in-order any; do
        run "$dlbench" run "${brief[@]}" --set loader.kind=$kind --set loader.num_workers=2 --set loader.order=$order \
            --set run.epochs=3 --set run.checksum=true --set loader.shuffle=true --set loader.drop_last=true \
            --run-name $kind-$order --json
        expect_exit 0
        valid_summary "$out"
        expect_json 'all(e["samples"] == e["unique"] == e["expected"] == 320 for e in d["cells"][0]["epochs"])'
        json_get "$out" '[e["set_checksum"] for e in d["cells"][0]["epochs"]]' >"set.$kind.$order"
        json_get "$out" '[e["seq_checksum"] for e in d["cells"][0]["epochs"]]' >"seq.$kind.$order"
    done
done
for other in threads.any processes.in-order processes.any; do expect cmp -s set.threads.in-order "set.$other"; done
expect cmp -s seq.threads.in-order seq.processes.in-order

# --- what is told of PyTorch
run_until "$judged(d)" "$dlbench" run "${quick[@]}" "${processes[@]}" --set generate.samples=3280 --set loader.order=any \
    --set loader.timeout_s=60 --run-name words --overwrite --json
expect_exit 0
expect_json "\"in_order=False\" in d[\"pytorch\"] and \"timeout=60\" in d[\"pytorch\"] if $judged(d) else d[\"pytorch\"] == \"\""
expect_json 'any(n["code"] == "NO_TRANSPORT" for n in d["not_modelled"]) and not any(n["code"] == "NO_WORKER_PROCESSES" for n in d["not_modelled"])'

# --- an expensive constructor, paid at each start: 2 workers, 3 epochs
run "$dlbench" run "${brief[@]}" "${processes[@]}" --set loader.worker_init_ms=3 --set loader.worker_init_mb=2 \
    --set run.epochs=3 --set run.warmup_batches=0 --run-name init --json
expect_exit 0
expect_json 'd["cells"][0]["worker_stages"]["init"]["count"] == 6 and d["cells"][0]["worker_stages"]["init"]["sum_ns"] >= 18e6'
run "$dlbench" run "${brief[@]}" "${processes[@]}" --set loader.worker_init_ms=3 --set loader.persistent_workers=true \
    --set run.epochs=3 --set run.warmup_batches=0 --run-name init --overwrite --json
expect_json 'd["cells"][0]["worker_stages"]["init"]["count"] == 2'

# --- fresh memory is not pinned in place
expect_error E_LOADER_FRESH_PINNED 2 "$dlbench" run "${quick[@]}" "${processes[@]}" --set loader.transport=fresh \
    --set loader.pin_memory=true --run-name fresh
expect_err 'loader\.pin_mode'
run "$dlbench" run "${brief[@]}" "${processes[@]}" --set loader.transport=fresh --set loader.pin_memory=true \
    --set loader.pin_mode=thread --set run.checksum=true --run-name fresh --overwrite --json
expect_exit 0
expect_json 'd["cells"][0]["status"] == "ok"'

# Workers of a cell below the program: its child's child's children.
workers_of() {
    local cell server
    cell=$(child_of "$1") && server=$(child_of "$cell") && cat "/proc/$server/task/$server/children"
}
gone() {
    for _ in $(seq 100); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.1; done
    failed "process $1 should be gone"
}

# --- kill -9 of a worker: told by name, at once
start_long results/killed --run-name killed "${processes[@]}"
for _ in $(seq 100); do victims=$(workers_of "$pid" 2>/dev/null); [ -n "$victims" ] && break; sleep 0.1; done
set -- $victims
kill -9 "$1"
end_long
expect_exit 3
expect_err "worker [01] .*pid $1\).*SIGKILL"
for worker in $victims; do gone "$worker"; done

# --- the program dies: its workers do not stay behind
start_long results/orphan --run-name orphan "${processes[@]}"
for _ in $(seq 100); do victims=$(workers_of "$pid" 2>/dev/null); [ -n "$victims" ] && break; sleep 0.1; done
kill -9 "$pid"
end_long
for worker in $victims; do gone "$worker"; done

# --- Ctrl-C ends them too, and what was measured stays
start_long results/stopped --run-name stopped "${processes[@]}"
for _ in $(seq 100); do victims=$(workers_of "$pid" 2>/dev/null); [ -n "$victims" ] && break; sleep 0.1; done
kill -INT "$pid"
end_long
expect_exit 130
for worker in $victims; do gone "$worker"; done

# --- a worker that has no shard is told
if has_module format webdataset; then
    run "$dlbench" gen --set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=shards \
        --set generate.samples=40 --set generate.sample_bytes=500
    expect_exit 0
    run "$dlbench" run --set dataset.format=webdataset --set dataset.codec=raw --set dataset.path=shards "${processes[@]}" \
        --set loader.num_workers=9 --set loader.batch_size=4 --set device.step_ms=0 --set run.repeats=1 --run-name idle --json
    expect_exit 0
    expect_json 'any(n["code"] == "IDLE_WORKERS" for n in d["notes"])'
fi

finish
