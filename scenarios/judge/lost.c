#include "scenarios/judge/lost.h"

static void add(uint64_t *sum, uint64_t value)
{
    if (value != DLB_NOT_MEASURED)
        *sum = value + (*sum == DLB_NOT_MEASURED ? 0 : *sum);
}

static bool skipped_any(const struct dlb_cell_result *result)
{
    const struct dlb_workers_result *workers = &result->workers;
    return dlb_measured(workers->n_skipped) > 0 || dlb_measured(workers->n_cut_shards) > 0;
}

struct dlb_skipped dlb_reps_skipped(const struct dlb_reps *reps,
                                    const struct dlb_cell_result *shown)
{
    struct dlb_skipped all = {
        .n_samples = DLB_NOT_MEASURED, .n_cut_shards = DLB_NOT_MEASURED, .named = shown};
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cell_result *rep = &reps->rep[i];
        struct dlb_lost lost = dlb_cell_result_lost(rep);
        all.lost.n += lost.n;
        all.lost.of += lost.of;
        all.lost.unknown = all.lost.unknown || lost.unknown;
        add(&all.n_samples, rep->workers.n_skipped);
        add(&all.n_cut_shards, rep->workers.n_cut_shards);
        if (lost.unknown)
            all.n_uncounted_shards += rep->workers.n_cut_shards;
        if (!skipped_any(all.named) && skipped_any(rep))
            all.named = rep;
    }
    return all;
}
