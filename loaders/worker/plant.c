#include "loaders/worker/plant.h"

#include "core/base/burn.h"
#include "core/base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LOOK_NS (100 * DLB_NS_PER_MS) /* longest sleep without a look at `stop` */

uint64_t dlb_plant_sleep(struct dlb_plant *plant, uint64_t now_ns)
{
    plant->asked_ns += (uint64_t)(plant->setup->job->opts->sample_sleep_us * 1e3);
    if (plant->asked_ns <= plant->slept_ns)
        return now_ns;
    uint64_t until_ns = now_ns + plant->asked_ns - plant->slept_ns, woke_ns = now_ns;
    while (woke_ns < until_ns && !dlb_worker_told_to_stop(plant->setup))
        woke_ns = dlb_sleep_until_ns(until_ns - woke_ns < LOOK_NS ? until_ns : woke_ns + LOOK_NS);
    plant->slept_ns += woke_ns - now_ns;
    return woke_ns;
}

static bool told_to_stop(const void *setup)
{
    return dlb_worker_told_to_stop(setup);
}

uint64_t dlb_plant_spin(struct dlb_plant *plant, uint64_t now_ns)
{
    if (plant->setup->job->opts->sample_spin_us <= 0)
        return now_ns;
    plant->asked_cpu_ns += (uint64_t)(plant->setup->job->opts->sample_spin_us * 1e3);
    if (plant->asked_cpu_ns <= plant->burnt_ns)
        return now_ns;
    uint64_t start_ns = dlb_thread_cpu_ns();
    uint64_t end_ns =
        dlb_burn(start_ns, plant->asked_cpu_ns - plant->burnt_ns, told_to_stop, plant->setup);
    plant->burnt_ns += dlb_thread_cpu_ns() - start_ns;
    return end_ns;
}

int dlb_plant_open(struct dlb_plant *plant, const struct dlb_worker_setup *setup,
                   struct dlb_err *err)
{
    const struct dlb_loader_opts *opts = setup->job->opts;
    uint64_t start_ns = dlb_now_ns(), start_cpu_ns = dlb_thread_cpu_ns();

    *plant = (struct dlb_plant){.setup = setup};
    if (opts->worker_init_ms <= 0 && opts->worker_init_mb <= 0)
        return DLB_OK;
    size_t n_bytes = (size_t)(opts->worker_init_mb * 1e6);
    if (n_bytes > 0) {
        void *memory =
            mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return dlb_fail(err, DLB_ERR_LOADER_WORKERS_MEMORY, NULL, DLB_NO_OFFSET,
                            "worker %u: %.0f MB (loader.worker_init_mb): %s", setup->id,
                            opts->worker_init_mb, strerror(errno));
        memset(memory, 1, n_bytes);
        plant->memory = memory;
        plant->n_bytes = n_bytes;
    }
    uint64_t end_ns =
        dlb_burn(start_cpu_ns, (uint64_t)(opts->worker_init_ms * 1e6), told_to_stop, setup);
    dlb_worker_meter(setup, DLB_WS_INIT, start_ns, end_ns);
    return DLB_OK;
}

void dlb_plant_close(struct dlb_plant *plant)
{
    if (plant->memory)
        (void)munmap(plant->memory, plant->n_bytes);
    plant->memory = NULL;
}
