#include "scenarios/judge/workers.h"

#include "scenarios/judge/judged.h"
#include "scenarios/spec/meaning.h"

/* An option that has no meaning in one of them makes no difference. */
static bool differ_in_workers_alone(const struct dlb_plan *plan, const struct dlb_plan_cell *a,
                                    const struct dlb_plan_cell *b)
{
    const struct dlb_axis *workers = dlb_axes_find(&plan->axes, &dlb_loader_group, "num_workers");
    if (dlb_spec_is_torch(a->spec) != dlb_spec_is_torch(b->spec))
        return false;
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        if (axis != workers && dlb_meaning_has(axis->group, axis->opt, a->spec, a->iterable) &&
            dlb_meaning_has(axis->group, axis->opt, b->spec, b->iterable) &&
            !dlb_axis_equal(axis, a->spec, b->spec))
            return false;
    }
    return true;
}

/* No noise makes one run so many times as fast as another. */
#define FAR_APART 2.0

/* Single repetitions tell no more than that the cell is FAR_APART times as fast as the other one.
 */
static bool are_comparable(const struct dlb_judged_cell *cell, const struct dlb_judged_cell *other)
{
    return (cell->rate.n >= DLB_SEPARABLE_MIN_N && other->rate.n >= DLB_SEPARABLE_MIN_N) ||
           cell->rate.median > FAR_APART * other->rate.median;
}

static uint32_t workers_of(const struct dlb_plan_cell *planned)
{
    return (uint32_t)planned->spec->loader.num_workers;
}

void dlb_judge_workers(const struct dlb_plan *plan, struct dlb_judgement *j, uint32_t at)
{
    const struct dlb_judged_cell *cell = &j->cells[at];
    struct dlb_evidence *e = &j->cells[at].evidence;
    double fastest = 0;
    e->most_swept = dlb_axes_find(&plan->axes, &dlb_loader_group, "num_workers") != NULL ||
                    (plan->hardware && at >= plan->n_grid);
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *other = &j->cells[i];
        uint32_t n_workers = workers_of(&plan->cells[i]);
        if (n_workers <= workers_of(&plan->cells[at]) ||
            !differ_in_workers_alone(plan, &plan->cells[i], &plan->cells[at]))
            continue;
        e->most_swept = false;
        if (!dlb_is_judged(other) || !are_comparable(cell, other))
            continue;
        if (n_workers > e->more_workers)
            e->more_workers = n_workers;
        struct dlb_estimate loss = dlb_paired_loss(cell, other);
        /* Of a race they may have few blocks in common. */
        if (other->rate.low > cell->rate.high && loss.n >= DLB_SEPARABLE_MIN_N && loss.low > 0 &&
            other->rate.median > fastest) {
            fastest = other->rate.median;
            e->faster_workers = n_workers;
        }
    }
}
