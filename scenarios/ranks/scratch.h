/* The folder below $TMPDIR for what the cells of a rank other than 0 write. Its name has machine
 * and rank, so that ranks that share a folder for temporary files are told apart. The file .dlbench
 * in it says the same, and is locked for as long as the rank lives: what a rank that was killed
 * with its whole job left is removed by the next job on that machine.
 *
 * Floor 4, private to scenarios/ranks. Control thread of a runner. */
#ifndef DLB_SCENARIOS_RANKS_SCRATCH_H
#define DLB_SCENARIOS_RANKS_SCRATCH_H

#include "core/base/err.h"

#include <limits.h>
#include <stdint.h>

struct dlb_rank_scratch {
    char path[PATH_MAX]; /* "": there is none */
    int lock;            /* the mark's descriptor, until the process ends */
};

int dlb_rank_scratch_make(const char *node, uint32_t rank, struct dlb_rank_scratch *scratch,
                          struct dlb_err *err);

/* Removes this rank's folder. */
void dlb_rank_scratch_remove(struct dlb_rank_scratch *scratch);

/* Removes those of this machine and user that no process has any more. */
void dlb_rank_scratch_clear(const char *node);

#endif
