#include "scenarios/judge/no_difference.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "scenarios/judge/judged.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cell that has another value of one key, and all else of `base`; n_cells: there is none. */
static uint32_t cell_with(const struct dlb_plan *plan, uint32_t base, const struct dlb_axis *axis,
                          const json_t *value)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    uint32_t found = 0;
    *spec = *plan->cells[base].spec;
    dlb_axis_store(axis, value, spec);
    dlb_meaning_settle(spec, plan->cells[base].iterable);
    while (found < plan->n_cells &&
           (plan->cells[found].skipped || !dlb_spec_equal(plan->cells[found].spec, spec)))
        found++;
    free(spec);
    return found;
}

/* Whether two cells, paired by block, have the same rate but for less than the tolerance. */
static bool are_equal(const struct dlb_noise *noise, const struct dlb_judged_cell *a,
                      const struct dlb_judged_cell *b, double tolerance)
{
    double *of_a = dlb_mem_array(2 * (size_t)a->n_values, sizeof(*of_a));
    double *of_b = of_a + a->n_values;
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_values; i++)
        for (uint32_t k = 0; k < b->n_values; k++)
            if (a->block[i] == b->block[k] && a->values[i] > 0 && b->values[k] > 0) {
                of_a[n] = a->values[i];
                of_b[n++] = b->values[k];
            }
    bool equal = dlb_noise_equal(noise, of_a, of_b, n, tolerance);
    free(of_a);
    return equal;
}

static bool race_says(const struct dlb_race *race, uint32_t base, uint32_t axis, uint32_t n_values)
{
    return race->stopped != DLB_RACE_GOES_ON && race->n_looked > 0 && race->base == base &&
           race->keys[axis].n_others + 1 == n_values && race->keys[axis].same >= DLB_RACE_SAME;
}

static bool makes_none(const struct dlb_plan *plan, const struct dlb_judgement *j,
                       const struct dlb_noise *noise, uint32_t base, uint32_t at)
{
    const struct dlb_axis *axis = &plan->axes.axis[at];
    uint32_t n = (uint32_t)json_array_size(axis->values);
    const struct dlb_plan_cell *cell = &plan->cells[base];
    if (n < 2 || dlb_axis_is_other_work(axis, cell->spec) ||
        !dlb_meaning_shows(axis->group, axis->opt, cell->spec, cell->iterable))
        return false;
    for (uint32_t place = 0; place < n; place++) {
        uint32_t other = cell_with(plan, base, axis, json_array_get(axis->values, place));
        if (other == plan->n_cells || !dlb_is_judged(&j->cells[other]))
            return false;
        if (!plan->race && other != base &&
            !are_equal(noise, &j->cells[base], &j->cells[other], j->tolerance))
            return false;
    }
    return !plan->race || race_says(&dlb_plan_deciding(plan)->race, base, at, n);
}

/* Workers that are threads start in no time: what is measured of keeping them is not PyTorch's. */
static bool must_stay(const struct dlb_axis *axis, const struct dlb_spec *spec)
{
    bool keeps_threads = axis->group == &dlb_loader_group &&
                         strcmp(axis->opt->key, "persistent_workers") == 0 &&
                         !dlb_spec_forks(spec) && !dlb_spec_is_torch(spec);
    return axis->opt->stays || keeps_threads;
}

/* Copies with non_blocking=True need pinned batches, so that value is pasted where either would do:
 * a training may have such copies, where this one had none. */
static bool is_pin_memory(const struct dlb_axis *axis)
{
    return axis->group == &dlb_loader_group && strcmp(axis->opt->key, "pin_memory") == 0;
}

enum standing { UNMEASURED, OTHER_VALUE, SAME_VALUE };

/* Of the key's default, which is PyTorch's for the arguments of DataLoader. */
static enum standing default_of(const struct dlb_axis *axis, const struct dlb_spec *spec)
{
    struct dlb_err ignored;
    json_t *usual = NULL, *value = dlb_axis_load(axis, spec);
    enum standing out = UNMEASURED;
    if (dlb_opt_from_text(axis->opt, axis->key, axis->opt->def, "", &usual, &ignored) == DLB_OK) {
        for (size_t i = 0; i < json_array_size(axis->values); i++)
            if (json_equal(usual, json_array_get(axis->values, i)))
                out = json_equal(usual, value) ? SAME_VALUE : OTHER_VALUE;
        json_decref(usual);
    }
    json_decref(value);
    return out;
}

static void add_word(char *text, size_t n_text, const struct dlb_axis *axis)
{
    size_t at = strlen(text);
    (void)snprintf(text + at, n_text - at, "%s%s", at ? ", " : "",
                   axis->group == &dlb_loader_group ? axis->opt->key : axis->key);
}

struct said {
    char none[160], left_out[160], unmeasured[160];
    uint32_t n;
};

static void say(const struct said *said, struct dlb_judgement *j)
{
    size_t at = strlen(j->text), n = sizeof(j->text);
    if (said->n == 0)
        return;
    (void)snprintf(j->text + at, n - at,
                   " %s make%s no difference here: changing %s alone changes the rate by less than "
                   "%.3g%%, with a probability of %.0f%% or more.",
                   said->none, said->n == 1 ? "s" : "", said->n == 1 ? "it" : "each",
                   j->tolerance * 100, DLB_RACE_SAME * 100);
    at = strlen(j->text);
    if (said->left_out[0])
        (void)snprintf(j->text + at, n - at,
                       " Not among the settings to paste, as the default was measured, too: %s.",
                       said->left_out);
    at = strlen(j->text);
    if (said->unmeasured[0])
        (void)snprintf(j->text + at, n - at,
                       " Set nevertheless, as the default was not measured: %s.", said->unmeasured);
}

void dlb_no_difference_find(const struct dlb_plan *plan, const struct dlb_noise *noise,
                            struct dlb_judgement *j)
{
    int64_t base = j->recommended >= 0 ? j->recommended : j->best;
    struct said said = {.n = 0};
    bool changed = false;
    if (plan->base || base < 0 || j->too_busy || !dlb_is_judged(&j->cells[base]))
        return;
    const struct dlb_spec *spec = plan->cells[base].spec;
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        if (!makes_none(plan, j, noise, (uint32_t)base, i))
            continue;
        said.n++;
        add_word(said.none, sizeof(said.none), axis);
        dlb_json_append(j->no_difference, dlb_json_made(json_string(axis->key)));
        if (is_pin_memory(axis)) {
            j->pins = spec->loader.pin_memory || !changed;
            changed = changed || !spec->loader.pin_memory;
            continue;
        }
        enum standing standing = default_of(axis, spec);
        if (must_stay(axis, spec) || (standing == OTHER_VALUE && changed))
            continue;
        changed = changed || standing == OTHER_VALUE;
        add_word(standing == UNMEASURED ? said.unmeasured : said.left_out, sizeof(said.left_out),
                 axis);
        if (standing != UNMEASURED)
            dlb_json_append(j->left_out, dlb_json_made(json_string(axis->key)));
    }
    say(&said, j);
}
