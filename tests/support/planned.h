/* Plans of made-up configurations. For cmocka programs of plans. Header-only. */
#ifndef DLB_TESTS_PLANNED_H
#define DLB_TESTS_PLANNED_H

#include "scenarios/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static inline struct dlb_config *config_of(const char *const *settings)
{
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    assert_non_null(cfg);
    /* Sweeps whose tasks are all planned beforehand; a test of the race sets it back. */
    assert_int_equal(dlb_config_set(cfg, "sweep.exhaustive=true", &err), DLB_OK);
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    return cfg;
}

static inline int plan_of(const char *scenario, struct dlb_config *cfg, struct dlb_plan *plan,
                          struct dlb_err *err)
{
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 4, .iterable = false};
    return dlb_scenario_by_name(scenario)->plan(&in, plan, err);
}

static inline struct dlb_plan planned(const char *scenario, const char *const *settings)
{
    struct dlb_plan plan;
    struct dlb_err err;
    struct dlb_config *cfg = config_of(settings);
    if (plan_of(scenario, cfg, &plan, &err))
        fail_msg("%s", err.what);
    dlb_config_free(cfg);
    return plan;
}

/* What a cell's echo says of an option; new reference. */
static inline json_t *echo_of(const struct dlb_plan *plan, uint32_t cell, const char *key)
{
    const struct dlb_plan_cell *one = &plan->cells[cell];
    json_t *all = dlb_spec_to_json(one->spec, one->iterable);
    json_t *value = json_incref(json_object_get(all, key));
    json_decref(all);
    assert_non_null(value);
    return value;
}

static inline bool echoes_null(const struct dlb_plan *plan, uint32_t cell, const char *key)
{
    json_t *value = echo_of(plan, cell, key);
    bool is_null = json_is_null(value);
    json_decref(value);
    return is_null;
}

#endif
