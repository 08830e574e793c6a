/* A rank that makes no progress keeps all others waiting. Long before it is ended, the user hears
 * which one it is, and what holds it up.
 *
 * Floor 4. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_QUIET_H
#define DLB_SCENARIOS_RANKS_QUIET_H

#include "scenarios/ranks/link.h"

#include <stdint.h>
#include <sys/types.h>

#define DLB_QUIET_S UINT64_C(60)

/* Zeroed: nothing was seen. */
struct dlb_quiet {
    uint64_t beats, since_ns, looked_ns;
    bool told;
};

/* Often. `beats`: a count of whatever is progress. `what`: is made by it, as "batch". Once there
 * was none for DLB_QUIET_S a note says so, and where the process `pid` hangs; once. */
void dlb_quiet_look(struct dlb_quiet *quiet, const struct dlb_link *link, uint64_t beats,
                    const char *what, pid_t pid);

/* It waits for other ranks: that is not its own silence. */
void dlb_quiet_excuse(struct dlb_quiet *quiet);

#endif
