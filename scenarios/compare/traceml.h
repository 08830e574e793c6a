/* TraceML's final_summary.json, schema 1.7 to 1.9: one mean step for each run.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_COMPARE_TRACEML_H
#define DLB_SCENARIOS_COMPARE_TRACEML_H

#include "core/base/err.h"

#include <jansson.h>
#include <stdbool.h>

/* Whether the document looks like one, of whichever version. */
bool dlb_traceml_is(const json_t *doc);

/* DLB_E_FORMAT: TRACEML_VERSION, TRACEML_FIELD. `path` is for messages. */
int dlb_traceml_check(const json_t *doc, const char *path, struct dlb_err *err);

#endif
