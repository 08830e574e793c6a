/* A cell's utilisation, over its repetitions.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_AU_SUMMARY_H
#define DLB_SCENARIOS_JUDGE_AU_SUMMARY_H

#include "scenarios/cell/cell_result.h"

#include <jansson.h>
#include <stdint.h>

/* The cell's `au`: each figure's median over the repetitions that ended well. Repetitions in
 * turns with another program (block >= n_blocks) are ignored. If none ended well, the figures of
 * `shown`; null without it. New reference. */
json_t *dlb_au_summary(const struct dlb_reps *reps, const struct dlb_cell_result *shown,
                       uint32_t n_blocks);

#endif
