#include "scenarios/judge/au_summary.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stdlib.h>

/* One figure of a struct dlb_loop_result. */
struct figure {
    const char *key;
    size_t offset;
};
#define MEAN(name)                                                                                 \
    {                                                                                              \
        .key = #name, .offset = offsetof(struct dlb_loop_result, total.au.name)                    \
    }
#define LOWEST(name)                                                                               \
    {                                                                                              \
        .key = #name, .offset = offsetof(struct dlb_loop_result, lowest.name)                      \
    }

static double median_of(const struct dlb_cell_result *const *reps, uint32_t n, size_t offset)
{
    double *values = dlb_mem_array(n, sizeof(*values));
    uint32_t n_values = 0;
    for (uint32_t i = 0; i < n; i++) {
        double value = *(const double *)(const void *)((const char *)&reps[i]->loop + offset);
        if (isfinite(value))
            values[n_values++] = value;
    }
    double out = dlb_median(values, n_values);
    free(values);
    return out;
}

static json_t *medians(const struct dlb_cell_result *const *reps, uint32_t n,
                       const struct figure *figures, size_t n_figures)
{
    json_t *out = dlb_json_made(json_object());
    for (size_t i = 0; i < n_figures; i++)
        dlb_json_put(out, figures[i].key,
                     dlb_json_real_or_null(median_of(reps, n, figures[i].offset)));
    return out;
}

json_t *dlb_au_summary(const struct dlb_reps *reps, const struct dlb_cell_result *shown,
                       uint32_t n_blocks)
{
    static const struct figure mean[] = {MEAN(nominal),
                                         MEAN(measured),
                                         MEAN(mlperf_v1),
                                         MEAN(mlperf_v2),
                                         MEAN(mlperf_v1_samples_per_s),
                                         MEAN(mlperf_v2_samples_per_s)};
    static const struct figure lowest[] = {LOWEST(nominal), LOWEST(measured), LOWEST(mlperf_v1),
                                           LOWEST(mlperf_v2)};
    const struct dlb_cell_result **taken = dlb_mem_array((size_t)reps->n + 1, sizeof(*taken));
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++)
        if (reps->rep[i].has_loop && reps->rep[i].status == DLB_REP_OK &&
            reps->rep[i].block < n_blocks)
            taken[n++] = &reps->rep[i];
    if (n == 0 && shown && shown->has_loop)
        taken[n++] = shown;
    json_t *out = json_null();
    if (n > 0) {
        out = medians(taken, n, mean, sizeof(mean) / sizeof(mean[0]));
        dlb_json_put(out, "lowest", medians(taken, n, lowest, sizeof(lowest) / sizeof(lowest[0])));
    }
    free((void *)taken);
    return out;
}
