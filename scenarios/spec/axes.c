#include "scenarios/spec/axes.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_table.h"
#include "core/base/opt_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The option that a key within the group is of; one without a key, if there is none. */
static const struct dlb_opt *option_of(const struct dlb_opt_group *group, const char *bare)
{
    const struct dlb_opt *opt = group->opts;
    while (opt->key && strcmp(opt->key, bare) != 0 && !dlb_opt_name_in(opt, bare))
        opt++;
    return opt;
}

void dlb_axes_add(struct dlb_axes *axes, const struct dlb_opt_group *group, const char *key,
                  json_t *values)
{
    axes->axis = dlb_mem_grow(axes->axis, axes->n + 1, sizeof(*axes->axis));
    struct dlb_axis *axis = &axes->axis[axes->n++];
    *axis = (struct dlb_axis){.group = group, .opt = option_of(group, key), .values = values};
    if (!axis->opt->key)
        DLB_BUG(key);
    (void)snprintf(axis->key, sizeof(axis->key), "%s.%s", group->section, key);
}

/* The group that a dotted key belongs to; its own name within it begins at *bare. */
static const struct dlb_opt_group *group_of(const char *key, const char **bare)
{
    for (const struct dlb_opt_group *const *g = dlb_spec_groups(); *g; g++) {
        size_t n = strlen((*g)->section);
        *bare = key + n + 1;
        if (strncmp(key, (*g)->section, n) == 0 && key[n] == '.' && option_of(*g, *bare)->key)
            return *g;
    }
    return NULL;
}

void dlb_axes_from_json(struct dlb_axes *axes, const json_t *object)
{
    const char *key, *bare;
    json_t *values;
    *axes = (struct dlb_axes){0};
    json_object_foreach((json_t *)object, key, values) {
        const struct dlb_opt_group *group = group_of(key, &bare);
        if (!group)
            DLB_BUG(key);
        dlb_axes_add(axes, group, bare, json_incref(values));
    }
}

json_t *dlb_axes_to_json(const struct dlb_axes *axes)
{
    json_t *out = dlb_json_made(json_object());
    for (uint32_t i = 0; i < axes->n; i++)
        dlb_json_put(out, axes->axis[i].key, json_incref(axes->axis[i].values));
    return out;
}

void dlb_axes_free(struct dlb_axes *axes)
{
    for (uint32_t i = 0; i < axes->n; i++)
        json_decref(axes->axis[i].values);
    free(axes->axis);
    *axes = (struct dlb_axes){0};
}

const struct dlb_axis *dlb_axes_find(const struct dlb_axes *axes, const struct dlb_opt_group *group,
                                     const char *key)
{
    for (uint32_t i = 0; i < axes->n; i++)
        if (axes->axis[i].group == group && strcmp(axes->axis[i].opt->key, key) == 0)
            return &axes->axis[i];
    return NULL;
}

bool dlb_axis_equal(const struct dlb_axis *axis, const struct dlb_spec *a, const struct dlb_spec *b)
{
    const void *x = dlb_spec_section_of(a, axis->group), *y = dlb_spec_section_of(b, axis->group);
    if (!x || !y)
        return x == y;
    if (!dlb_axis_name(axis))
        return dlb_opt_equal(axis->opt, x, y);
    json_t *of_a = dlb_axis_load(axis, a), *of_b = dlb_axis_load(axis, b);
    bool equal = json_equal(of_a, of_b);
    json_decref(of_a);
    json_decref(of_b);
    return equal;
}

const char *dlb_axis_name(const struct dlb_axis *axis)
{
    return dlb_opt_name_in(axis->opt, axis->key + strlen(axis->group->section) + 1);
}

json_t *dlb_axis_load(const struct dlb_axis *axis, const struct dlb_spec *spec)
{
    json_t *value = dlb_opt_load(axis->opt, dlb_spec_section_of(spec, axis->group));
    const char *name = dlb_axis_name(axis);
    if (!name)
        return value;
    json_t *named = json_object_get(value, name);
    named = named ? json_incref(named) : json_null();
    json_decref(value);
    return named;
}

void dlb_axis_store(const struct dlb_axis *axis, const json_t *value, struct dlb_spec *spec)
{
    void *section = dlb_spec_section(spec, axis->group);
    const char *name = dlb_axis_name(axis);
    if (!name) {
        dlb_opt_store(axis->opt, value, section);
        return;
    }
    json_t *table = dlb_opt_load(axis->opt, section);
    dlb_json_put(table, name, json_incref((json_t *)(uintptr_t)value));
    dlb_opt_store(axis->opt, table, section);
    json_decref(table);
}

bool dlb_axis_is_other_work(const struct dlb_axis *axis, const struct dlb_spec *spec)
{
    switch (axis->opt->work) {
    case DLB_WORK_OTHER:
        return true;
    case DLB_WORK_PER_STEP:
        return spec->device.step_ms > 0;
    case DLB_WORK_SAME:
        break;
    }
    return false;
}
