/* Flat configurations: one JSON object of dotted keys, which is how a cell's settings travel.
 *
 * Floor 4. Any thread. null means: the key has no meaning here, and its default is as good as any
 * other value. */
#ifndef DLB_SCENARIOS_SPEC_FLAT_H
#define DLB_SCENARIOS_SPEC_FLAT_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>

/* *out: owned by the caller. `origin` names the source in errors. */
int dlb_flat_config(const json_t *flat, const char *origin, struct dlb_config **out,
                    struct dlb_err *err);

int dlb_flat_spec(const json_t *flat, const char *origin, struct dlb_spec *spec,
                  struct dlb_err *err);

/* The flat configuration with every key of `overrides` replaced, each value checked and brought to
 * its canonical form. *out: new reference. */
int dlb_flat_override(const json_t *flat, const json_t *overrides, const char *origin, json_t **out,
                      struct dlb_err *err);

/* Typed reading that never fails: NaN, `otherwise` or "" when the key is absent or of another type.
 */
double dlb_json_number(const json_t *object, const char *key);
uint64_t dlb_json_u64(const json_t *object, const char *key, uint64_t otherwise);
const char *dlb_json_text(const json_t *object, const char *key);

/* A real, or null when it is not finite; an integer, or null for DLB_NOT_MEASURED. */
json_t *dlb_json_real_or_null(double value);
json_t *dlb_json_u64_or_null(uint64_t value);

/* A string whose bytes that are no UTF-8 (of a file name, say) became '?'. New reference. */
json_t *dlb_json_safe_text(const char *text);

/* Steals `value`; a NULL reference anywhere makes the caller's later check fail: returns whether it
 * worked. */
bool dlb_json_put(json_t *object, const char *key, json_t *value);

#endif
