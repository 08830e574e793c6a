#include "scenarios/judge/in_c.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/disturbed.h"
#include "core/measure/stats.h"
#include "scenarios/judge/python.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES 8  /* PyTorch's batch has the labels in it, as int64; dlbench's beside it */
#define SAME_BYTES 0.1 /* means over other samples differ, where sizes do */

/* What one sample took the workers, by stage, and how much of it the training loop was given. */
struct work {
    double ns[DLB_WS_COLLATE + 1], bytes;
};

static double sum_of(const struct work *work)
{
    double sum = 0;
    for (int stage = DLB_WS_READ; stage <= DLB_WS_COLLATE; stage++)
        sum += isfinite(work->ns[stage]) ? work->ns[stage] : 0;
    return sum;
}

/* n_samples: that the stages are of. */
static struct work work_of(const struct dlb_cell_result *rep, double n_samples)
{
    const struct dlb_share *total = &rep->loop.total;
    struct work out = {.bytes = dlb_measured(total->n_bytes) / dlb_measured(total->n_samples)};
    for (int stage = DLB_WS_READ; stage <= DLB_WS_COLLATE; stage++)
        out.ns[stage] = dlb_measured(rep->workers.stage[stage].sum_ns) / n_samples;
    return out;
}

/* Each sample is read once. */
static double n_read(const struct dlb_cell_result *rep)
{
    return dlb_measured(rep->workers.stage[DLB_WS_READ].count);
}

static bool is_measured(const struct dlb_cell_result *rep)
{
    return rep->status == DLB_REP_OK && rep->has_workers && n_read(rep) > 0;
}

static uint32_t n_disturbed(const struct dlb_reps *reps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++)
        n += is_measured(&reps->rep[i]) && dlb_disturbed(&reps->rep[i].loop.strain) != 0;
    return n;
}

/* Medians over the runs that were measured; *n: how many. */
static struct work median_work(const struct dlb_reps *reps, uint32_t *n)
{
    struct work out;
    double *values = dlb_mem_array(reps->n, sizeof(*values));
    for (int stage = DLB_WS_READ; stage <= DLB_WS_COLLATE + 1; stage++) {
        *n = 0;
        for (uint32_t i = 0; i < reps->n; i++) {
            if (!is_measured(&reps->rep[i]))
                continue;
            struct work work = work_of(&reps->rep[i], n_read(&reps->rep[i]));
            values[(*n)++] = stage <= DLB_WS_COLLATE ? work.ns[stage] : work.bytes;
        }
        *(stage <= DLB_WS_COLLATE ? &out.ns[stage] : &out.bytes) = dlb_median(values, *n);
    }
    free(values);
    return out;
}

static bool is_same(const struct work *c, const struct work *python)
{
    double more =
        fmin(fabs(python->bytes - c->bytes), fabs(python->bytes - LABEL_BYTES - c->bytes));
    return more <= SAME_BYTES * python->bytes;
}

static json_t *stages_json(const struct work *work)
{
    json_t *out = dlb_json_made(json_object());
    for (int stage = DLB_WS_READ; stage <= DLB_WS_COLLATE; stage++)
        dlb_json_put(out, dlb_worker_stage_names[stage], dlb_json_real_or_null(work->ns[stage]));
    return out;
}

/* What an image takes in C where PIL decodes it in PyTorch. PIL opens files itself, so of files
 * what C reads belongs to it. NaN without images. */
static double decoder_ns(const struct dlb_spec *spec, const struct work *c)
{
    bool images = dlb_codecs[spec->dataset.codec]->images;
    bool opens = strcmp(dlb_spec_format(spec)->name, "files") == 0;
    return images ? c->ns[DLB_WS_DECODE] + (opens ? c->ns[DLB_WS_READ] : 0) : (double)NAN;
}

/* Whether images were decoded as PyTorch's data sets do, which is what makes decoding the same
 * work: all of each, at full size. Null: there are none. */
static json_t *whole_json(const struct dlb_spec *spec)
{
    return dlb_codecs[spec->dataset.codec]->images
               ? dlb_json_made(json_boolean(spec->transform.whole_decode))
               : json_null();
}

/* How many times as fast PyTorch's workers would be with a decoder that takes so long. */
static double decoder_gain(const struct work *python, double in_c_ns)
{
    double all = sum_of(python), own = python->ns[DLB_WS_DECODE];
    return own > 0 ? all / (all - own + in_c_ns) : (double)NAN;
}

json_t *dlb_in_c_summary(const struct dlb_plan *plan, const struct dlb_results *results,
                         uint32_t cell, const struct dlb_cell_result *shown)
{
    const struct dlb_reps *reps = &results->in_c;
    uint32_t n = 0;
    if (!plan->in_c.spec || plan->in_c.cell != cell || !shown || reps->n == 0)
        return json_null();
    struct work python = work_of(shown, dlb_python_asked(shown->python)), c = median_work(reps, &n);
    bool same = n > 0 && is_same(&c, &python), both = same && sum_of(&python) > 0;
    json_t *out = dlb_json_made(json_pack("{sI, sb}", "runs", (json_int_t)n, "same_work", same));
    dlb_json_put(out, "disturbed", json_integer(n_disturbed(reps)));
    dlb_json_put(out, "reason", n > 0 ? json_null() : dlb_json_safe_text(reps->rep[0].reason));
    dlb_json_put(out, "whole_decode", whole_json(plan->in_c.spec));
    dlb_json_put(out, "sample_bytes", dlb_json_real_or_null(c.bytes));
    dlb_json_put(out, "python_sample_bytes", dlb_json_real_or_null(python.bytes));
    dlb_json_put(out, "stages_ns", stages_json(&c));
    dlb_json_put(out, "sample_ns", dlb_json_real_or_null(n > 0 ? sum_of(&c) : (double)NAN));
    dlb_json_put(out, "python_stages_ns", stages_json(&python));
    dlb_json_put(out, "python_sample_ns",
                 dlb_json_real_or_null(sum_of(&python) > 0 ? sum_of(&python) : (double)NAN));
    double images_ns = both ? decoder_ns(plan->in_c.spec, &c) : (double)NAN;
    dlb_json_put(out, "decoder_ns", dlb_json_real_or_null(images_ns));
    dlb_json_put(out, "decoder_gain", dlb_json_real_or_null(decoder_gain(&python, images_ns)));
    dlb_json_put(out, "gain",
                 dlb_json_real_or_null(both ? sum_of(&python) / sum_of(&c) : (double)NAN));
    return out;
}
