/* A program that runs beside this process, with all the processes that it starts: none of them
 * outlives this process, however it ends.
 *
 * Floor 3. One thread. Between this process and the program stands a keeper, a forked process that
 * does nothing but wait. When the program ends, when dlb_keeper_end is called, or when this process
 * is gone, the keeper kills all that descends from it, in whatever process group it is. Then it
 * unlinks what they have left of torch's shared memory (left.h). */
#ifndef DLB_LOADERS_TORCH_KEEPER_H
#define DLB_LOADERS_TORCH_KEEPER_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_keeper {
    pid_t pid;     /* of the keeper; 0: not started */
    pid_t program; /* and its process group; 0: it could not be started */
    int life_fd;   /* closing it ends them all */
    int told_fd;   /* where the keeper tells the program's number, then how it ended */
    int status;    /* of the program, once `ended` */
    int error;     /* then: errno of what kept it from being run; 0: it ran */
    bool ended;
};

/* The descriptor that the program has as its only one beside stdin, stdout and stderr. */
#define DLB_KEEPER_FD 3

/* Starts argv[0] (a path), with `fd` as DLB_KEEPER_FD. Its stdout is its stderr: this
 * process's, or nothing if `quiet`. Call it before threads exist. */
int dlb_keeper_start(struct dlb_keeper *keeper, char *const argv[], int fd, bool quiet,
                     struct dlb_err *err);

/* Whether the program has ended by itself: keeper->status, as waitpid has it, and keeper->error. If
 * the keeper was killed, the program's process group is killed, too. */
bool dlb_keeper_ended(struct dlb_keeper *keeper);

/* Ends the program, which first has patience_ns to end by itself, and all its processes. False: one
 * hangs in the kernel. Idempotent. */
bool dlb_keeper_end(struct dlb_keeper *keeper, uint64_t patience_ns);

#endif
