/* The fork server's own side: what its workers do, the requests that it takes, and the loop that
 * answers them.
 *
 * Floor 3, private to forkserver.c, apart from struct dlb_forkserver_how. Runs in the server's
 * process, which has one thread. */
#ifndef DLB_LOADERS_POOL_FORKSERVER_LOOP_H
#define DLB_LOADERS_POOL_FORKSERVER_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_forkserver_how {
    uint32_t n_workers;
    void *ctx; /* workers see it as it was at dlb_forkserver_start, apart from shared memory */
    void (*work)(void *ctx, uint32_t id, uint64_t epoch); /* runs in the worker's process */
    /* Runs in the server's process as soon as a worker ends without returning from `work`; `what`
     * says how it ended. Not called for workers that dlb_forkserver_stop kills. */
    void (*died)(void *ctx, uint32_t id, pid_t pid, const char *what);
};

enum dlb_fork_op { DLB_FORK_SPAWN, DLB_FORK_JOIN, DLB_FORK_STOP };

/* The answer to each is one struct dlb_err. */
struct dlb_fork_request {
    enum dlb_fork_op op;
    uint64_t epoch; /* SPAWN */
    uint64_t soft_ns,
        hard_ns; /* JOIN: wait until soft_ns; STOP: kill at soft_ns, give up at hard_ns */
};

_Noreturn void dlb_forkserver_loop(const struct dlb_forkserver_how *how, int fd, pid_t parent);

/* What a status of waitpid means: "was killed by SIGKILL (out of memory?)", "left with exit code
 * 1". Returns `text`. */
const char *dlb_death_text(int status, char *text, size_t n_text);

#endif
