/* What a repetition's result says of the page cache, from JSON; cell_result.h has the other way.
 *
 * Floor 4, private to scenarios/cell. Any thread. */
#ifndef DLB_SCENARIOS_CELL_CACHE_JSON_H
#define DLB_SCENARIOS_CELL_CACHE_JSON_H

#include "scenarios/cell/cell_result.h"

#include <jansson.h>

/* *cache was initialised; fields of another type stay as they are. */
void dlb_cache_result_from_json(const json_t *object, struct dlb_cache_result *cache);

#endif
