/* What differs between two results beside their rates.
 *
 * Floor 4, private to scenarios/compare. Pure. */
#ifndef DLB_SCENARIOS_COMPARE_DIFFERENCES_H
#define DLB_SCENARIOS_COMPARE_DIFFERENCES_H

#include <jansson.h>
#include <stdbool.h>

struct dlb_differing {
    const json_t *doc, *config,
        *cell; /* of one side; config and cell: of its first pair, or NULL */
};

/* An array of {"kind", "key", "a", "b", "may_explain"}: first what may explain a change. Kinds:
 * "configuration" (without `keys`, by which cells were aligned), "data", "machine", "conditions",
 * "program". New reference. */
json_t *dlb_differences(const struct dlb_differing *a, const struct dlb_differing *b,
                        const json_t *keys);

/* Appends one, unless both are the same. */
void dlb_difference_add(json_t *list, const char *kind, const char *key, const json_t *a,
                        const json_t *b, bool may_explain);

#endif
