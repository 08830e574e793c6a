/* A process without threads that forks worker processes, reaps them, and says how they died.
 *
 * Floor 3. Workers must not be forked from the training process itself once it has threads and a
 * device: locks that another thread holds stay locked in the child for ever, and drivers do not
 * survive a fork. So this process is forked before either exists, and forks from the state of that
 * moment whenever it is asked.
 *
 * It dies with the thread that started it and its workers die with it (PR_SET_PDEATHSIG), whatever
 * kills whom. All calls from that one thread. Workers leave by _exit: no handler of the parent's
 * runs in them, no buffer of its is written twice. */
#ifndef DLB_LOADERS_POOL_FORKSERVER_H
#define DLB_LOADERS_POOL_FORKSERVER_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_forkserver_how {
    uint32_t n_workers;
    void *ctx; /* as it is when dlb_forkserver_start is called, and whatever of it is shared */
    void (*work)(void *ctx, uint32_t id, uint64_t epoch); /* in the worker's process */
    /* In the server's process, at once, for a worker that did not return from `work`: `what` says
     * how it ended. Not called for those that stop kills. */
    void (*died)(void *ctx, uint32_t id, pid_t pid, const char *what);
};

struct dlb_forkserver {
    pid_t pid; /* 0: none */
    int fd;
    uint64_t hard_ns; /* 0: not dismissed */
};

/* DLB_E_NOMEM when a process cannot be had. */
int dlb_forkserver_start(struct dlb_forkserver *server, const struct dlb_forkserver_how *how,
                         struct dlb_err *err);

/* Waits until no worker runs. DLB_E_WORKER at the deadline, naming one that does. */
int dlb_forkserver_join(struct dlb_forkserver *server, uint64_t deadline_ns, struct dlb_err *err);

/* Forks every worker that does not run; returns when all exist. DLB_E_NOMEM when one cannot be
 * had. */
int dlb_forkserver_spawn(struct dlb_forkserver *server, uint64_t epoch, struct dlb_err *err);

/* Whether the server is there; never blocks. DLB_E_WORKER says how it ended. */
int dlb_forkserver_check(struct dlb_forkserver *server, struct dlb_err *err);

/* Has the server wait until soft_ns for workers to leave by themselves, kill the rest and reap all
 * of them; returns at once. The first call stands. */
void dlb_forkserver_dismiss(struct dlb_forkserver *server, uint64_t soft_ns, uint64_t hard_ns);

/* After dlb_forkserver_dismiss: waits for that, and reaps the server. DLB_E_WORKER when it takes
 * longer than hard_ns: a process is stuck in the kernel. A second call does nothing. */
int dlb_forkserver_stop(struct dlb_forkserver *server, struct dlb_err *err);

/* "was killed by SIGKILL (out of memory?)", "left with exit code 1": of a status of waitpid.
 * Returns `text`. */
const char *dlb_death_text(int status, char *text, size_t n_text);

#endif
