/* `convert` on all ranks: each writes a share of the samples to a folder that all share, and reads
 * a share of it back. Rank 0 makes the folder before, and the target of it afterwards
 * (formats/convert).
 *
 * Floor 4. Control thread of a runner. A share is done in a child process, so that the runner shows
 * signs of life whatever the share waits for, and a library that crashes costs only the share. */
#ifndef DLB_SCENARIOS_RANKS_TEAM_CONVERT_H
#define DLB_SCENARIOS_RANKS_TEAM_CONVERT_H

#include "formats/convert/convert.h"
#include "scenarios/ranks/link.h"

#include <jansson.h>

/* Rank 0's. */
struct dlb_team_convert {
    struct dlb_link *link;
    const json_t *from, *to; /* dlb_config_said: what opens the source; the target's format */
    const struct dlb_convert *how;
};

/* A step on all ranks. DLB_ERR_CANCELLED, and the error of a rank, by name. */
int dlb_team_convert(const struct dlb_team_convert *team, const struct dlb_convert_step *step,
                     struct dlb_err *err);

/* Every other rank's share of a step; answers what became of it. */
int dlb_team_convert_share(struct dlb_link *link, const json_t *command, struct dlb_err *err);

#endif
