#include "scenarios/spec/spec.h"

#include "formats/codec.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(field) .offset = offsetof(struct dlb_run_opts, field)
static const struct dlb_opt run_opts[] = {
    {.key = "epochs",
     .type = DLB_OPT_INT,
     FIELD(epochs),
     .min = 1,
     .max = 1000000,
     .def = "1",
     .unit = "epochs",
     .help = "Passes over the data"},
    {.key = "max_batches",
     .type = DLB_OPT_INT,
     FIELD(max_batches),
     .min = 0,
     .max = INT64_C(1) << 40,
     .def = "0",
     .unit = "batches",
     .help = "Measured batches of a run, of each accelerator and over all epochs; 0: whole "
             "epochs"},
    {.key = "warmup_batches",
     .type = DLB_OPT_INT,
     FIELD(warmup_batches),
     .min = 0,
     .max = 1000000,
     .def = "2",
     .unit = "batches",
     .help = "First batches of a run that are not measured"},
    {.key = "repeats",
     .type = DLB_OPT_INT,
     FIELD(repeats),
     .min = 1,
     .max = 1000,
     .def = "3",
     .unit = "processes",
     .help = "Repetitions of each cell, each a fresh process; intervals are 95% from 6 on"},
    {.key = "seed",
     .type = DLB_OPT_INT,
     FIELD(seed),
     .min = 0,
     .max = INT64_MAX,
     .def = "0",
     .help = "Of the order of samples and cells, augmentation, step times and bootstrap"},
    {.key = "rank",
     .type = DLB_OPT_INT,
     FIELD(rank),
     .min = 0,
     .max = 999999,
     .def = "0",
     .help = "Which share of the data this process loads, as DistributedSampler splits it"},
    {.key = "world",
     .type = DLB_OPT_INT,
     FIELD(world),
     .min = 1,
     .max = 1000000,
     .def = "1",
     .help = "Number of such shares"},
    {.key = "checksum",
     .type = DLB_OPT_BOOL,
     FIELD(checksum),
     .def = "false",
     .help = "Hash every payload in the worker and compare with what the device received"},
    {.key = "cache",
     .type = DLB_OPT_CHOICE,
     FIELD(cache),
     .def = "as-is",
     .choices = dlb_run_cache_names,
     .help = "Page cache before each repetition: what is there (a sweep reads all data once at its "
             "start), all data, or none of it; what it came to is measured and told"},
    {.key = "drop_caches",
     .type = DLB_OPT_BOOL,
     FIELD(drop_caches),
     .def = "false",
     .help = "Before a cold run, empty the page cache and the directory and inode caches of the "
             "whole machine, for every program on it; needs root"},
    DLB_OPT_END};

const char *const dlb_run_cache_names[] = {
    [DLB_RUN_AS_IS] = "as-is", [DLB_RUN_WARM] = "warm", [DLB_RUN_COLD] = "cold", NULL};

const struct dlb_opt_group dlb_run_group = {.section = "run",
                                            .title = "How much is measured, and how often",
                                            .opts = run_opts,
                                            .n_bytes = sizeof(struct dlb_run_opts)};

#define MAX_GROUPS 64

const struct dlb_opt_group *const *dlb_spec_groups(void)
{
    static const struct dlb_opt_group *groups[MAX_GROUPS + 1] = {
        &dlb_dataset_group, &dlb_generate_group, &dlb_transform_group,
        &dlb_loader_group,  &dlb_device_group,   &dlb_accelerators_group,
        &dlb_run_group,     &dlb_workload_group, &dlb_workload_steps_group,
        &dlb_storage_group};
    size_t n = 10;
    for (size_t i = 0; dlb_formats[i]; i++) {
        if (!dlb_formats[i]->opts)
            continue;
        if (n == MAX_GROUPS || dlb_formats[i]->opts->n_bytes > DLB_FORMAT_OPTS_MAX_BYTES)
            DLB_BUG("too many option groups, or a format's options are too large");
        groups[n++] = dlb_formats[i]->opts;
    }
    return groups;
}

const void *dlb_spec_format_opts(const struct dlb_spec *spec)
{
    return dlb_formats[spec->dataset.format]->opts ? spec->format_opts : NULL;
}

static int check(const struct dlb_spec *spec, const struct dlb_config *cfg, struct dlb_err *err)
{
    if (spec->run.rank >= spec->run.world)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%s: run.rank = %lld needs run.world > %lld, which is %lld",
                        dlb_config_origin(cfg, "run.rank"), (long long)spec->run.rank,
                        (long long)spec->run.rank, (long long)spec->run.world);
    if (spec->accelerators.count > 1 && !spec->loader.pin_memory)
        return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                        "%s: accelerators.count = %lld needs loader.pin_memory = true: a pageable "
                        "copy blocks the one thread that drives them all",
                        dlb_config_origin(cfg, "accelerators.count"),
                        (long long)spec->accelerators.count);
    return DLB_OK;
}

int dlb_spec_from_config(struct dlb_spec *spec, const struct dlb_config *cfg, struct dlb_err *err)
{
    memset(spec, 0, sizeof(*spec));
    const struct {
        const struct dlb_opt_group *group;
        void *out;
    } parts[] = {
        {&dlb_dataset_group, &spec->dataset},
        {&dlb_generate_group, &spec->generate},
        {&dlb_transform_group, &spec->transform},
        {&dlb_loader_group, &spec->loader},
        {&dlb_device_group, &spec->device},
        {&dlb_accelerators_group, &spec->accelerators},
        {&dlb_run_group, &spec->run},
        {&dlb_workload_group, &spec->workload},
        {&dlb_storage_group, &spec->storage},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        int rc = dlb_config_fill(cfg, parts[i].group, parts[i].out, err);
        if (rc)
            return rc;
    }
    const struct dlb_opt_group *own = dlb_formats[spec->dataset.format]->opts;
    if (own) {
        int rc = dlb_config_fill(cfg, own, spec->format_opts, err);
        if (rc)
            return rc;
    }
    spec->dataset.located = spec->loader.io == DLB_READ_URING;
    spec->dataset.direct = spec->loader.direct;
    return check(spec, cfg, err);
}
