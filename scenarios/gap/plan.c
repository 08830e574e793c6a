/* Which rungs, at what size, in what order. */
#include "scenarios/gap/gap.h"

#include "core/base/units.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/flat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(field) .offset = offsetof(struct dlb_gap_opts, field)
static const struct dlb_opt opts[] = {
    {.key = "repeats",
     .type = DLB_OPT_INT,
     FIELD(repeats),
     .min = 1,
     .max = 1000,
     .def = "2",
     .unit = "processes",
     .help = "Repetitions of each rung, each a fresh process; intervals are 95% from 6 on"},
    {.key = "python",
     .type = DLB_OPT_STRING,
     FIELD(python),
     .def = "",
     .help = "Interpreter to try first for the PyTorch rungs; then python3 on the path, then the "
             "system's"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_gap_ladder_group = {.section = "gap",
                                                   .title = "How the ladder is measured",
                                                   .opts = opts,
                                                   .n_bytes = sizeof(struct dlb_gap_opts)};

const char *const dlb_gap_torch_names[] = {"torch-direct",
                                           "torch-gather",
                                           "torch-dataloader",
                                           "torch-dataloader-workers",
                                           "torch-batch-sampler",
                                           "torch-out-of-order",
                                           NULL};

/* What PyTorch takes beside the bytes of rows, as measured on CPython 3.11 and torch 2.15. */
#define RUNTIME_BYTES (UINT64_C(600) << 20) /* interpreter and libraries */
#define WORKER_BYTES (UINT64_C(100) << 20)  /* what a forked worker does not share */
#define VIEW_BYTES UINT64_C(700)            /* of a sample on its way: tensor, view, tuple, list */
#define ORDER_BYTES UINT64_C(48)            /* of a sample in the permutation: tensor, list, int */
#define PREFETCH_FACTOR UINT64_C(2)         /* DataLoader's default */
#define USABLE_FRAC 0.8                     /* of what is available: the rest is the machine's */

uint64_t dlb_gap_torch_bytes(const struct dlb_gap_params *params, const char *name)
{
    uint64_t batch = (uint64_t)params->batch_size, batch_bytes = dlb_gap_batch_bytes(params);
    uint64_t workers = (uint64_t)params->workers;
    /* The array, a device's buffer, and two batches: the loop lets go of one when it has the next.
     */
    uint64_t base = RUNTIME_BYTES + dlb_gap_array_bytes(params) + 3 * batch_bytes;
    uint64_t order = (uint64_t)params->samples * ORDER_BYTES;
    if (strcmp(name, "torch-direct") == 0)
        return base;
    if (strcmp(name, "torch-gather") == 0 || strcmp(name, "torch-batch-sampler") == 0)
        return base + order;
    if (strcmp(name, "torch-dataloader") == 0)
        return base + order + batch * VIEW_BYTES;
    if (strcmp(name, "torch-dataloader-workers") == 0 || strcmp(name, "torch-out-of-order") == 0)
        return base + order +
               workers * (WORKER_BYTES + batch * VIEW_BYTES + (PREFETCH_FACTOR + 1) * batch_bytes);
    return 0;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t needed(const struct dlb_gap_params *params, bool torch)
{
    uint64_t most = 0;
    for (const char *const *name = dlb_gap_rung_names; *name; name++)
        most = max_u64(most, dlb_gap_rung_bytes(params, *name));
    for (const char *const *name = dlb_gap_torch_names; torch && *name; name++)
        most = max_u64(most, dlb_gap_torch_bytes(params, *name));
    return most;
}

/* The same case with so many samples: batches as large a share of them, and enough batches. */
static struct dlb_gap_params scaled(const struct dlb_gap_params *asked, int64_t samples)
{
    struct dlb_gap_params p = *asked;
    p.samples = samples;
    p.batch_size =
        (int64_t)((double)asked->batch_size * ((double)samples / (double)asked->samples) + 0.5);
    if (p.batch_size > (samples - 1) / (DLB_GAP_MIN_BATCHES - 1))
        p.batch_size = (samples - 1) / (DLB_GAP_MIN_BATCHES - 1);
    if (p.batch_size < 1)
        p.batch_size = 1;
    return p;
}

static void say(const struct dlb_gap_params *asked, const struct dlb_gap_params *params,
                uint64_t n_bytes, uint64_t available_bytes, char said[256])
{
    char a[40], b[40], c[40], d[40], e[24], f[24];
    (void)snprintf(said, 256,
                   "%s samples in batches of %s would take up to %s of memory, and %s are "
                   "available: measured were %s samples in batches of %s",
                   dlb_count_text((double)asked->samples, a, sizeof(a)),
                   dlb_count_text((double)asked->batch_size, b, sizeof(b)),
                   dlb_bytes_text(n_bytes, e, sizeof(e)),
                   dlb_bytes_text(available_bytes, f, sizeof(f)),
                   dlb_count_text((double)params->samples, c, sizeof(c)),
                   dlb_count_text((double)params->batch_size, d, sizeof(d)));
}

int dlb_gap_shrink(struct dlb_gap_params *params, uint64_t available_bytes, bool torch,
                   char said[256], struct dlb_err *err)
{
    const struct dlb_gap_params asked = *params;
    uint64_t limit = (uint64_t)((double)available_bytes * USABLE_FRAC);
    uint64_t n_bytes = needed(&asked, torch);
    char least[24], have[24];
    said[0] = '\0';
    if (n_bytes <= limit)
        return DLB_OK;
    int64_t fits = DLB_GAP_MIN_BATCHES, beyond = asked.samples;
    struct dlb_gap_params smallest = scaled(&asked, fits);
    if (fits > asked.samples || needed(&smallest, torch) > limit)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "gap: even %d rows take %s of memory, and of the %s available not all can "
                        "be taken: lower gap.features or gap.workers",
                        DLB_GAP_MIN_BATCHES,
                        dlb_bytes_text(needed(&smallest, torch), least, sizeof(least)),
                        dlb_bytes_text(available_bytes, have, sizeof(have)));
    while (beyond - fits > 1) {
        int64_t samples = fits + (beyond - fits) / 2;
        struct dlb_gap_params p = scaled(&asked, samples);
        if (needed(&p, torch) <= limit)
            fits = samples;
        else
            beyond = samples;
    }
    if (fits > 100000) /* a number that can be said */
        fits -= fits % 10000;
    *params = scaled(&asked, fits);
    say(&asked, params, n_bytes, available_bytes, said);
    return DLB_OK;
}

/* What a PyTorch rung needs to end as the C rungs do. */
static json_t *torch_device(const struct dlb_gap_params *params, const struct dlb_device *device)
{
    const struct dlb_device_opts *o = &params->device;
    const struct dlb_device_profile *profile = &dlb_device_profiles[o->profile];
    double rate =
        o->pageable_bytes_per_s > 0 ? o->pageable_bytes_per_s : profile->pageable_bytes_per_s;
    bool buffer = params->target == DLB_GAP_TARGET_BUFFER;
    return json_pack("{ss, sf, sf, sf}", "kind",
                     buffer             ? "buffer"
                     : device->emulated ? "emulated"
                                        : device->name,
                     "pageable_bytes_per_s", rate, "copy_s", o->copy_us * 1e-6, "step_s",
                     buffer ? 0.0 : o->step_ms * 1e-3);
}

static json_t *torch_config(const struct dlb_gap_plan_input *in, const char *name, bool check)
{
    json_t *config = json_deep_copy(in->flat);
    json_t *array = json_pack("[ss]", in->exe, "array");
    bool ok = config && dlb_json_put(config, "rung", json_string(name)) &&
              dlb_json_put(config, "gap.samples", json_integer(in->params->samples)) &&
              dlb_json_put(config, "gap.workers", json_integer(in->params->workers)) &&
              dlb_json_put(config, "array", array) &&
              dlb_json_put(config, "device", torch_device(in->params, in->device)) &&
              dlb_json_put(config, "check", json_boolean(check));
    if (ok)
        return config;
    json_decref(config);
    return NULL;
}

static int plan_c(const struct dlb_gap_plan_input *in, const char *name, struct dlb_plan *out,
                  struct dlb_err *err)
{
    static const char *const lead[] = {"dlbench", "rung", NULL};
    static const struct dlb_plan_program program = {.lead = lead};
    struct dlb_plan_cell *cell = &out->cells[out->n_cells++];
    cell->name = name;
    cell->program = &program;
    cell->config = json_copy((json_t *)in->flat);
    if (!cell->config || !dlb_json_put(cell->config, "rung", json_string(name)))
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a plan");
    return DLB_OK;
}

static int plan_torch(const struct dlb_gap_plan_input *in, const char *name, struct dlb_plan *out,
                      struct dlb_err *err)
{
    struct dlb_plan_cell *cell = &out->cells[out->n_cells++];
    cell->name = name;
    cell->program = &in->python->program;
    cell->skipped = !in->python->found;
    (void)snprintf(cell->reason, sizeof(cell->reason), "%.150s", in->python->reason);
    cell->config = torch_config(in, name, false);
    cell->first = torch_config(in, name, true);
    if (!cell->config || !cell->first)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a plan");
    return DLB_OK;
}

int dlb_gap_plan(const struct dlb_gap_plan_input *in, struct dlb_plan *out, struct dlb_err *err)
{
    *out = (struct dlb_plan){.n_blocks = (uint32_t)in->repeats,
                             .reference = -1,
                             .seed = (uint64_t)in->params->seed,
                             .cells = calloc(DLB_GAP_MAX_RUNGS, sizeof(*out->cells)),
                             .axes = json_object()};
    int rc = out->cells && out->axes
                 ? DLB_OK
                 : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a plan");
    for (const char *const *name = dlb_gap_rung_names; !rc && *name; name++)
        rc = plan_c(in, *name, out, err);
    for (const char *const *name = dlb_gap_torch_names; !rc && *name; name++)
        rc = plan_torch(in, *name, out, err);
    if (!rc)
        rc = dlb_plan_tasks(out, err);
    if (rc)
        dlb_plan_free(out);
    return rc;
}
