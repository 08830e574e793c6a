/* What PyTorch's cells did not compare of the settings to paste. */
#include "core/base/json.h"
#include "core/base/opt_value.h"
#include "scenarios/judge/judge.h"
#include "scenarios/judge/judged.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>
#include <string.h>

/* A measured cell of PyTorch's, for settings with workers one that has some. */
static bool is_among(const struct dlb_plan *plan, const struct dlb_judgement *j, uint32_t cell,
                     const struct dlb_spec *spec)
{
    const struct dlb_spec *other = plan->cells[cell].spec;
    bool without = other && other->loader.num_workers == 0 && spec->loader.num_workers > 0;
    return other && !without && dlb_plan_is_torch(plan, cell) && dlb_is_measured(&j->cells[cell]);
}

/* Whether these cells were measured with two values of the option, at least. */
static bool is_compared(const struct dlb_plan *plan, const struct dlb_judgement *j,
                        const struct dlb_spec *spec, const struct dlb_opt_group *group,
                        const struct dlb_opt *opt)
{
    const void *own = dlb_spec_section_of(spec, group);
    bool found = false;
    for (uint32_t i = 0; i < plan->n_cells && !found; i++)
        found = is_among(plan, j, i, spec) &&
                !dlb_opt_equal(opt, own, dlb_spec_section_of(plan->cells[i].spec, group));
    return found;
}

static bool is_key(const struct dlb_axis *axis, const char *key)
{
    return axis->group == &dlb_loader_group && strcmp(axis->opt->key, key) == 0;
}

/* Whether the key was swept before PyTorch's cells, and they have it. */
static bool is_asked(const struct dlb_plan *plan, const struct dlb_axis *axis,
                     const struct dlb_spec *spec, bool iterable)
{
    return plan->hardware && json_array_size(axis->values) > 1 && !is_key(axis, "kind") &&
           dlb_meaning_has(axis->group, axis->opt, spec, iterable) &&
           !dlb_plan_sampler_for(&plan->torch, axis->group, axis->opt, spec);
}

static void add_key(struct dlb_judgement *j, const char *key)
{
    for (size_t i = 0; i < json_array_size(j->unmeasured); i++)
        if (strcmp(json_string_value(json_array_get(j->unmeasured, i)), key) == 0)
            return;
    dlb_json_append(j->unmeasured, dlb_json_made(json_string(key)));
}

static void add_swept(const struct dlb_plan *plan, const struct dlb_spec *spec,
                      struct dlb_judgement *j)
{
    bool iterable = plan->cells[plan->n_grid].iterable;
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        if (is_asked(plan, axis, spec, iterable) &&
            !is_compared(plan, j, spec, axis->group, axis->opt))
            add_key(j, axis->key);
    }
}

void dlb_pytorch_unmeasured(const struct dlb_plan *plan, const struct dlb_spec *spec,
                            struct dlb_judgement *j)
{
    static const struct {
        const struct dlb_opt_group *group;
        const char *key, *argument;
    } rows[] = {{&dlb_loader_group, "prefetch_factor", "prefetch_factor="},
                {&dlb_loader_group, "persistent_workers", "persistent_workers="},
                {&dlb_loader_group, "order", "in_order="},
                {&dlb_python_group, "start_method", "multiprocessing_context="},
                {&dlb_python_group, "threads", "set_num_threads("}};
    if (!dlb_spec_is_torch(spec))
        return;
    if (spec->loader.pin_memory && strstr(j->pytorch, "pin_memory="))
        add_key(j, "loader.pin_memory");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (const struct dlb_opt *opt = rows[i].group->opts; opt->key; opt++) {
            char key[DLB_AXIS_KEY_CAP];
            if (strcmp(opt->key, rows[i].key) != 0 || !strstr(j->pytorch, rows[i].argument) ||
                is_compared(plan, j, spec, rows[i].group, opt))
                continue;
            (void)snprintf(key, sizeof(key), "%s.%s", rows[i].group->section, opt->key);
            add_key(j, key);
        }
    if (plan->hardware)
        add_swept(plan, spec, j);
}

/* The listed values that none of these cells has. */
static json_t *values_left(const struct dlb_plan *plan, const struct dlb_judgement *j,
                           const struct dlb_spec *spec, const struct dlb_axis *axis)
{
    json_t *out = dlb_json_made(json_array());
    for (size_t k = 0; k < json_array_size(axis->values); k++) {
        json_t *value = json_array_get(axis->values, k);
        bool found = false;
        for (uint32_t i = 0; i < plan->n_cells && !found; i++) {
            const struct dlb_spec *other = plan->cells[i].spec;
            if (!dlb_plan_is_torch(plan, i) || !dlb_is_measured(&j->cells[i]) ||
                (!is_key(axis, "num_workers") && !is_among(plan, j, i, spec)))
                continue;
            json_t *own = dlb_axis_load(axis, other);
            found = json_equal(own, value);
            json_decref(own);
        }
        if (!found)
            dlb_json_append(out, json_incref(value));
    }
    return out;
}

json_t *dlb_pytorch_unmeasured_values(const struct dlb_plan *plan, const struct dlb_judgement *j)
{
    int64_t shown = j->recommended >= 0 ? j->recommended : j->best;
    json_t *out = dlb_json_made(json_object());
    if (!plan->hardware || !j->pytorch[0] || shown < 0 || !dlb_plan_is_torch(plan, (uint32_t)shown))
        return out;
    const struct dlb_spec *spec = plan->cells[shown].spec;
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        if (!is_asked(plan, axis, spec, plan->cells[shown].iterable) ||
            !is_compared(plan, j, spec, axis->group, axis->opt))
            continue;
        json_t *values = values_left(plan, j, spec, axis);
        if (json_array_size(values) > 0)
            dlb_json_put(out, axis->key, json_incref(values));
        json_decref(values);
    }
    return out;
}
