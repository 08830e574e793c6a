/* The runners of all ranks: rank 0's, which runs the experiment and has the others measure with it,
 * and the others, which do what they are told.
 *
 * Floor 4. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_TEAM_H
#define DLB_SCENARIOS_RANKS_TEAM_H

#include "core/base/err.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/ranks/link.h"
#include "scenarios/run/child.h"

#include <jansson.h>

/* Rank 0, before anything else: the machines and programs of all ranks. *nodes: new reference, what
 * environment.json says of them; NULL if there are none. DLB_ERR_RANKS_PROGRAM if a rank runs
 * another program. */
int dlb_team_greet(struct dlb_link *link, json_t **nodes, struct dlb_err *err);

/* Likewise, and what there is for each rank, and the clocks of all. */
int dlb_team_meet(struct dlb_link *link, json_t **nodes, struct dlb_err *err);

/* Rank 0: as dlb_child_run of a cell, on all ranks. `config` has rank 0's share of the data, where
 * it is shared; each rank takes its own. */
int dlb_team_run(struct dlb_link *link, const struct dlb_child *how, struct dlb_cell_result *result,
                 struct dlb_err *err);

/* Rank 0, at the end: compares the clocks again. New reference, clock_offset_us: {"max", "error"};
 * null if a rank is lost. */
json_t *dlb_team_clocks(struct dlb_link *link);

/* Every other rank: until rank 0 has ended. DLB_OK, or why it could not go on. */
int dlb_team_follow(struct dlb_link *link, struct dlb_err *err);

#endif
