#include "scenarios/storage/view.h"

#include "core/base/mem.h"
#include "loaders/sampler.h"
#include "scenarios/spec/rounds.h"
#include "scenarios/storage/worst.h"

#include <math.h>
#include <stdlib.h>

uint32_t dlb_storage_count_of(const struct dlb_plan *plan, uint32_t cell)
{
    return (uint32_t)plan->cells[cell].spec->accelerators.count;
}

int64_t dlb_storage_cell_of(const struct dlb_plan *plan, uint32_t n)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (dlb_storage_count_of(plan, i) == n)
            return i;
    return -1;
}

/* Batches of a worker that reads n shards, each of the smallest size. */
static double batches_of(const struct dlb_plan *plan, double n_shards)
{
    const struct dlb_loader_opts *loader = &plan->cells[0].spec->loader;
    double batches = n_shards * (double)plan->host.min_shard_samples / (double)loader->batch_size;
    return loader->drop_last ? floor(batches) : ceil(batches);
}

static bool shares_workers(const struct dlb_plan *plan)
{
    return plan->base->accelerators.shared_workers;
}

static uint32_t world_of(const struct dlb_plan *plan)
{
    return (uint32_t)plan->cells[0].spec->run.world;
}

/* Shards are dealt out in turns to the loaders of all ranks, and among a loader's workers. A worker
 * makes batches of its own shards alone. The last loader has the fewest. */
static double steps_of_shards(const struct dlb_plan *plan, uint32_t n)
{
    int64_t num_workers = plan->cells[0].spec->loader.num_workers;
    uint32_t n_loaders = world_of(plan) * (shares_workers(plan) ? 1 : n);
    double workers = num_workers > 0 ? (double)num_workers : 1;
    double shards = (double)dlb_sampler_rank_shards(plan->host.n_shards, n_loaders - 1, n_loaders);
    double least = floor(shards / workers), n_with_more = shards - least * workers;
    double batches = (workers - n_with_more) * batches_of(plan, least) +
                     n_with_more * batches_of(plan, least + 1);
    return shares_workers(plan) ? floor(batches / n) : batches;
}

/* Whether each loader has shards of its own. If not, all accelerators draw from the whole set. */
static bool deals_shards(const struct dlb_plan *plan)
{
    return plan->host.n_shards > 0 && (!shares_workers(plan) || world_of(plan) > 1);
}

/* Of an epoch: a rank's share. */
static double rank_samples(const struct dlb_plan *plan)
{
    return (double)plan->host.n_samples / world_of(plan);
}

/* How many of a rank can have a batch of each epoch, however often the samples are read. */
static double n_with_a_batch(const struct dlb_plan *plan)
{
    const struct dlb_loader_opts *loader = &plan->cells[0].spec->loader;
    double samples = rank_samples(plan), batches = samples / (double)loader->batch_size;
    if (loader->drop_last)
        return floor(batches);
    return shares_workers(plan) ? ceil(batches) : samples;
}

double dlb_storage_steps_per_epoch(const struct dlb_plan *plan, uint32_t n)
{
    double batch = (double)plan->cells[0].spec->loader.batch_size;
    double steps = floor(rank_samples(plan) / batch / n);
    return deals_shards(plan) ? fmin(steps, steps_of_shards(plan, n)) : steps;
}

uint32_t dlb_storage_data_limit(const struct dlb_plan *plan, const char **of)
{
    const struct dlb_spec *spec = plan->cells[0].spec;
    /* The step behind the last measured one closes the window. */
    bool again = spec->storage.allow_small || spec->run.max_batches == 0;
    double steps = again ? 1 : dlb_spec_wanted(spec);
    double batch = (double)spec->loader.batch_size;
    double samples = again ? n_with_a_batch(plan) : floor(rank_samples(plan) / (steps * batch));
    uint32_t limit =
        plan->host.n_samples > 0 && samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX;
    uint32_t by_shards = 0;

    if (of)
        *of = "samples";
    if (!deals_shards(plan))
        return limit;
    while (by_shards < limit && steps_of_shards(plan, by_shards + 1) >= (again ? 1 : steps))
        by_shards++;
    if (of && by_shards < limit)
        *of = "shards";
    return by_shards;
}

