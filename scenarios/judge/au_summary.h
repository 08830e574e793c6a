/* A cell's utilisation, over its repetitions.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_AU_SUMMARY_H
#define DLB_SCENARIOS_JUDGE_AU_SUMMARY_H

#include <jansson.h>
#include <stdint.h>

/* The cell's `au`: each figure's median over the repetitions that ended well. Those in turns with
 * another program (block >= n_blocks) are not looked at. Where none ended well, that of `shown`;
 * null without one. New reference; NULL when memory is short. */
json_t *dlb_au_summary(const json_t *reps, const json_t *shown, uint32_t n_blocks);

#endif
