#include "scenarios/plan/twin.h"

#include "core/measure/stats.h"
#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdlib.h>

#define TWIN_NS 1e9 /* of measured steps ... */
#define TWIN_MIN_STEPS 20
#define TWIN_MAX_STEPS                                                                             \
    20000 /* ... of all accelerators together, and so many where they are free                     \
           */
#define TWIN_MAX_SAMPLES 2e7
#define TWIN_WARMUP 2
#define LINK_BYTES_PER_S 1e12 /* no host link is as fast */

static double clamp(double value, double low, double high)
{
    return fmax(low, fmin(value, high));
}

/* Measured steps of each accelerator. */
static json_int_t twin_steps(const json_t *config, enum dlb_twin what, double n)
{
    double step_ns = dlb_json_number(config, "device.step_ms") * 1e6;
    double batch = dlb_json_number(config, "loader.batch_size");
    double steps = what == DLB_TWIN_STEPS && step_ns > 0 ? TWIN_NS / step_ns : TWIN_MAX_STEPS / n;

    steps = fmin(steps, TWIN_MAX_SAMPLES / (batch * n));
    return (json_int_t)clamp(floor(steps), TWIN_MIN_STEPS, TWIN_MAX_STEPS);
}

static json_t *overrides(const json_t *config, uint64_t sample_bytes, enum dlb_twin what)
{
    double n = (double)dlb_json_u64(config, "accelerators.count", 1);
    json_int_t steps = twin_steps(config, what, n);
    double samples =
        n * (double)(steps + TWIN_WARMUP + 2) * dlb_json_number(config, "loader.batch_size");
    json_t *out = json_pack(
        "{ss, ss, ss, sI, sI, sb, sf, sf, sf, sf, ss, sb, sf, sI, sI, sI, sI, sI, sb}",
        "dataset.format", "synthetic", "dataset.codec", "raw", "dataset.access", "auto",
        "generate.samples", (json_int_t)samples, "generate.sample_bytes", (json_int_t)sample_bytes,
        "loader.shuffle", 0, "loader.sample_sleep_us", 0.0, "loader.sample_spin_us", 0.0,
        "loader.worker_init_ms", 0.0, "loader.worker_init_mb", 0.0, "loader.io", "sync",
        "loader.direct", 0, "loader.timeout_s", 0.0, "run.epochs", (json_int_t)1, "run.max_batches",
        steps, "run.warmup_batches", (json_int_t)TWIN_WARMUP, "run.rank", (json_int_t)0,
        "run.world", (json_int_t)1, "run.checksum", 0);

    if (out && what == DLB_TWIN_FREE &&
        !(dlb_json_put(out, "device.step_ms", json_real(0)) &&
          dlb_json_put(out, "device.step_dist", json_string("constant")) &&
          dlb_json_put(out, "device.copy_us", json_real(0)) &&
          dlb_json_put(out, "device.pinned_bytes_per_s", json_real(LINK_BYTES_PER_S)) &&
          dlb_json_put(out, "device.pageable_bytes_per_s", json_real(LINK_BYTES_PER_S)))) {
        json_decref(out);
        return NULL;
    }
    return out;
}

int dlb_twin_config(const json_t *config, uint64_t sample_bytes, enum dlb_twin what, json_t **out,
                    struct dlb_err *err)
{
    json_t *changes = overrides(config, sample_bytes, what);
    if (!changes)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the plan");
    int rc = dlb_flat_override(config, changes, "null source", out, err);
    if (!rc)
        (void)json_object_del(*out, "dataset.path");
    json_decref(changes);
    return rc;
}

static double share_of(const json_t *doc)
{
    double idle_ns = dlb_json_number(doc, "idle_input_ns") + dlb_json_number(doc, "idle_other_ns");
    double window_ns = dlb_json_number(doc, "window_ns");
    return window_ns > 0 ? idle_ns / window_ns : (double)NAN;
}

static double rate_of(const json_t *doc)
{
    double window_ns = dlb_json_number(doc, "window_ns");
    return window_ns > 0 ? dlb_json_number(doc, "n_samples") * 1e9 / window_ns : (double)NAN;
}

static double median_of(const json_t *docs, double (*figure)(const json_t *doc))
{
    double *values = calloc(json_array_size(docs) + 1, sizeof(*values)), out = (double)NAN;
    const json_t *doc;
    uint32_t n = 0;
    size_t i;
    json_array_foreach(docs, i, doc) {
        double value = figure(doc);
        if (values && isfinite(value))
            values[n++] = value;
    }
    if (n > 0)
        out = dlb_median(values, n);
    free(values);
    return out;
}

double dlb_twin_share(const json_t *docs)
{
    return median_of(docs, share_of);
}

double dlb_twin_headroom(const json_t *docs, double samples_per_s)
{
    return samples_per_s > 0 ? median_of(docs, rate_of) / samples_per_s : (double)NAN;
}
