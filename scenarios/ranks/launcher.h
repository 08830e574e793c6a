/* Whether a launcher (mpirun, srun) started this process as one of several, by its environment.
 *
 * Floor 4. Control thread; before other threads exist. */
#ifndef DLB_SCENARIOS_RANKS_LAUNCHER_H
#define DLB_SCENARIOS_RANKS_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_launcher {
    const char *name;    /* "Open MPI's mpirun"; static; NULL: there is none */
    const char *module;  /* the module that fits: "openmpi", "mpich"; static; NULL: none does */
    uint32_t rank, size; /* size 0: not known */
    uint32_t local_rank; /* among the ranks of this machine; 0 if that is not known */
    bool knows_local;    /* it is known */
    uint32_t n_local;    /* ranks of this machine; 0: not known */
};

struct dlb_launcher dlb_launcher_look(void);

/* Removes the launcher's variables, so that no program started from here takes itself for a rank,
 * and closes the launcher's own descriptor. The modules need them: the speaker keeps its own. */
void dlb_launcher_forget(void);

#endif
