#include "scenarios/gap/rungs/measured.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <stdio.h>

/* The epoch in the middle; of two, the faster. */
static uint32_t median_epoch(const uint64_t *wall_ns, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t below = 0;
        for (uint32_t k = 0; k < n; k++)
            below += wall_ns[k] < wall_ns[i] || (wall_ns[k] == wall_ns[i] && k < i);
        if (below == (n - 1) / 2)
            return i;
    }
    return 0;
}

static void put_epochs(const struct dlb_gap_measured *m, struct dlb_rung_result *out)
{
    out->n_epochs = (uint32_t)m->run->params->epochs;
    out->epochs = dlb_mem_array(out->n_epochs, sizeof *out->epochs);
    for (uint32_t e = 0; e < out->n_epochs; e++)
        out->epochs[e] = (double)m->wall_ns[e] * 1e-9;
}

static void put_huge_pages(const struct dlb_gap_measured *m, struct dlb_rung_huge_pages *out)
{
    const char *asked = dlb_gap_page_names[m->run->params->pages];
    (void)snprintf(out->asked, sizeof out->asked, "%s", asked);
    (void)snprintf(out->batches_asked, sizeof out->batches_asked, "%s", asked);
    out->array_frac = m->array_huge_frac;
    out->batch_frac = m->run->ledger->batch_huge_frac;
}

/* Faults in a batch's memory: of filling, copying and reading it. All other faults are in memory of
 * the process itself (malloc's, say), which is private whatever kind of memory batches use. */
static uint64_t batch_faults(const struct dlb_gap_account *a)
{
    return a->part_faults[DLB_GAP_PART_gather] + a->part_faults[DLB_GAP_PART_stack] +
           a->part_faults[DLB_GAP_PART_pin] + a->part_faults[DLB_GAP_PART_copy];
}

/* The price of all faults of the epoch, and the number of faults of filling a batch. The last batch
 * may be short, so faults are divided by samples and not by batches. */
static void put_faults(const struct dlb_gap_measured *m, const struct dlb_gap_ledger *ledger,
                       struct dlb_rung_faults *out)
{
    const struct dlb_gap_params *params = m->run->params;
    uint64_t filling = 0;
    double ns = 0;

    for (uint32_t i = 0; i < ledger->n_accounts; i++) {
        const struct dlb_gap_account *a = &ledger->account[i];
        if (!a->closed)
            continue;
        uint64_t all = dlb_gap_faults(a), of_batches = batch_faults(a);
        ns += (double)of_batches * m->batch_fault.ns +
              (double)(all > of_batches ? all - of_batches : 0) * m->own_fault.ns;
        filling += a->part_faults[DLB_GAP_PART_gather] + a->part_faults[DLB_GAP_PART_stack];
    }
    out->ns = m->batch_fault.ns;
    out->shared = m->rung->fault_kind == DLB_GAP_SHARED;
    out->page_bytes = m->batch_fault.page_bytes;
    out->seconds = ns * 1e-9;
    out->per_batch = (double)filling * (double)params->batch_size / (double)params->samples;
}

static void put_ledger(const struct dlb_gap_measured *m, uint32_t epoch,
                       struct dlb_rung_result *out)
{
    const struct dlb_gap_ledger *ledger =
        (const struct dlb_gap_ledger *)(const void *)(m->ledgers + (size_t)epoch * m->ledger_bytes);
    dlb_gap_add_parts(ledger->account, 1, &out->parts);
    dlb_gap_add_unexplained(m->wall_ns[epoch], &out->parts);
    dlb_gap_add_parts(ledger->account + 1, ledger->n_accounts - 1, &out->worker_parts);
    put_faults(m, ledger, &out->faults);
    dlb_gap_fill_os(ledger, &out->os);
}

void dlb_gap_measured_result(const struct dlb_gap_measured *m, struct dlb_rung_result *out)
{
    const struct dlb_gap_run *run = m->run;
    const struct dlb_gap_params *params = run->params;
    uint32_t epoch = median_epoch(m->wall_ns, (uint32_t)params->epochs);

    dlb_rung_result_init(out);
    out->status = DLB_RUNG_OK;
    (void)snprintf(out->rung, sizeof out->rung, "%s", m->name);
    out->seconds = (double)m->wall_ns[epoch] * 1e-9;
    put_epochs(m, out);
    out->n_samples = (uint64_t)params->samples;
    out->n_batches = dlb_gap_n_batches(params);
    out->batch_bytes = dlb_gap_batch_bytes(params);
    out->n_workers = m->rung->workers ? (uint64_t)params->workers : 0;
    if (params->warmup_epochs > 0)
        (void)snprintf(out->checksum, sizeof out->checksum, "%016" PRIx64, run->checksum);
    out->start_up = m->start_up;
    put_huge_pages(m, &out->huge_pages);
    put_ledger(m, epoch, out);
    dlb_gap_target_describe(&run->target, &out->device);
    dlb_gap_target_calls(&run->target.copy_calls, &out->copy_calls);
    dlb_gap_target_calls(&run->target.sync_calls, &out->sync_calls);
}
