#include "scenarios/gap/rungs/rung.h"

#include "core/base/escape.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "core/host/osacct.h"
#include "scenarios/gap/rungs/array.h"
#include "scenarios/gap/rungs/measured.h"
#include "scenarios/gap/rungs/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define X(name, text, summary) extern const struct dlb_gap_rung dlb_gap_rung_##name;
#include "scenarios/gap/rungs/rungs.def"
#undef X

static const struct entry {
    const char *name;
    const struct dlb_gap_rung *rung;
} entries[] = {
#define X(name, text, summary) {text, &dlb_gap_rung_##name},
#include "scenarios/gap/rungs/rungs.def"
#undef X
};

const char *const dlb_gap_rung_names[] = {
#define X(name, text, summary) text,
#include "scenarios/gap/rungs/rungs.def"
#undef X
    NULL};

static const struct entry *find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

/* The program itself, threads' stacks, and the memory that measures the price of a fault. */
#define OWN_BYTES (UINT64_C(160) << 20)

static uint64_t target_bytes(const struct dlb_gap_params *params)
{
    return params->target == DLB_GAP_TARGET_BUFFER ? dlb_gap_batch_bytes(params) : 0;
}

uint64_t dlb_gap_rung_bytes(const struct dlb_gap_params *params, const char *name)
{
    const struct entry *entry = find(name);
    return entry ? dlb_gap_array_bytes(params) + entry->rung->bytes(params) + target_bytes(params) +
                       OWN_BYTES
                 : 0;
}

static int check_memory(const struct dlb_gap_params *params, const char *name, struct dlb_err *err)
{
    char need[32], have[32], array[32];
    uint64_t bytes = dlb_gap_rung_bytes(params, name), available = dlb_os_mem_available_bytes();

    if (available == DLB_NOT_MEASURED || bytes <= available)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_GAP_TOO_LARGE, NULL, DLB_NO_OFFSET,
                    "rung %s needs %s of memory (%s of it for the array), and %s is available: "
                    "lower gap.samples or gap.batch_size",
                    name, dlb_bytes_text(bytes, need, sizeof need),
                    dlb_bytes_text(dlb_gap_array_bytes(params), array, sizeof array),
                    dlb_bytes_text(available, have, sizeof have));
}

