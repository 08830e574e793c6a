/* Two results beside each other: from their documents to one that reports show.
 *
 * Floor 4. Control thread; pure. Documents have passed dlb_summary_check. What they say of each
 * other is under "compare" (docs/compare.md). */
#ifndef DLB_SCENARIOS_COMPARE_COMPARE_H
#define DLB_SCENARIOS_COMPARE_COMPARE_H

#include "core/base/err.h"

#include <jansson.h>
#include <stdint.h>

/* One side. */
struct dlb_compared_side {
    const char *name;          /* as the user wrote it; for messages */
    const json_t *const *docs; /* [n_docs] the first is compared, the others are repeats of it */
    uint32_t n_docs;           /* 1 or more */
    int64_t cell;              /* the one to compare; -1: all */
};

struct dlb_compare_request {
    struct dlb_compared_side a, b;
    double smallest_frac, between_frac; /* core/measure/compare.h */
};

/* *out: {"command": "compare", "compare": {...}}; new reference. DLB_E_CONFIG: COMPARE_KIND,
 * COMPARE_NOTHING, COMPARE_CELL. */
int dlb_compare_documents(const struct dlb_compare_request *request, json_t **out,
                          struct dlb_err *err);

#endif
