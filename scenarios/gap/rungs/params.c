#include "scenarios/gap/rungs/params.h"

#include "core/base/mem.h"
#include "core/host/osacct.h"

#include <math.h>
#include <stddef.h>

const char *const dlb_gap_page_names[] = {"small", "huge", "kernel", NULL};
static const char *const target_names[] = {"device", "buffer", NULL};

#define FIELD(field) .offset = offsetof(struct dlb_gap_params, field)
static const struct dlb_opt gap_opts[] = {
    {.key = "samples",
     .type = DLB_OPT_INT,
     FIELD(samples),
     .min = 1,
     .max = UINT32_MAX,
     .def = "7000000",
     .unit = "rows",
     .help = "Rows of the array; unless it is said, as many of these as take about three minutes"},
    {.key = "features",
     .type = DLB_OPT_INT,
     FIELD(features),
     .min = 1,
     .max = 1 << 24,
     .def = "100",
     .unit = "float32",
     .help = "Numbers in a row"},
    {.key = "batch_size",
     .type = DLB_OPT_INT,
     FIELD(batch_size),
     .min = 1,
     .max = UINT32_MAX,
     .def = "1048576",
     .unit = "samples",
     .help = "Rows in a batch; by default the published share of gap.samples"},
    {.key = "epochs",
     .type = DLB_OPT_INT,
     FIELD(epochs),
     .min = 1,
     .max = 1000,
     .def = "1",
     .unit = "epochs",
     .help = "Measured passes over the array in each process"},
    {.key = "warmup_epochs",
     .type = DLB_OPT_INT,
     FIELD(warmup_epochs),
     .min = 0,
     .max = 1000,
     .def = "1",
     .unit = "epochs",
     .help = "Passes before the measured ones; the first one is checksummed"},
    {.key = "workers",
     .type = DLB_OPT_INT,
     FIELD(workers),
     .min = 0,
     .max = DLB_GAP_WORKERS_MAX,
     .def = "0",
     .unit = "workers",
     .help = "Workers of the rungs that use workers; 0: one for each CPU, at most 4"},
    {.key = "seed",
     .type = DLB_OPT_INT,
     FIELD(seed),
     .min = 0,
     .max = INT64_MAX,
     .def = "0",
     .help = "Seed of the array's content and of the shuffled order"},
    {.key = "pages",
     .type = DLB_OPT_CHOICE,
     FIELD(pages),
     .def = "small",
     .choices = dlb_gap_page_names,
     .help = "Pages of array and batches: 4 KiB, huge, or the kernel's default"},
    {.key = "target",
     .type = DLB_OPT_CHOICE,
     FIELD(target),
     .def = "device",
     .choices = target_names,
     .help = "Where batches go: to the device, or to a buffer in host memory without a step"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_gap_group = {
    .section = "gap",
    .title = "The in-memory ladder: an array of float32, shuffled or not, to the device",
    .opts = gap_opts,
    .n_bytes = offsetof(struct dlb_gap_params, device)};

const struct dlb_opt_group *const *dlb_gap_groups(void)
{
    static const struct dlb_opt_group *const groups[] = {&dlb_gap_group, &dlb_device_group, NULL};
    return groups;
}

#define PUBLISHED_BATCH_FRAC (1048576.0 / 7000000)

static int64_t default_workers(void)
{
    double quota_cores;
    uint32_t n_cpus = dlb_os_n_cpus(&quota_cores);
    return n_cpus < DLB_GAP_WORKERS_DEFAULT ? n_cpus : DLB_GAP_WORKERS_DEFAULT;
}

void dlb_gap_params_fill(struct dlb_gap_params *params, const struct dlb_config *cfg)
{
    dlb_config_fill(cfg, &dlb_gap_group, params);
    dlb_config_fill(cfg, &dlb_device_group, &params->device);
    if (params->workers == 0)
        params->workers = default_workers();
    /* By default the published share of the array. */
    if (!dlb_config_has(cfg, "gap.batch_size"))
        params->batch_size = (int64_t)ceil((double)params->samples * PUBLISHED_BATCH_FRAC);
    if (params->batch_size > params->samples)
        params->batch_size = params->samples;
    if (!dlb_config_has(cfg, "device.step_ms"))
        params->device.step_ms = DLB_GAP_STEP_MS_PER_SAMPLE * (double)params->batch_size;
}

int dlb_gap_params_flat(struct dlb_gap_params *params, const json_t *flat, const char *origin,
                        struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_mem_check(dlb_config_new(dlb_gap_groups()));
    int rc = dlb_config_set_flat(cfg, flat, origin, err);
    if (!rc)
        dlb_gap_params_fill(params, cfg);
    dlb_config_free(cfg);
    return rc;
}
