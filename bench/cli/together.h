/* This process among those that a launcher (mpirun, srun) started.
 *
 * Floor 5. Control thread; forks, so it comes before any other thread. */
#ifndef DLB_BENCH_CLI_TOGETHER_H
#define DLB_BENCH_CLI_TOGETHER_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "scenarios/ranks/link.h"

#include <stdbool.h>

/* `all`: the command measures on all ranks; any other runs on rank 0 alone. True: this process has
 * nothing more to do, and exits with *code. False: the command is to run here, on rank 0. */
bool dlb_together_begin(bool all, int *code);

/* After the command. */
void dlb_together_end(void);

/* The ranks of this run; NULL: no launcher started it. */
struct dlb_link *dlb_together(void);

/* Whether the ranks share the work of writing this format; a note says so if rank 0 alone writes a
 * format that is one file. They write one data set only if they run one program:
 * DLB_ERR_RANKS_PROGRAM. */
int dlb_together_share(const char *format, bool many_files, bool *shared, struct dlb_err *err);

/* Sets run.world to the number of ranks. DLB_ERR_RANKS_SETTINGS if the user set run.rank or
 * run.world. `link`: NULL where no launcher started ranks, then nothing is done. */
int dlb_together_settings(const struct dlb_link *link, struct dlb_config *cfg, struct dlb_err *err);

/* Likewise, and the ranks meet: link->share is known then, and *nodes has their machines
 * (scenarios/ranks/team.h). New reference; NULL where no launcher started ranks. */
int dlb_together_meet(struct dlb_link *link, struct dlb_config *cfg, json_t **nodes,
                      struct dlb_err *err);

#endif
