/* Changes as JSON.
 *
 * Floor 4, private to scenarios/compare. Pure. */
#ifndef DLB_SCENARIOS_COMPARE_CHANGES_H
#define DLB_SCENARIOS_COMPARE_CHANGES_H

#include "core/measure/compare.h"

#include <jansson.h>

/* {"change_frac", "low", "high", "verdict", "detectable_frac"}; new reference. */
json_t *dlb_change_json(const struct dlb_change *change);

/* "overall", and how it was compared: the level, the allowances. */
void dlb_changes_put(json_t *compare, const struct dlb_compare *how,
                     const struct dlb_comparison *over);

#endif
