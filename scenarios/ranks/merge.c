#include "scenarios/ranks/merge.h"

#include "core/base/mem.h"
#include "scenarios/ranks/merge_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rank that decides the status of all: one that failed, else one whose data do not fit into
 * memory, else one that was interrupted. */
static uint32_t decides(const struct dlb_rank_part *parts, uint32_t n)
{
    static const enum dlb_rep_status order[] = {DLB_REP_FAILED, DLB_REP_NOT_MEASURED,
                                                DLB_REP_SKIPPED, DLB_REP_CANCELLED};
    for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
        for (uint32_t i = 0; i < n; i++)
            if (parts[i].result.status == order[k])
                return i;
    return 0;
}

static void take_status(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cell_result *out)
{
    uint32_t rank = decides(parts, n);
    const struct dlb_cell_result *from = &parts[rank].result;
    char reason[sizeof(out->reason)];
    if (n > 1 && from->status != DLB_REP_OK)
        (void)snprintf(reason, sizeof(reason), "rank %u on %.64s: %.760s", rank, parts[rank].node,
                       from->reason);
    else
        (void)snprintf(reason, sizeof(reason), "%s", from->reason);
    out->status = from->status;
    out->error = from->error;
    out->code = from->code;
    memcpy(out->reason, reason, sizeof(reason));
}

/* Ranks that saw different data measured different things. */
static void check_data(const struct dlb_rank_part *parts, uint32_t n, struct dlb_cell_result *out)
{
    for (uint32_t i = 1; i < n && out->status == DLB_REP_OK; i++) {
        struct dlb_err err;
        if (parts[i].result.data_id == parts[0].result.data_id)
            continue;
        (void)dlb_fail(&err, DLB_ERR_RANKS_DATA, NULL, DLB_NO_OFFSET,
                       "rank %u on %.64s sees another data set than rank 0 on %.64s", i,
                       parts[i].node, parts[0].node);
        dlb_cell_result_fail(out, &err);
    }
}

/* The names of the first rank that has some. */
static void take_skipped(struct dlb_rank_part *parts, uint32_t n, struct dlb_workers_result *out)
{
    out->skipped = NULL;
    out->n_skipped_named = 0;
    for (uint32_t i = 0; i < n && out->n_skipped_named == 0; i++) {
        struct dlb_workers_result *one = &parts[i].result.workers;
        if (one->n_skipped_named == 0)
            continue;
        out->skipped = one->skipped;
        out->n_skipped_named = one->n_skipped_named;
        one->skipped = NULL;
        one->n_skipped_named = 0;
    }
}

void dlb_ranks_merge(struct dlb_rank_part *parts, uint32_t n, const struct dlb_hist *cost,
                     struct dlb_cell_result *out)
{
    bool loops = true, workers = true;
    for (uint32_t i = 0; i < n; i++) {
        loops = loops && parts[i].result.has_loop;
        workers = workers && parts[i].result.has_workers;
    }
    *out = parts[0].result;
    /* Rank 0's stays as it was, but for what *out owns now. */
    take_skipped(parts, n, &out->workers);
    parts[0].result.baseline.command = NULL;
    parts[0].result.device.gpu = NULL;
    parts[0].result.document = parts[0].result.python = parts[0].result.ranks = NULL;
    out->loop.share = NULL;
    out->loop.epoch = NULL;
    out->loop.n_shares = out->loop.n_epochs = 0;
    out->hists = NULL;
    out->has_loop = loops;
    out->has_workers = workers;
    if (loops)
        dlb_merge_loops(parts, n, &out->loop);
    out->ranks = dlb_ranks_describe(parts, n, cost,
                                    loops ? dlb_cell_result_samples_per_s(out) : (double)NAN);
    if (workers)
        dlb_merge_workers(parts, n, &out->workers);
    dlb_merge_stages(parts, n, out);
    dlb_merge_memory(parts, n, &out->memory);
    dlb_merge_cache(parts, n, &out->cache);
    take_status(parts, n, out);
    check_data(parts, n, out);
}
