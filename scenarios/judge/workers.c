#include "scenarios/judge/workers.h"

#include "scenarios/judge/judge.h"
#include "scenarios/spec/flat.h"

#include <string.h>

/* What has no meaning in one of them makes no difference. */
static bool differ_in_workers_alone(const struct dlb_plan *plan, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *axis;
    json_object_foreach(plan->axes, key, axis) {
        const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
        if (strcmp(key, "loader.num_workers") != 0 && !json_is_null(x) && !json_is_null(y) &&
            !json_equal(x, y))
            return false;
    }
    return true;
}

/* Single repetitions tell nothing apart. */
static bool are_comparable(const struct dlb_judged_cell *a, const struct dlb_judged_cell *b)
{
    return a->rate.n >= DLB_SEPARABLE_MIN_N && b->rate.n >= DLB_SEPARABLE_MIN_N;
}

static uint32_t workers_of(const struct dlb_plan_cell *planned)
{
    return (uint32_t)dlb_json_u64(planned->config, "loader.num_workers", 0);
}

void dlb_judge_workers(const struct dlb_plan *plan, const struct dlb_judged_cell *cells,
                       uint32_t at, struct dlb_evidence *e)
{
    double fastest = 0;
    e->most_swept = json_object_get(plan->axes, "loader.num_workers") != NULL;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_judged_cell *other = &cells[i];
        uint32_t n_workers = workers_of(&plan->cells[i]);
        if (n_workers <= workers_of(&plan->cells[at]) ||
            !differ_in_workers_alone(plan, plan->cells[i].config, plan->cells[at].config))
            continue;
        e->most_swept = false;
        if (!dlb_is_judged(other) || !are_comparable(other, &cells[at]))
            continue;
        if (n_workers > e->more_workers)
            e->more_workers = n_workers;
        if (other->rate.low > cells[at].rate.high && other->rate.median > fastest) {
            fastest = other->rate.median;
            e->faster_workers = n_workers;
        }
    }
}
