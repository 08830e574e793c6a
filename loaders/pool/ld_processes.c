/* num_workers processes over the pool, forked from a server that was forked before any thread. */
#include "core/base/clock.h"
#include "loaders/loader.h"
#include "loaders/pool/forkserver.h"
#include "loaders/pool/limits.h"
#include "loaders/pool/pool.h"

/* A worker looks at `stop` between samples; one that takes longer than this is killed. After a
 * failure its report is not needed, so it gets less time. */
#define GRACE_NS (2 * DLB_NS_PER_S)
#define FAILED_GRACE_NS (100 * DLB_NS_PER_MS)
/* A process that outlives SIGKILL for this long is stuck in the kernel. */
#define HARD_NS (10 * DLB_NS_PER_S)

struct processes {
    struct dlb_pool pool;
    struct dlb_forkserver server;
    struct dlb_forkserver_how how;
};

static void work(void *ctx, uint32_t id, uint64_t epoch)
{
    struct processes *self = ctx;
    dlb_pool_work(&self->pool.common, id, epoch, self->pool.common.job->opts->persistent_workers);
}

/* Runs in the fork server, which learns of a death first and shares the pool's memory. */
static void died(void *ctx, uint32_t id, pid_t pid, const char *what)
{
    struct processes *self = ctx;
    char where[64], path[2048];
    struct dlb_err err;

    dlb_pool_where(&self->pool.common, id, where, sizeof where, path, sizeof path);
    (void)dlb_fail(&err, DLB_ERR_WORKER_DIED, path[0] ? path : NULL, DLB_NO_OFFSET,
                   "worker %u (pid %d) %s, %s", id, (int)pid, what, where);
    dlb_pool_fail(&self->pool.common, id, &err);
}

static int processes_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    struct processes *self = ld;
    int rc = dlb_limits_job_processes(job, err);

    if (rc == DLB_OK)
        rc = dlb_pool_open(&self->pool, job, true, err);
    if (rc != DLB_OK)
        return rc;
    self->how = (struct dlb_forkserver_how){
        .n_workers = self->pool.common.n_workers, .ctx = self, .work = work, .died = died};
    return dlb_forkserver_start(&self->server, &self->how, err);
}

static void processes_memory(void *ld, struct dlb_memory *out)
{
    struct processes *self = ld;
    dlb_pool_memory(&self->pool.common, out);
}

/* Workers learn the epoch's number from the request, and its order from the shared memory. */
static int processes_begin_epoch(void *ld, uint32_t epoch, struct dlb_err *err)
{
    struct processes *self = ld;
    bool persistent = self->pool.common.job->opts->persistent_workers;
    int rc = DLB_OK;

    if (!persistent)
        rc = dlb_forkserver_join(&self->server, dlb_now_ns() + HARD_NS, err);
    if (rc == DLB_OK)
        rc = dlb_pool_begin_epoch(&self->pool, epoch, err);
    if (rc == DLB_OK && (epoch == 0 || !persistent))
        rc = dlb_forkserver_spawn(&self->server, epoch, err);
    return rc;
}

static int processes_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                          struct dlb_err *err)
{
    struct processes *self = ld;
    int rc = dlb_pool_next(&self->pool, timeout_ns, out, got, err);

    /* The fork server reports deaths of workers; its own death has to be found here. */
    if (rc == DLB_OK && !*got)
        rc = dlb_forkserver_check(&self->server, err);
    return rc;
}

static void processes_measure(void *ld, bool opens)
{
    struct processes *self = ld;
    dlb_pool_measure(&self->pool.common, opens);
}

static void processes_release(void *ld, const struct dlb_batch *batch)
{
    struct processes *self = ld;
    dlb_pool_release(&self->pool.common, batch);
}

static void processes_dismiss(void *ld)
{
    struct processes *self = ld;
    uint64_t now_ns = dlb_now_ns();
    bool failed = self->pool.watch.timed_out ||
                  (self->pool.common.shared && atomic_load(&self->pool.common.shared->failed) != 0);

    dlb_pool_dismiss(&self->pool);
    dlb_forkserver_dismiss(&self->server, now_ns + (failed ? FAILED_GRACE_NS : GRACE_NS),
                           now_ns + HARD_NS);
}

static int processes_stop(void *ld, struct dlb_err *err)
{
    struct processes *self = ld;
    struct dlb_err later;

    processes_dismiss(self);
    int rc = dlb_pool_stop(&self->pool, HARD_NS, err);
    int stopped = dlb_forkserver_stop(&self->server, &later);

    if (rc == DLB_OK && stopped != DLB_OK) {
        *err = later;
        rc = stopped;
    }
    return rc;
}

static void processes_stats(void *ld, struct dlb_loader_stats *out)
{
    struct processes *self = ld;
    dlb_pool_stats(&self->pool, out);
}

static void processes_close(void *ld)
{
    struct processes *self = ld;
    dlb_pool_close(&self->pool);
}

const struct dlb_loader dlb_ld_processes = {
    .name = "processes",
    .summary = "num_workers processes that fill shared slots, as PyTorch's workers do",
    .state_bytes = sizeof(struct processes),
    .start = processes_start,
    .memory = processes_memory,
    .begin_epoch = processes_begin_epoch,
    .next = processes_next,
    .measure = processes_measure,
    .release = processes_release,
    .dismiss = processes_dismiss,
    .stop = processes_stop,
    .stats = processes_stats,
    .close = processes_close,
};
