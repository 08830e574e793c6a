#include "scenarios/cell/count.h"

#include "loaders/sampler.h"
#include "scenarios/spec/rounds.h"

/* What all ranks of this process deliver in an epoch, and what they deliver twice by padding. */
static int count_expected(const struct dlb_cell_count *c, struct dlb_consume *how,
                          struct dlb_err *err)
{
    const struct dlb_spec *spec = c->spec;
    for (uint32_t i = 0; i < c->n_loaders; i++) {
        struct dlb_sampler sampler;
        struct dlb_sampler_opts opts = {.seed = (uint64_t)spec->run.seed,
                                        .rank = c->jobs[i].rank,
                                        .world = c->jobs[i].world,
                                        .batch_size = (uint32_t)spec->loader.batch_size,
                                        .drop_last = spec->loader.drop_last};
        int rc = dlb_sampler_open(&sampler, &c->dataset->shape, &opts, false, err);
        if (rc)
            return rc;
        how->expected +=
            dlb_sampler_expected(&sampler, c->dataset, (uint32_t)spec->loader.num_workers);
        how->padded += dlb_sampler_repeats(&sampler, c->jobs[0].rank, c->n_loaders);
        dlb_sampler_close(&sampler);
    }
    return DLB_OK;
}

/* Whole rounds of the workers that have something to read. */
static void count_batches(const struct dlb_cell_count *c, struct dlb_consume *how)
{
    const struct dlb_spec *spec = c->spec;
    const struct dlb_shape *shape = &c->dataset->shape;
    how->n_workers = (uint32_t)(spec->loader.num_workers > 0 ? spec->loader.num_workers : 1);
    how->round = dlb_spec_round(spec, c->n_busy);
    how->n_epoch_batches = dlb_spec_epoch_batches(spec, shape->iterable, shape->n_samples);
    how->warmup_batches =
        dlb_spec_warmup(spec, how->round, how->n_epoch_batches * (double)spec->run.epochs);
    how->max_batches = dlb_spec_max_batches(spec, how->round);
}

/* Of a ceiling, whose epochs only have to reach its number of batches. */
static uint32_t enough_epochs(const struct dlb_cell_count *c, const struct dlb_consume *how)
{
    uint64_t wanted = how->max_batches + how->warmup_batches + 1;
    uint64_t samples = (uint64_t)c->spec->loader.batch_size * how->n_feeds;
    uint64_t per_epoch = how->expected / samples;
    uint64_t n = wanted / (per_epoch ? per_epoch : 1) + 1;
    return n < how->n_epochs ? (uint32_t)n : how->n_epochs;
}

int dlb_cell_count(const struct dlb_cell_count *count, struct dlb_consume *how, struct dlb_err *err)
{
    const struct dlb_python_opts *python = &count->spec->python;
    bool unknown =
        count->dataset->format->elsewhere && (python->shape.iterable || python->loader[0]);
    count_batches(count, how);
    int rc = unknown ? DLB_OK : count_expected(count, how, err);
    if (!rc && count->ceiling)
        how->n_epochs = enough_epochs(count, how);
    return rc;
}
