/* `gen` on all ranks: each writes its share of the data set's units to a folder that all share.
 * Rank 0 begins the data set before, and ends it afterwards (formats/generate).
 *
 * Floor 4. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_TEAM_GEN_H
#define DLB_SCENARIOS_RANKS_TEAM_GEN_H

#include "formats/generate/generate.h"
#include "scenarios/ranks/link.h"

#include <jansson.h>

/* Rank 0's. */
struct dlb_team_gen {
    struct dlb_link *link;
    const json_t *config; /* dlb_config_said */
    const struct dlb_gen_progress *progress;
};

/* Writes units on all ranks, to the folder of this id (formats/generate). DLB_ERR_CANCELLED, and
 * the error of a rank, by name. */
int dlb_team_generate(const struct dlb_team_gen *how, const struct dlb_gen *gen, const char *id,
                      uint64_t *n_written, struct dlb_err *err);

/* Every other rank's share; answers with what it wrote. */
int dlb_team_generate_share(struct dlb_link *link, const json_t *command, struct dlb_err *err);

#endif
