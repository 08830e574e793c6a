#include "scenarios/judge/lost.h"

struct dlb_lost dlb_reps_lost(const struct dlb_reps *reps)
{
    struct dlb_lost all = {0, 0, false};
    for (uint32_t i = 0; i < reps->n; i++) {
        struct dlb_lost lost = dlb_cell_result_lost(&reps->rep[i]);
        all.n += lost.n;
        all.of += lost.of;
        all.unknown = all.unknown || lost.unknown;
    }
    return all;
}

static bool has_skipped(const struct dlb_cell_result *result)
{
    const struct dlb_workers_result *workers = &result->workers;
    return dlb_measured(workers->n_skipped) > 0 || dlb_measured(workers->n_cut_shards) > 0;
}

const struct dlb_cell_result *dlb_reps_skipped(const struct dlb_reps *reps,
                                               const struct dlb_cell_result *shown)
{
    for (uint32_t i = 0; !has_skipped(shown) && i < reps->n; i++)
        if (has_skipped(&reps->rep[i]))
            return &reps->rep[i];
    return shown;
}
