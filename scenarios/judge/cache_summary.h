/* The page cache of a cell, over its repetitions.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_CACHE_SUMMARY_H
#define DLB_SCENARIOS_JUDGE_CACHE_SUMMARY_H

#include "core/measure/cache_label.h"

#include "scenarios/cell/cell_result.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The label of the repetitions that read something. */
enum dlb_cache_label dlb_cache_label_of_reps(const struct dlb_reps *reps);

/* Whether the label is the one that run.cache requests; always true for "as-is". */
bool dlb_cache_is_as_asked(int asked, enum dlb_cache_label label);

/* The repetition that stands for the cell: the first whose label is not the requested one, else
 * `shown`; NULL where nothing ran. */
const struct dlb_cell_result *dlb_cache_shown(const struct dlb_reps *reps,
                                              const struct dlb_cell_result *shown);

/* How many repetitions read something. */
uint32_t dlb_cache_n_reps(const struct dlb_reps *reps);

/* The figures that decided, as a sentence; says where repetitions differ. */
void dlb_cache_why(const struct dlb_reps *reps, const struct dlb_cell_result *from, char *text,
                   size_t n_text);

/* The cell's `cache`: figures of `shown`, labels over all repetitions, and each one's own. null
 * where nothing ran. New reference. */
json_t *dlb_cache_summary(const struct dlb_reps *reps, const struct dlb_cell_result *shown);

#endif
