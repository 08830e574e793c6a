/* The fork server's own side: the requests that it takes, and the loop that answers them.
 *
 * Floor 3, private to forkserver.c. Runs in the server's process, which has one thread. */
#ifndef DLB_LOADERS_POOL_FORKSERVER_LOOP_H
#define DLB_LOADERS_POOL_FORKSERVER_LOOP_H

#include "loaders/pool/forkserver.h"

#include <stdint.h>
#include <sys/types.h>

enum dlb_fork_op { DLB_FORK_SPAWN, DLB_FORK_JOIN, DLB_FORK_STOP };

/* The answer to each is one struct dlb_err. */
struct dlb_fork_request {
    enum dlb_fork_op op;
    uint64_t epoch; /* SPAWN */
    uint64_t soft_ns,
        hard_ns; /* JOIN: wait until soft_ns; STOP: kill at soft_ns, give up at hard_ns */
};

_Noreturn void dlb_forkserver_loop(const struct dlb_forkserver_how *how, int fd, pid_t parent);

#endif
