#include "scenarios/gap/judgement.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void dlb_gap_judgement_free(struct dlb_gap_judgement *judgement)
{
    for (uint32_t i = 0; i < judgement->n_rungs; i++) {
        struct dlb_gap_judged *rung = &judgement->rung[i];
        for (uint32_t k = 0; k < rung->n_results; k++)
            dlb_rung_result_free(&rung->result[k]);
        free(rung->result);
        free(rung->block);
        free(rung->values);
    }
    memset(judgement, 0, sizeof(*judgement));
}

const struct dlb_gap_judged *dlb_gap_measured(const struct dlb_gap_judgement *j, const char *name)
{
    for (uint32_t i = 0; i < j->n_rungs; i++)
        if (strcmp(j->rung[i].name, name) == 0 && j->rung[i].status == DLB_GAP_OK)
            return &j->rung[i];
    return NULL;
}

bool dlb_gap_is_faster(const struct dlb_gap_judgement *j, const struct dlb_gap_judged *one,
                       const struct dlb_gap_judged *than)
{
    return one->n_values > 1 && than->n_values > 1 && one->seconds.high < than->seconds.low &&
           1 - one->seconds.median / than->seconds.median > j->noise_floor_frac;
}

double dlb_gap_over(const struct dlb_gap_judged *rung,
                    double (*figure)(const struct dlb_rung_result *result, const char *name),
                    const char *name)
{
    double *values = dlb_mem_array(rung->n_results, sizeof(double));
    uint32_t n = 0;
    for (uint32_t i = 0; i < rung->n_results; i++) {
        double value = figure(&rung->result[i], name);
        if (rung->result[i].status == DLB_RUNG_OK && isfinite(value))
            values[n++] = value;
    }
    double median = dlb_median(values, n);
    free(values);
    return median;
}
