#include "scenarios/spec/spec.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "formats/codec.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(field) .offset = offsetof(struct dlb_run_opts, field)
static const struct dlb_opt run_opts[] = {
    {.key = "epochs",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     FIELD(epochs),
     .min = 1,
     .max = 1000000,
     .def = "1",
     .unit = "epochs",
     .help = "Passes over the data"},
    {.key = "max_batches",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     FIELD(max_batches),
     .min = 0,
     .max = INT64_C(1) << 40,
     .def = "0",
     .unit = "batches",
     .help = "Measured batches of a run, of each accelerator and over all epochs, rounded up to "
             "a multiple of its workers, and to more than they may have ready; 0: whole epochs"},
    {.key = "warmup_batches",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     FIELD(warmup_batches),
     .min = 0,
     .max = 1000000,
     .def = "2",
     .unit = "batches",
     .help = "First batches of a run that are not measured, rounded up to a multiple of its "
             "workers"},
    {.key = "epoch_samples",
     .type = DLB_OPT_INT,
     FIELD(epoch_samples),
     .min = 0,
     .max = INT64_C(1) << 50,
     .def = "0",
     .unit = "samples",
     .help = "Samples of the epoch that will be trained on, for which epoch_samples_per_s is "
             "projected; 0: those of the data set. Set it where the data are a stand-in"},
    {.key = "repeats",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     FIELD(repeats),
     .min = 1,
     .max = 1000,
     .def = "3",
     .unit = "processes",
     .help = "Repetitions of each cell, each a fresh process; intervals are 95% from 6 on. A sweep "
             "takes them with sweep.exhaustive only"},
    {.key = "seed",
     .type = DLB_OPT_INT,
     FIELD(seed),
     .min = 0,
     .max = INT64_MAX,
     .def = "0",
     .help = "Of the order of samples and cells, augmentation and step times"},
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
     .native = true,
     .type = DLB_OPT_BOOL,
     FIELD(checksum),
     .def = "false",
     .help = "Hash every payload in the worker and compare with what the device received"},
    {.key = "cache",
     .needs = DLB_NEEDS_STORED_BYTES,
     .type = DLB_OPT_CHOICE,
     FIELD(cache),
     .def = "as-is",
     .choices = dlb_run_cache_names,
     .help = "Page cache before each repetition: as it is (a sweep reads all data once at its "
             "start), all data, or none of it; the result says what was found"},
    {.key = "drop_caches",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_COLD_RUN,
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

/* The sections that every spec has, and where they lie in it. */
static const struct part {
    const struct dlb_opt_group *group;
    size_t offset;
} parts[] = {
    {&dlb_dataset_group, offsetof(struct dlb_spec, dataset)},
    {&dlb_generate_group, offsetof(struct dlb_spec, generate)},
    {&dlb_transform_group, offsetof(struct dlb_spec, transform)},
    {&dlb_loader_group, offsetof(struct dlb_spec, loader)},
    {&dlb_python_group, offsetof(struct dlb_spec, python)},
    {&dlb_device_group, offsetof(struct dlb_spec, device)},
    {&dlb_accelerators_group, offsetof(struct dlb_spec, accelerators)},
    {&dlb_run_group, offsetof(struct dlb_spec, run)},
    {&dlb_sweep_group, offsetof(struct dlb_spec, sweep)},
    {&dlb_workload_group, offsetof(struct dlb_spec, workload)},
    {&dlb_workload_steps_group, offsetof(struct dlb_spec, workload_steps)},
    {&dlb_storage_group, offsetof(struct dlb_spec, storage)},
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

const struct dlb_opt_group *const *dlb_spec_groups(void)
{
    static const struct dlb_opt_group *groups[MAX_GROUPS + 1];
    static size_t n;
    if (n > 0)
        return groups;
    for (size_t i = 0; i < N_PARTS; i++)
        groups[n++] = parts[i].group;
    for (size_t i = 0; dlb_formats[i]; i++) {
        if (!dlb_formats[i]->opts)
            continue;
        if (n == MAX_GROUPS || dlb_formats[i]->opts->n_bytes > DLB_FORMAT_OPTS_MAX_BYTES)
            DLB_BUG("too many option groups, or a format's options are too large");
        groups[n++] = dlb_formats[i]->opts;
    }
    return groups;
}

bool dlb_spec_same_data(const struct dlb_spec *a, const struct dlb_spec *b)
{
    const struct dlb_opt_group *own = dlb_spec_format(a)->opts;
    return dlb_spec_section_equal(&dlb_dataset_group, a, b) &&
           dlb_spec_section_equal(&dlb_generate_group, a, b) &&
           dlb_spec_section_equal(&dlb_transform_group, a, b) &&
           (!own || dlb_spec_section_equal(own, a, b));
}

const void *dlb_spec_format_opts(const struct dlb_spec *spec)
{
    if (dlb_spec_format(spec)->elsewhere)
        return &spec->python.shape;
    return dlb_spec_format(spec)->opts ? spec->format_opts : NULL;
}

struct dlb_gen dlb_spec_gen(const struct dlb_spec *spec)
{
    return (struct dlb_gen){.opts = &spec->generate,
                            .format = dlb_formats[spec->dataset.format],
                            .codec = dlb_codecs[spec->dataset.codec],
                            .format_opts = dlb_spec_format_opts(spec),
                            .path = spec->dataset.path};
}

void *dlb_spec_section(struct dlb_spec *spec, const struct dlb_opt_group *group)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (parts[i].group == group)
            return (char *)spec + parts[i].offset;
    return dlb_spec_format(spec)->opts == group ? spec->format_opts : NULL;
}

const void *dlb_spec_section_of(const struct dlb_spec *spec, const struct dlb_opt_group *group)
{
    return dlb_spec_section((struct dlb_spec *)(uintptr_t)spec, group);
}

bool dlb_spec_section_equal(const struct dlb_opt_group *group, const struct dlb_spec *a,
                            const struct dlb_spec *b)
{
    const void *x = dlb_spec_section_of(a, group), *y = dlb_spec_section_of(b, group);
    if (!x != !y)
        return false;
    for (const struct dlb_opt *opt = group->opts; x && opt->key; opt++)
        if (!dlb_opt_equal(opt, x, y))
            return false;
    return true;
}

bool dlb_spec_equal(const struct dlb_spec *a, const struct dlb_spec *b)
{
    for (const struct dlb_opt_group *const *g = dlb_spec_groups(); *g; g++)
        if (!dlb_spec_section_equal(*g, a, b))
            return false;
    return true;
}

static int check(const struct dlb_spec *spec, const struct dlb_config *cfg, struct dlb_err *err)
{
    if (spec->sweep.tolerance <= 0 || spec->sweep.tolerance >= 1)
        return dlb_fail(err, DLB_ERR_CONFIG_OUT_OF_RANGE, dlb_config_origin(cfg, "sweep.tolerance"),
                        DLB_NO_OFFSET, "sweep.tolerance = %g is not between 0 and 1: 0.02 is 2%%",
                        spec->sweep.tolerance);
    if (spec->run.rank >= spec->run.world)
        return dlb_fail(err, DLB_ERR_RANK_OUTSIDE_WORLD, NULL, DLB_NO_OFFSET,
                        "%s: run.rank = %lld needs run.world > %lld, which is %lld",
                        dlb_config_origin(cfg, "run.rank"), (long long)spec->run.rank,
                        (long long)spec->run.rank, (long long)spec->run.world);
    if (spec->accelerators.count > 1 && !spec->loader.pin_memory)
        return dlb_fail(err, DLB_ERR_ACCELERATORS_NEED_PINNING, NULL, DLB_NO_OFFSET,
                        "%s: accelerators.count = %lld needs loader.pin_memory = true: a pageable "
                        "copy blocks the one thread that drives them all",
                        dlb_config_origin(cfg, "accelerators.count"),
                        (long long)spec->accelerators.count);
    if (spec->accelerators.count > 1 && spec->device.host_busy_frac > 0)
        return dlb_fail(err, DLB_ERR_HOST_PART_OF_ONE, NULL, DLB_NO_OFFSET,
                        "%s: device.host_busy_frac = %g needs accelerators.count = 1",
                        dlb_config_origin(cfg, "device.host_busy_frac"),
                        spec->device.host_busy_frac);
    return DLB_OK;
}

void dlb_spec_derive(struct dlb_spec *spec)
{
    spec->dataset.located = spec->loader.io == DLB_READ_URING;
    spec->dataset.direct = spec->loader.direct;
}

int dlb_spec_from_config(struct dlb_spec *spec, const struct dlb_config *cfg, struct dlb_err *err)
{
    memset(spec, 0, sizeof(*spec));
    for (size_t i = 0; i < N_PARTS; i++)
        dlb_config_fill(cfg, parts[i].group, (char *)spec + parts[i].offset);
    if (dlb_spec_format(spec)->opts)
        dlb_config_fill(cfg, dlb_spec_format(spec)->opts, spec->format_opts);
    dlb_spec_derive(spec);
    return check(spec, cfg, err);
}

int dlb_spec_from_json(struct dlb_spec *spec, const json_t *flat, const char *origin,
                       struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_mem_check(dlb_config_new(dlb_spec_groups()));
    int rc = dlb_config_set_flat(cfg, flat, origin, err);
    if (!rc)
        rc = dlb_spec_from_config(spec, cfg, err);
    dlb_config_free(cfg);
    return rc;
}

void dlb_spec_defaults(struct dlb_spec *spec)
{
    struct dlb_err err;
    if (dlb_spec_from_json(spec, NULL, "default", &err))
        DLB_BUG(err.what); /* the tables' own defaults */
}

void dlb_spec_defaults_of_format(struct dlb_spec *spec, int format)
{
    struct dlb_err err;
    json_t *flat = dlb_json_made(json_pack("{ss}", "dataset.format", dlb_formats[format]->name));
    if (dlb_spec_from_json(spec, flat, "default", &err))
        DLB_BUG(err.what);
    json_decref(flat);
}

static bool is_kind(const struct dlb_spec *spec, const char *name)
{
    int kind = spec->loader.kind; /* 0: auto, which is neither of those asked for */
    return kind > 0 && strcmp(dlb_loaders[kind - 1]->name, name) == 0;
}

bool dlb_spec_forks(const struct dlb_spec *spec)
{
    return is_kind(spec, "processes");
}

bool dlb_spec_is_torch(const struct dlb_spec *spec)
{
    return is_kind(spec, "torch");
}

void dlb_spec_make_torch(struct dlb_spec *spec)
{
    spec->loader.kind = 1;
    while (!dlb_spec_is_torch(spec))
        spec->loader.kind++;
    if (spec->device.kind > 0 && !dlb_devices[spec->device.kind - 1]->emulated)
        spec->device.kind = dlb_device_emulated();
}
