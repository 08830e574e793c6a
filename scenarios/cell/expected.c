#include "scenarios/cell/expected.h"

#include "loaders/sampler.h"

int dlb_cell_expected(const struct dlb_spec *spec, const struct dlb_dataset *dataset,
                      const struct dlb_job *jobs, uint32_t n_loaders, struct dlb_consume *how,
                      struct dlb_err *err)
{
    for (uint32_t i = 0; i < n_loaders; i++) {
        struct dlb_sampler sampler;
        struct dlb_sampler_opts opts = {.seed = (uint64_t)spec->run.seed,
                                        .rank = jobs[i].rank,
                                        .world = jobs[i].world,
                                        .batch_size = (uint32_t)spec->loader.batch_size,
                                        .drop_last = spec->loader.drop_last};
        int rc = dlb_sampler_open(&sampler, &dataset->shape, &opts, false, err);
        if (rc)
            return rc;
        how->expected +=
            dlb_sampler_expected(&sampler, dataset, (uint32_t)spec->loader.num_workers);
        how->padded += dlb_sampler_repeats(&sampler, jobs[0].rank, n_loaders);
        dlb_sampler_close(&sampler);
    }
    return DLB_OK;
}
