/* What a sweep varies: options, each with the values that it takes.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_SPEC_AXES_H
#define DLB_SCENARIOS_SPEC_AXES_H

#include "scenarios/spec/spec.h"

#define DLB_AXIS_KEY_CAP 64

struct dlb_axis {
    const struct dlb_opt_group *group;
    const struct dlb_opt *opt;
    char key[DLB_AXIS_KEY_CAP]; /* "loader.num_workers" */
    json_t *values;             /* array of canonical values; owned */
};

/* Zeroed: none. Owned by its holder; dlb_axes_free. */
struct dlb_axes {
    struct dlb_axis *axis;
    uint32_t n;
};

/* From {"loader.num_workers": [0, 2], ...}: what dlb_config_axes has checked. */
void dlb_axes_from_json(struct dlb_axes *axes, const json_t *object);
json_t *dlb_axes_to_json(const struct dlb_axes *axes);
void dlb_axes_free(struct dlb_axes *axes);

void dlb_axes_add(struct dlb_axes *axes, const struct dlb_opt_group *group, const char *key,
                  json_t *values); /* steals values */

/* The axis of an option, by group and key: dlb_axes_find(axes, &dlb_loader_group,
 * "num_workers"); NULL when it is not swept. */
const struct dlb_axis *dlb_axes_find(const struct dlb_axes *axes, const struct dlb_opt_group *group,
                                     const char *key);

/* The name of a table's value that the axis varies; NULL: it varies a whole option. Borrowed. */
const char *dlb_axis_name(const struct dlb_axis *axis);

/* The value on the axis (new reference, null where a table lacks the name), and the other way
 * round. The spec has the section. */
json_t *dlb_axis_load(const struct dlb_axis *axis, const struct dlb_spec *spec);
void dlb_axis_store(const struct dlb_axis *axis, const json_t *value, struct dlb_spec *spec);

/* Whether two specs have the same value on the axis. True if neither has the section; false if
 * only one has. */
bool dlb_axis_equal(const struct dlb_axis *axis, const struct dlb_spec *a,
                    const struct dlb_spec *b);

/* Whether cells that differ on the axis do other work than `spec` (enum dlb_opt_work). */
bool dlb_axis_is_other_work(const struct dlb_axis *axis, const struct dlb_spec *spec);

#endif
