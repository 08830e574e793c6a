/* How many emulated accelerators one process can drive: 1, 8 and 64 of them at steps of 5 ms on a
 * source that costs nothing, with a worker each and with one pool for all.
 *
 * Printed are the utilisation that is left of 100%, which is the harness's doing, for there is
 * nothing else; the consumer's CPU time for each batch, and as a share of one core; and that of the
 * workers. Two CPUs: what has more is held to two ($DLB_PERF_ALL_CPUS=1: not). */
#include "scenarios/cell/cell.h"
#include "tests/perf/perf.h"

#include "core/measure/stats.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, N_STEPS = 600, BATCH = 8, SHOULD_CARRY = 64 };
#define STEP_MS 5
#define SHOULD_REACH_AU 0.99

struct figures {
    double au, lowest, consumer_ns, worker_ns, core_frac;
};

static void two_cpus(void)
{
    cpu_set_t all, two;
    CPU_ZERO(&two);
    if (getenv("DLB_PERF_ALL_CPUS") || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &two);
    (void)sched_setaffinity(0, sizeof two, &two);
}

static struct figures measure(uint32_t n, bool shared, bool barrier, int depth)
{
    struct dlb_spec spec;
    char count[64], samples[64], pool[64], together[64], workers[64], prefetch[64];
    const struct dlb_cell_watch unwatched = {.pulse = NULL};

    (void)snprintf(count, sizeof count, "accelerators.count=%u", n);
    (void)snprintf(samples, sizeof samples, "generate.samples=%u", n * (N_STEPS + 8) * BATCH);
    (void)snprintf(pool, sizeof pool, "accelerators.shared_workers=%s", shared ? "true" : "false");
    (void)snprintf(together, sizeof together, "accelerators.barrier=%s",
                   barrier ? "true" : "false");
    (void)snprintf(workers, sizeof workers, "loader.num_workers=%u", shared ? 2 : 1);
    (void)snprintf(prefetch, sizeof prefetch, "device.prefetch=%d", depth);
    char steps[64], step_ms[64], batch[64];
    (void)snprintf(steps, sizeof steps, "run.max_batches=%d", N_STEPS);
    (void)snprintf(step_ms, sizeof step_ms, "device.step_ms=%d", STEP_MS);
    (void)snprintf(batch, sizeof batch, "loader.batch_size=%d", BATCH);
    perf_spec(&spec,
              (const char *[]){"dataset.format=synthetic", "dataset.codec=raw", samples,
                               "generate.sample_bytes=1024", batch, workers, "loader.shuffle=false",
                               "loader.pin_memory=true", "device.kind=emulated", prefetch, step_ms,
                               count, pool, together, steps, "run.warmup_batches=2", NULL});
    struct dlb_cell_result ran;
    dlb_cell_run(&spec, DLB_MODE_MEASURE, &unwatched, &ran);
    if (ran.status != DLB_REP_OK) {
        (void)fprintf(stderr, "%u accelerators: %s\n", n, ran.reason);
        exit(1);
    }
    double n_batches = dlb_measured(ran.loop.n_batches);
    double cpu_ns = dlb_measured(ran.loop.consumer_cpu_ns);
    struct figures out = {.au = ran.loop.total.au.nominal,
                          .lowest = ran.loop.lowest.nominal,
                          .consumer_ns = cpu_ns / n_batches,
                          .worker_ns = dlb_measured(ran.workers.cpu_ns) / n_batches,
                          .core_frac = cpu_ns / (n_batches / n * STEP_MS * 1e6)};
    dlb_cell_result_free(&ran);
    return out;
}

static double median_of(const struct figures *all, size_t offset)
{
    double values[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        memcpy(&values[i], (const char *)&all[i] + offset, sizeof values[i]);
    return dlb_median(values, ROUNDS);
}

static void report(uint32_t n, bool shared, bool barrier, int depth)
{
    struct figures all[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        all[i] = measure(n, shared, barrier, depth);
    double au = median_of(all, offsetof(struct figures, au));
    printf("%3u accelerators, %-22s%s depth %d: AU %.2f%% (lowest %.2f%%), %.1f us of the "
           "consumer's CPU a batch (%.1f%% of a core), %.1f us of workers'",
           n, shared ? "2 workers for all" : "a worker each", barrier ? " barrier," : "", depth,
           au * 100, median_of(all, offsetof(struct figures, lowest)) * 100,
           median_of(all, offsetof(struct figures, consumer_ns)) / 1e3,
           median_of(all, offsetof(struct figures, core_frac)) * 100,
           median_of(all, offsetof(struct figures, worker_ns)) / 1e3);
    if (n == SHOULD_CARRY && depth == 1)
        printf("   should reach %.0f%%: %s", SHOULD_REACH_AU * 100,
               au >= SHOULD_REACH_AU ? "yes" : "NO");
    printf("\n");
    (void)fflush(stdout);
}

int main(void)
{
    static const uint32_t counts[] = {1, 8, SHOULD_CARRY};

    two_cpus();
    for (int i = 0; i < 3; i++)
        for (int shared = 0; shared <= 1; shared++)
            report(counts[i], shared, false, 1);
    report(SHOULD_CARRY, false, true, 1);
    report(SHOULD_CARRY, false, false, 0);
    return 0;
}
