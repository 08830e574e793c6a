/* num_workers POSIX threads over the pool. */
#include "core/base/clock.h"
#include "loaders/loader.h"
#include "loaders/pool/join.h"
#include "loaders/pool/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A worker looks at `stop` between samples. One that takes longer is stuck in the kernel. */
#define JOIN_NS (10 * DLB_NS_PER_S)

struct worker_thread {
    struct dlb_pool_common *common;
    struct dlb_thread thread;
    uint32_t id;
    uint64_t epoch;
    bool persistent, running;
};

struct threads {
    struct dlb_pool pool;
    struct worker_thread *worker; /* [num_workers]; owned */
};

static int threads_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    struct threads *self = ld;
    size_t n = (size_t)job->opts->num_workers;

    self->worker = calloc(n, sizeof *self->worker);
    if (!self->worker)
        return dlb_fail_memory(err, NULL, n * sizeof *self->worker);
    return dlb_pool_open(&self->pool, job, false, err);
}

static void threads_memory(void *ld, struct dlb_memory *out)
{
    struct threads *self = ld;
    dlb_pool_memory(&self->pool.common, out);
}

static void *thread_main(void *arg)
{
    struct worker_thread *worker = arg;
    dlb_pool_work(worker->common, worker->id, worker->epoch, worker->persistent);
    dlb_thread_done(&worker->thread);
    return NULL;
}

static int join_all(struct threads *self, uint64_t deadline_ns, struct dlb_err *err)
{
    for (uint32_t w = 0; w < self->pool.common.n_workers; w++) {
        struct worker_thread *worker = &self->worker[w];
        if (!worker->running)
            continue;
        int code = dlb_thread_join(&worker->thread, deadline_ns);
        if (code != 0)
            return dlb_fail(err, DLB_ERR_WORKER_HANGS, NULL, DLB_NO_OFFSET,
                            "worker %u does not end: %s", w, dlb_thread_why(code));
        worker->running = false;
    }
    return DLB_OK;
}

static int threads_begin_epoch(void *ld, uint32_t epoch, struct dlb_err *err)
{
    struct threads *self = ld;
    bool persistent = self->pool.common.job->opts->persistent_workers;

    if (!persistent) {
        int rc = join_all(self, dlb_now_ns() + JOIN_NS, err);
        if (rc != DLB_OK)
            return rc;
    }
    int rc = dlb_pool_begin_epoch(&self->pool, epoch, err);
    for (uint32_t w = 0; rc == DLB_OK && w < self->pool.common.n_workers; w++) {
        struct worker_thread *worker = &self->worker[w];
        if (worker->running)
            continue;
        *worker = (struct worker_thread){
            .common = &self->pool.common, .id = w, .epoch = epoch, .persistent = persistent};
        int code = pthread_create(&worker->thread.handle, NULL, thread_main, worker);
        if (code != 0)
            return dlb_fail(err, DLB_ERR_WORKER_NOT_STARTED, NULL, DLB_NO_OFFSET,
                            "starting worker %u of %u: %s (limit of threads?)", w,
                            self->pool.common.n_workers, strerror(code));
        worker->running = true;
    }
    return rc;
}

static int threads_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                        struct dlb_err *err)
{
    struct threads *self = ld;
    return dlb_pool_next(&self->pool, timeout_ns, out, got, err);
}

static void threads_measure(void *ld, bool opens)
{
    struct threads *self = ld;
    dlb_pool_measure(&self->pool.common, opens);
}

static void threads_release(void *ld, const struct dlb_batch *batch)
{
    struct threads *self = ld;
    dlb_pool_release(&self->pool.common, batch);
}

static void threads_dismiss(void *ld)
{
    struct threads *self = ld;
    dlb_pool_dismiss(&self->pool);
}

static int threads_stop(void *ld, struct dlb_err *err)
{
    struct threads *self = ld;
    int rc = dlb_pool_stop(&self->pool, JOIN_NS, err);
    return rc == DLB_OK ? join_all(self, self->pool.dismissed_ns + JOIN_NS, err) : rc;
}

static void threads_stats(void *ld, struct dlb_loader_stats *out)
{
    struct threads *self = ld;
    dlb_pool_stats(&self->pool, out);
}

static void threads_close(void *ld)
{
    struct threads *self = ld;
    dlb_pool_close(&self->pool);
    free(self->worker);
}

const struct dlb_loader dlb_ld_threads = {
    .name = "threads",
    .summary = "num_workers POSIX threads that fill shared slots",
    .state_bytes = sizeof(struct threads),
    .start = threads_start,
    .memory = threads_memory,
    .begin_epoch = threads_begin_epoch,
    .next = threads_next,
    .measure = threads_measure,
    .release = threads_release,
    .dismiss = threads_dismiss,
    .stop = threads_stop,
    .stats = threads_stats,
    .close = threads_close,
};
