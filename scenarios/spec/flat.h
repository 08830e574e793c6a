/* Flat configurations: one JSON object of dotted keys, which is how a cell's settings travel.
 *
 * Floor 4. Any thread. null means: the key has no meaning here, and its default is as good as any
 * other value. */
#ifndef DLB_SCENARIOS_SPEC_FLAT_H
#define DLB_SCENARIOS_SPEC_FLAT_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/json.h"
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

#endif