static void name_accounts(struct dlb_gap_run *run, const struct dlb_gap_rung *rung)
{
    uint32_t n_workers = rung->workers ? (uint32_t)run->params->workers : 0;
    for (uint32_t i = 0; i < n_workers; i++)
        (void)snprintf(run->ledger->account[1 + i].name, sizeof run->ledger->account->name,
                       "worker %u", i);
    if (rung->pin_thread)
        (void)snprintf(run->ledger->account[1 + n_workers].name, sizeof run->ledger->account->name,
                       "pin thread");
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

/* Array, mappings and processes first; then the device; then threads. */
static int set_up(struct dlb_gap_run *run, const struct dlb_gap_rung *rung, const char *name,
                  struct dlb_rung_start_up *start_up, struct dlb_err *err)
{
    const struct dlb_gap_params *params = run->params;
    uint32_t n_others = rung->pin_thread + (rung->workers ? (uint32_t)params->workers : 0);
    uint64_t start_ns = dlb_now_ns();
    int rc = check_memory(params, name, err);

    if (rc == DLB_OK)
        rc = dlb_gap_ledger_open(&run->ledger_memory, &run->ledger, n_others, err);
    if (rc != DLB_OK)
        return rc;
    run->loop = run->target.loop = &run->ledger->account[0];
    name_accounts(run, rung);
    rc = dlb_gap_array_open(&run->array, params, run->cancel, err);
    start_up->array_s = seconds_since(start_ns);
    start_ns = dlb_now_ns();
    if (rc == DLB_OK && rung->prepare)
        rc = rung->prepare(run, err);
    start_up->prepare_s = seconds_since(start_ns);
    start_ns = dlb_now_ns();
    if (rc == DLB_OK)
        rc = dlb_gap_target_open(&run->target, params, rung->streams, err);
    start_up->device_s = seconds_since(start_ns);
    start_ns = dlb_now_ns();
    if (rc == DLB_OK && rung->start)
        rc = rung->start(run, err);
    start_up->start_s = seconds_since(start_ns);
    return rc;
}

static int one_epoch(struct dlb_gap_run *run, const struct dlb_gap_rung *rung, uint64_t *wall_ns,
                     struct dlb_err *err)
{
    dlb_gap_ledger_reset(run->ledger);
    dlb_gap_account_open(run->loop);
    uint64_t start_ns = dlb_now_ns();
    int rc = rung->epoch(run, err);
    if (rc == DLB_OK)
        rc = dlb_gap_target_drain(&run->target, err);
    *wall_ns = dlb_now_ns() - start_ns;
    dlb_gap_account_close(run->loop);
    run->epoch++;
    return rc;
}

static int all_epochs(struct dlb_gap_run *run, const struct dlb_gap_rung *rung,
                      struct dlb_gap_measured *m, struct dlb_err *err)
{
    const struct dlb_gap_params *params = run->params;
    uint64_t ignored_ns;
    uint64_t batch_bytes = dlb_gap_batch_bytes(params);
    int rc =
        dlb_gap_fault_cost(&m->own_fault, DLB_GAP_PRIVATE, DLB_GAP_PAGES_SMALL, batch_bytes, err);
    if (rc == DLB_OK)
        rc = dlb_gap_check(run, err);
    if (rc == DLB_OK)
        rc = dlb_gap_fault_cost(&m->batch_fault, rung->fault_kind,
                                (enum dlb_gap_pages)params->pages, batch_bytes, err);
    for (int64_t e = 0; rc == DLB_OK && e < params->warmup_epochs; e++) {
        run->checksumming = e == 0;
        rc = one_epoch(run, rung, &ignored_ns, err);
    }
    run->checksumming = false;
    run->target.copy_calls = run->target.sync_calls = (struct dlb_hist){0};
    for (int64_t e = 0; rc == DLB_OK && e < params->epochs; e++) {
        rc = one_epoch(run, rung, &m->wall_ns[e], err);
        if (rc == DLB_OK)
            memcpy(m->ledgers + (size_t)e * m->ledger_bytes, run->ledger, m->ledger_bytes);
    }
    if (rc == DLB_OK)
        m->array_huge_frac = dlb_gap_huge_frac(&run->array);
    return rc;
}

static int measure(struct dlb_gap_run *run, const struct entry *entry, struct dlb_gap_measured *m,
                   struct dlb_err *err)
{
    const struct dlb_gap_rung *rung = entry->rung;
    run->state = dlb_mem_new(rung->state_bytes);
    int rc = set_up(run, rung, entry->name, &m->start_up, err);
    if (rc == DLB_OK) {
        m->ledger_bytes = dlb_gap_ledger_bytes(run->ledger);
        m->wall_ns = dlb_mem_array((size_t)run->params->epochs, sizeof *m->wall_ns);
        m->ledgers = calloc((size_t)run->params->epochs, m->ledger_bytes);
        if (!m->ledgers)
            rc = dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "allocating the accounts of all epochs");
    }
    return rc == DLB_OK ? all_epochs(run, rung, m, err) : rc;
}

static void clean_up(struct dlb_gap_run *run, const struct dlb_gap_rung *rung,
                     struct dlb_gap_measured *m)
{
    if (run->state && rung->stop)
        rung->stop(run);
    dlb_gap_unmap(&run->array);
    dlb_gap_unmap(&run->ledger_memory);
    free(run->state);
    free(m->ledgers);
    free(m->wall_ns);
}

void dlb_gap_rung_run(const struct dlb_gap_params *params, const char *name,
                      const atomic_bool *cancel, struct dlb_pulse *pulse,
                      struct dlb_rung_result *result)
{
    const struct entry *entry = find(name);
    struct dlb_err err = {.offset_bytes = DLB_NO_OFFSET};
    struct dlb_gap_run run = {
        .params = params, .cancel = cancel, .pulse = pulse, .target = {.cancel = cancel}};

    if (!entry) {
        (void)dlb_fail(&err, DLB_ERR_RUNG_UNKNOWN, NULL, DLB_NO_OFFSET,
                       "the ladder has no rung \"%.*s\"", DLB_CUT(name, 60));
        dlb_rung_result_fail(result, name, &err);
        return;
    }
    struct dlb_gap_measured m = {.name = entry->name,
                                 .rung = entry->rung,
                                 .run = &run,
                                 .array_huge_frac = (double)NAN,
                                 .start_up = {.import_s = (double)NAN}};
    /* As in a cell: without timer slack, sleeps are not rounded up. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (measure(&run, entry, &m, &err) == DLB_OK)
        dlb_gap_measured_result(&m, result);
    else
        dlb_rung_result_fail(result, name, &err);
    /* The device is closed before the memory that it reads is unmapped. If it does not finish, that
     * memory stays. */
    if (dlb_gap_target_close(&run.target))
        clean_up(&run, entry->rung, &m);
    else
        result->stuck = true;
}