/* The repetitions that have a value, in the order of the values, and their halves (worst.h). */
struct taken {
    const struct dlb_cell_result **rep; /* [n] borrowed */
    uint8_t *half;                      /* [n] those of a number take turns */
    uint32_t n;
};

/* Adds one repetition to the point of this cell. */
static void take(struct dlb_storage_view *view, const struct dlb_cell_result *rep, uint32_t cell,
                 struct taken *taken)
{
    struct dlb_search_point *point = &view->points[cell];
    double au = dlb_cell_result_gated(rep);
    if (rep->status == DLB_REP_OK && isfinite(au)) {
        taken->half[taken->n] = (cell + point->n_values++) % 2;
        taken->rep[taken->n] = rep;
        view->values[taken->n++] = au;
    } else if (rep->status == DLB_REP_FAILED && rep->error == DLB_E_NOMEM) {
        point->impossible = true;
    } else if (rep->status == DLB_REP_FAILED || rep->status == DLB_REP_OK) {
        view->stopped = true; /* OK without AU: too few batches for a window */
    }
}

/* Over ranks each value becomes that of the rank that the gate is held against. */
static void choose_ranks(struct dlb_storage_view *view, const struct taken *taken)
{
    uint32_t n_ranks = taken->n > 0 ? dlb_cell_result_n_ranks(taken->rep[0]) : 1;
    if (n_ranks == 1)
        return;
    view->rank_au = dlb_mem_array((size_t)taken->n * n_ranks, sizeof(*view->rank_au));
    for (uint32_t i = 0; i < taken->n; i++) {
        if (dlb_cell_result_n_ranks(taken->rep[i]) != n_ranks)
            return;
        dlb_cell_result_rank_utilisations(taken->rep[i], view->rank_au + (size_t)i * n_ranks);
    }
    dlb_worst_values(&(struct dlb_worst){.n_reps = taken->n,
                                         .n_ranks = n_ranks,
                                         .au = view->rank_au,
                                         .half = taken->half,
                                         .gate = view->search.gate},
                     view->values);
    view->search.n_ranks = n_ranks;
    for (uint32_t i = 0; i < view->search.n_points; i++)
        view->points[i].rank_au =
            view->rank_au + (size_t)(view->points[i].au - view->values) * n_ranks;
}

void dlb_storage_view_open(struct dlb_storage_view *view, const struct dlb_plan *plan,
                           const struct dlb_results *results)
{
    const struct dlb_spec *spec = plan->cells[0].spec;
    size_t n_reps = 0;

    *view = (struct dlb_storage_view){0};
    for (uint32_t i = 0; i < results->n_cells; i++)
        n_reps += results->cells[i].n;
    view->points = dlb_mem_array(plan->n_cells, sizeof(*view->points));
    view->values = dlb_mem_array(n_reps, sizeof(*view->values));
    struct taken taken = {.rep = dlb_mem_array(n_reps, sizeof(*taken.rep)),
                          .half = dlb_mem_array(n_reps, sizeof(*taken.half))};
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_search_point *point = &view->points[i];
        *point = (struct dlb_search_point){.n = dlb_storage_count_of(plan, i),
                                           .au = view->values + taken.n};
        for (uint32_t k = 0; i < results->n_cells && k < results->cells[i].n; k++)
            if (results->cells[i].rep[k].block < plan->n_blocks)
                take(view, &results->cells[i].rep[k], i, &taken);
    }
    uint32_t limit = dlb_storage_data_limit(plan, NULL);
    uint64_t asked = (uint64_t)spec->storage.max_accelerators;
    view->search = (struct dlb_search){
        .gate = spec->workload.gate,
        .max_n = asked < limit ? (uint32_t)asked : limit,
        .repeats = plan->n_blocks,
        .spent =
            spec->storage.max_minutes > 0 && results->elapsed_s >= spec->storage.max_minutes * 60,
        .points = view->points,
        .n_points = plan->n_cells,
    };
    choose_ranks(view, &taken);
    free(taken.rep);
    free(taken.half);
}

void dlb_storage_view_close(struct dlb_storage_view *view)
{
    free(view->points);
    free(view->values);
    free(view->rank_au);
    *view = (struct dlb_storage_view){0};
}
