#include "loaders/worker/plant.h"

#include "core/base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define LOOK_NS (100 * DLB_NS_PER_MS) /* longest sleep without a look at `stop` */

uint64_t dlb_plant_sleep(struct dlb_worker *worker, uint64_t now_ns)
{
    worker->planted_ns += (uint64_t)(worker->job->opts->sample_sleep_us * 1e3);
    if (worker->planted_ns <= worker->slept_ns)
        return now_ns;
    uint64_t until_ns = now_ns + worker->planted_ns - worker->slept_ns, woke_ns = now_ns;
    while (woke_ns < until_ns && !dlb_worker_told_to_stop(worker))
        woke_ns = dlb_sleep_until_ns(until_ns - woke_ns < LOOK_NS ? until_ns : woke_ns + LOOK_NS);
    worker->slept_ns += woke_ns - now_ns;
    return woke_ns;
}

uint64_t dlb_plant_spin(const struct dlb_worker *worker, uint64_t now_ns)
{
    uint64_t until_ns = now_ns + (uint64_t)(worker->job->opts->sample_spin_us * 1e3);
    while (now_ns < until_ns && !dlb_worker_told_to_stop(worker))
        now_ns = dlb_now_ns();
    return now_ns;
}

int dlb_plant_init(struct dlb_worker *worker, struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = worker->job->opts;
    uint64_t start_ns = dlb_now_ns();

    if (opts->worker_init_ms <= 0 && opts->worker_init_mb <= 0)
        return DLB_OK;
    size_t n_bytes = (size_t)(opts->worker_init_mb * 1e6);
    if (n_bytes > 0) {
        void *memory =
            mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                            "worker %u: %.0f MB (loader.worker_init_mb): %s", worker->id,
                            opts->worker_init_mb, strerror(errno));
        memset(memory, 1, n_bytes);
        worker->init_memory = memory;
        worker->init_bytes = n_bytes;
    }
    uint64_t until_ns = start_ns + (uint64_t)(opts->worker_init_ms * 1e6), now_ns = dlb_now_ns();
    while (now_ns < until_ns && !dlb_worker_told_to_stop(worker))
        now_ns = dlb_now_ns();
    dlb_hist_add(&worker->report->meters.stage[DLB_WS_INIT], now_ns - start_ns);
    return DLB_OK;
}

void dlb_plant_free(struct dlb_worker *worker)
{
    if (worker->init_memory)
        (void)munmap(worker->init_memory, worker->init_bytes);
    worker->init_memory = NULL;
}
