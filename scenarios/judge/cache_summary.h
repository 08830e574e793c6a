/* What a cell's repetitions say of the page cache, together.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_CACHE_SUMMARY_H
#define DLB_SCENARIOS_JUDGE_CACHE_SUMMARY_H

#include "core/measure/cache_label.h"

#include <jansson.h>

/* The label that counts: of the repetitions that read something. */
enum dlb_cache_label dlb_cache_label_of_reps(const json_t *reps);

/* The cell's `cache`: figures of `shown`, labels over all repetitions, and each one's own. null
 * where nothing ran. New reference; NULL when memory is short. */
json_t *dlb_cache_summary(const json_t *reps, const json_t *shown);

#endif
