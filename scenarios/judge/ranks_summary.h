/* What summary.json says of the ranks of a run under a launcher.
 *
 * Floor 4, private to scenarios/judge. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_RANKS_SUMMARY_H
#define DLB_SCENARIOS_JUDGE_RANKS_SUMMARY_H

#include "scenarios/judge/summary.h"

#include <jansson.h>

/* Adds to the document what the ranks of the best cell, else of the first that has any, did.
 * Nothing without ranks. */
void dlb_ranks_summary_put(json_t *doc, const struct dlb_summary *in);

#endif
