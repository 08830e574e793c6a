/* What config.c and config_text.c share: the checked values, before they become a configuration.
 *
 * Floor 0, private to the two. One thread. */
#ifndef DLB_CORE_BASE_CONFIG_SAID_H
#define DLB_CORE_BASE_CONFIG_SAID_H

#include "core/base/config.h"
#include "core/base/err.h"

#include <jansson.h>

#define DLB_SWEEP "sweep."
#define DLB_KEY_CAP 128 /* bytes of a dotted key, its end included */

/* What was said. JSON objects keep the order in which keys first came. */
struct dlb_said {
    json_t *values;  /* key -> canonical value */
    json_t *axes;    /* key -> array of canonical values */
    json_t *origins; /* key, "sweep." included -> where it was said */
};

struct dlb_config {
    const struct dlb_opt_group *const *groups;
    struct dlb_said said;
};

int dlb_config_no_memory(struct dlb_err *err);

/* DLB_E_CONFIG for a key that no group has, with the nearest one that exists. */
int dlb_config_unknown(const struct dlb_config *cfg, const char *key, const char *origin,
                       struct dlb_err *err);

/* Values are never changed in place, so a copy of the three objects is a copy of it all. */
int dlb_said_copy(const struct dlb_said *from, struct dlb_said *to, struct dlb_err *err);
void dlb_said_drop(struct dlb_said *said);

/* Keeps a canonical value (taken over) under `key` of one of the objects, and its origin under
 * full_key. */
int dlb_said_put(struct dlb_said *said, json_t *in, const char *key, json_t *value,
                 const char *full_key, const char *origin, struct dlb_err *err);

/* Checks a value or, for a key under "sweep.", a list of them, and keeps it. */
int dlb_said_put_json(struct dlb_config *cfg, struct dlb_said *said, const char *key,
                      const json_t *value, const char *origin, struct dlb_err *err);

/* One more canonical value (taken over) of an axis that is being read; then the axis itself (taken
 * over). */
int dlb_axis_append(json_t *axis, const char *key, json_t *canonical, const char *origin,
                    struct dlb_err *err);
int dlb_axis_finish(struct dlb_said *said, const char *key, json_t *axis, const char *origin,
                    struct dlb_err *err);
int dlb_axis_not_a_list(const char *key, const char *origin, struct dlb_err *err);

#endif
