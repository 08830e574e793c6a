/* The speaker: the process of a rank that the launcher started. It forked the runner (link.h), then
 * speaks MPI for it, watches it, and carries messages between the runners of all ranks.
 *
 * Each command of rank 0's runner goes to all others; their answers come back to it. Meanwhile the
 * speakers let cells meet (loaders/meet.h). Once a second each speaker tells rank 0 that it lives,
 * and rank 0 tells them: MPI sees that a process died, but not that one hangs. When a rank is lost,
 * rank 0's runner hears which and why, ends by itself, and the launcher ends the rest.
 *
 * Floor 4. One thread. */
#ifndef DLB_SCENARIOS_RANKS_SPEAKER_H
#define DLB_SCENARIOS_RANKS_SPEAKER_H

#include "core/base/err.h"
#include "scenarios/ranks/launcher.h"
#include "scenarios/ranks/link.h"
#include "scenarios/ranks/quiet.h"
#include "scenarios/ranks/ranks.h"

#include <sys/types.h>

/* A rank that is silent for so long is lost. */
#define DLB_SPEAKER_DEADLINE_NS (20 * DLB_NS_PER_S)
/* Rank 0's runner between two commands, where it decides and writes: so long without a sign of life
 * is worth a note; so long means that it is lost, as a cell would be (scenarios/run/stall.h). */
#define DLB_SPEAKER_QUIET_NS (DLB_QUIET_S * DLB_NS_PER_S)
#define DLB_SPEAKER_SILENT_NS (300 * DLB_NS_PER_S)

struct dlb_speaker_how {
    const struct dlb_launcher *launcher;
    const struct dlb_ranks *ranks;
    int fd;                /* the speaker's end of the link */
    struct dlb_meet *meet; /* the link's */
    pid_t runner;          /* a child of this process */
    uint64_t deadline_ns, quiet_ns, silent_ns;
};

/* Until the runner has ended. *status: as waitpid has it. The launcher's signals are handed to the
 * runner. DLB_ERR_RANKS_NO_MODULE if the ranks do not find each other. DLB_ERR_RANK_LOST if one is
 * lost, or DLB_END where another rank says so: then dlb_speaker_abort is to be called. */
int dlb_speaker_run(const struct dlb_speaker_how *how, int *status, struct dlb_err *err);

/* Ends all ranks. Returns only if the launcher is slow, and ends this process within seconds. */
void dlb_speaker_abort(const struct dlb_speaker_how *how);

#endif
