#include "scenarios/judge/rivals.h"

#include "scenarios/spec/axes.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>

/* Whether the axis makes cells other work than this one. One value makes no two cells. */
static bool makes_other_work(const struct dlb_axis *axis, const struct dlb_spec *than)
{
    return json_array_size(axis->values) > 1 && dlb_axis_is_other_work(axis, than);
}

/* Whether the cells differ on the axis; they do where it has a meaning in one of them alone. */
static bool differ(const struct dlb_axis *axis, const struct dlb_plan_cell *a,
                   const struct dlb_plan_cell *b)
{
    bool in_a = dlb_meaning_has(axis->group, axis->opt, a->spec, a->iterable);
    bool in_b = dlb_meaning_has(axis->group, axis->opt, b->spec, b->iterable);
    return in_a != in_b || (in_a && !dlb_axis_equal(axis, a->spec, b->spec));
}

static bool is_rival(const struct dlb_axes *axes, const struct dlb_plan_cell *cell,
                     const struct dlb_plan_cell *best)
{
    if (dlb_spec_is_torch(cell->spec) != dlb_spec_is_torch(best->spec)) /* two pipelines */
        return false;
    for (uint32_t i = 0; i < axes->n; i++) {
        const struct dlb_axis *axis = &axes->axis[i];
        if (makes_other_work(axis, best->spec) && differ(axis, cell, best))
            return false;
    }
    return true;
}

void dlb_rivals_fill(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    for (uint32_t i = 0; i < j->n_cells; i++)
        j->cells[i].rival = is_rival(&plan->axes, &plan->cells[i], &plan->cells[j->best]);
}

const char *dlb_rivals_apart(const struct dlb_axes *axes, const struct dlb_spec *best, char *text,
                             size_t n_text)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < axes->n; i++) {
        const struct dlb_axis *axis = &axes->axis[i];
        if (!makes_other_work(axis, best))
            continue;
        int len = snprintf(text + at, n_text - at, "%s%s", at ? " or " : "", axis->key);
        if (len < 0 || at + (size_t)len >= n_text) {
            text[at] = '\0'; /* as many as there is room for */
            break;
        }
        at += (size_t)len;
    }
    return text;
}
