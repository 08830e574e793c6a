/* What config.c and config_text.c share: values that were checked, before they become part of a
 * configuration.
 *
 * Floor 0, private to the two. One thread. */
#ifndef DLB_CORE_BASE_CONFIG_SAID_H
#define DLB_CORE_BASE_CONFIG_SAID_H

#include "core/base/config.h"
#include "core/base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define DLB_SWEEP "sweep."
#define DLB_KEY_CAP 128 /* bytes of a dotted key, its end included */

/* The settings of files and --set. JSON objects keep the order in which keys first came. */
struct dlb_said {
    json_t *values;  /* key -> canonical value */
    json_t *axes;    /* key -> array of canonical values */
    json_t *origins; /* key, "sweep." included -> where it was set */
};

struct dlb_config {
    const struct dlb_opt_group *const *groups;
    struct dlb_said said;
};

/* Whether the key names an axis: it begins with DLB_SWEEP, and no option has that full key, as
 * sweep.max_minutes is one. */
bool dlb_config_is_axis(const struct dlb_config *cfg, const char *key);

/* Fails with DLB_ERR_CONFIG_UNKNOWN_KEY; the message names the nearest key that exists. */
int dlb_config_unknown(const struct dlb_config *cfg, const char *key, const char *origin,
                       struct dlb_err *err);

/* Values are never changed in place, so shallow copies of the three objects are enough. */
struct dlb_said dlb_said_copy(const struct dlb_said *from);
void dlb_said_drop(struct dlb_said *said);

/* Keeps a canonical value (taken over) under `key` of one of the objects, and its origin under
 * full_key. */
void dlb_said_put(struct dlb_said *said, json_t *in, const char *key, json_t *value,
                  const char *full_key, const char *origin);

/* Keeps a canonical value (taken over, also on an error) of an option, or of a name in a table,
 * where it has room. */
int dlb_said_put_value(struct dlb_said *said, const struct dlb_opt *opt, const char *key,
                       json_t *value, const char *origin, struct dlb_err *err);

/* Checks a value or, for an axis, a list of them, and keeps it. */
int dlb_said_put_json(struct dlb_config *cfg, struct dlb_said *said, const char *key,
                      const json_t *value, const char *origin, struct dlb_err *err);

/* Adds a canonical value (taken over) to an axis; then, when all are there, keeps the axis (taken
 * over). */
int dlb_axis_append(json_t *axis, const char *key, json_t *canonical, const char *origin,
                    struct dlb_err *err);
int dlb_axis_finish(struct dlb_said *said, const char *key, json_t *axis, const char *origin,
                    struct dlb_err *err);
int dlb_axis_not_a_list(const char *key, const char *origin, struct dlb_err *err);

#endif
