/* The fork server: a process without threads that forks worker processes, reaps them, and reports
 * how they died.
 *
 * Floor 3. All calls come from the thread that started it.
 *
 * The training process must not fork workers itself once it has threads and a device: a lock that
 * another thread holds would stay locked in the child, and GPU drivers do not survive a fork. So
 * the server is forked before either exists, and it forks workers from that state on request.
 *
 * The server dies with the thread that started it, and the workers die with the server
 * (PR_SET_PDEATHSIG). Workers leave by _exit, so that no exit handler of the parent runs in them
 * and no buffer of the parent is written twice. */
#ifndef DLB_LOADERS_POOL_FORKSERVER_H
#define DLB_LOADERS_POOL_FORKSERVER_H

#include "core/base/err.h"
#include "loaders/pool/forkserver_loop.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_forkserver {
    pid_t pid; /* 0: none */
    int fd;
    uint64_t hard_ns; /* when the server gives up on its workers; 0: not dismissed */
};

/* Forks the server. DLB_E_NOMEM when no process can be forked. */
int dlb_forkserver_start(struct dlb_forkserver *server, const struct dlb_forkserver_how *how,
                         struct dlb_err *err);

/* Waits until no worker runs. DLB_E_WORKER at the deadline, with one that still does. */
int dlb_forkserver_join(struct dlb_forkserver *server, uint64_t deadline_ns, struct dlb_err *err);

/* Forks every worker that does not run, and returns when all exist. DLB_E_NOMEM when one cannot be
 * forked. */
int dlb_forkserver_spawn(struct dlb_forkserver *server, uint64_t epoch, struct dlb_err *err);

/* DLB_OK while the server runs, else DLB_E_WORKER with how it ended. Never blocks. */
int dlb_forkserver_check(struct dlb_forkserver *server, struct dlb_err *err);

/* Tells the server to wait until soft_ns for workers to leave, then to kill the rest and reap all.
 * Returns at once. Later calls do nothing. */
void dlb_forkserver_dismiss(struct dlb_forkserver *server, uint64_t soft_ns, uint64_t hard_ns);

/* After dlb_forkserver_dismiss: waits until that is done, and reaps the server. DLB_E_WORKER after
 * hard_ns: then a process is stuck in the kernel. A second call does nothing. */
int dlb_forkserver_stop(struct dlb_forkserver *server, struct dlb_err *err);

#endif
