#include "scenarios/plan/twin.h"

#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "core/measure/stats.h"
#include "scenarios/spec/meaning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWIN_NS 1e9 /* of measured steps ... */
#define TWIN_MIN_STEPS 20
/* ... of all accelerators together; the number of steps if they are free. */
#define TWIN_MAX_STEPS 20000
#define TWIN_MAX_SAMPLES 2e7
#define TWIN_WARMUP 2
#define LINK_BYTES_PER_S 1e12 /* no host link is as fast */

/* Measured steps of each accelerator. */
static int64_t twin_steps(const struct dlb_spec *cell, enum dlb_twin what)
{
    double n = (double)cell->accelerators.count, step_ns = cell->device.step_ms * 1e6;
    double steps = what == DLB_TWIN_STEPS && step_ns > 0 ? TWIN_NS / step_ns : TWIN_MAX_STEPS / n;

    steps = fmin(steps, TWIN_MAX_SAMPLES / ((double)cell->loader.batch_size * n));
    return (int64_t)fmax(TWIN_MIN_STEPS, fmin(floor(steps), TWIN_MAX_STEPS));
}

/* Plants no time, reads nothing, waits for nothing. */
static void null_source(struct dlb_spec *out)
{
    out->dataset.format = dlb_opt_place(dlb_format_names, "synthetic");
    out->dataset.codec = dlb_opt_place(dlb_codec_names, "raw");
    out->dataset.access = DLB_ACCESS_AUTO;
    out->dataset.path[0] = '\0';
    memset(out->format_opts, 0, sizeof(out->format_opts));
    out->loader.shuffle = false;
    out->loader.sample_sleep_us = out->loader.sample_spin_us = 0;
    out->loader.worker_init_ms = out->loader.worker_init_mb = 0;
    out->loader.io = DLB_READ_SYNC;
    out->loader.direct = false;
    out->loader.timeout_s = 0;
    out->device.host_busy_frac = 0;
}

/* No GPU copies in no time, so the emulated device stands in for one. */
static void free_steps(struct dlb_device_opts *device)
{
    device->kind = dlb_device_emulated();
    device->step_ms = 0;
    device->step_source[0] = '\0';
    device->step_dist = DLB_STEP_CONSTANT;
    device->copy_us = 0;
    device->pinned_bytes_per_s = LINK_BYTES_PER_S;
    device->pageable_bytes_per_s = LINK_BYTES_PER_S;
}

void dlb_twin_spec(const struct dlb_spec *cell, uint64_t sample_bytes, enum dlb_twin what,
                   struct dlb_spec *out)
{
    int64_t steps = twin_steps(cell, what);
    *out = *cell;
    null_source(out);
    out->generate.samples =
        cell->accelerators.count * (steps + TWIN_WARMUP + 2) * cell->loader.batch_size;
    out->generate.sample_bytes = (int64_t)sample_bytes;
    out->run.epochs = 1;
    out->run.max_batches = steps;
    out->run.warmup_batches = TWIN_WARMUP;
    out->run.rank = 0;
    out->run.world = 1;
    out->run.checksum = false;
    if (what == DLB_TWIN_FREE)
        free_steps(&out->device);
    dlb_meaning_settle(out, false);
}

static double share_of(const struct dlb_cell_result *result)
{
    const struct dlb_share *total = &result->loop.total;
    double window_ns = dlb_measured(total->window_ns);
    return window_ns > 0
               ? (dlb_measured(total->idle_input_ns) + dlb_measured(total->idle_other_ns)) /
                     window_ns
               : (double)NAN;
}

static double median_of(const struct dlb_reps *reps,
                        double (*figure)(const struct dlb_cell_result *result))
{
    double *values = dlb_mem_array(reps->n, sizeof(*values)), out = (double)NAN;
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++) {
        double value = figure(&reps->rep[i]);
        if (isfinite(value))
            values[n++] = value;
    }
    if (n > 0)
        out = dlb_median(values, n);
    free(values);
    return out;
}

double dlb_twin_share(const struct dlb_reps *reps)
{
    return median_of(reps, share_of);
}

double dlb_twin_headroom(const struct dlb_reps *reps, double samples_per_s)
{
    return samples_per_s > 0 ? median_of(reps, dlb_cell_result_samples_per_s) / samples_per_s
                             : (double)NAN;
}
