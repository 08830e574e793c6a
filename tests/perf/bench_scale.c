/* What the harness itself takes with many workers: threads beyond the cores, on the null source.
 * Work that workers hinder each other at (a lock, a line of the cache that they share) would take
 * more CPU time of a sample or a batch the more of them there are. Wake-ups are counted apart: the
 * threads that share a core must take turns.
 *
 * Then what that is beside a storage of 100 GB/s. */
#include "core/base/mem.h"
#include "core/measure/stats.h"
#include "scenarios/cell/cell.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 7, BATCH = 64, BATCHES = 20000, IMAGE_BYTES = 110000 };
#define STORAGE_BYTES_PER_S 1e11
static const uint32_t counts[] = {1, 2, 8, 32, 128};
#define N_COUNTS (sizeof counts / sizeof *counts)

/* Of a run; nanoseconds of CPU time. */
struct figures {
    double sample_ns; /* of workers, for a sample */
    double loop_ns;   /* of the training loop, for a batch */
    double switches;  /* that threads asked for, of a batch */
};

static struct figures measure(uint32_t n_workers)
{
    char workers[64], batch[64], samples[64], most[64];
    struct dlb_spec *spec = dlb_mem_new(sizeof *spec);
    struct dlb_cell_watch watch = {0};
    struct dlb_cell_result ran;

    (void)snprintf(workers, sizeof workers, "loader.num_workers=%u", n_workers);
    (void)snprintf(batch, sizeof batch, "loader.batch_size=%d", BATCH);
    (void)snprintf(samples, sizeof samples, "generate.samples=%d", BATCH * (BATCHES + 2048));
    (void)snprintf(most, sizeof most, "run.max_batches=%d", BATCHES);
    perf_spec(spec, (const char *[]){"dataset.format=synthetic", "dataset.codec=raw",
                                     "generate.sample_bytes=4096", "loader.shuffle=false",
                                     "loader.persistent_workers=true", "device.kind=emulated",
                                     "device.step_ms=0", workers, batch, samples, most, NULL});
    spec->loader.prefetch_factor = 2;
    spec->device.pinned_bytes_per_s = spec->device.pageable_bytes_per_s =
        1e12; /* no time to wait for */
    dlb_cell_run(spec, DLB_MODE_MEASURE, &watch, &ran);
    double n_samples = (double)ran.workers.stage[DLB_WS_READ].count;
    double n_batches = dlb_measured(ran.loop.n_batches);
    if (ran.status != DLB_REP_OK || !(n_samples > 0 && n_batches > 0)) {
        (void)fprintf(stderr, "%u workers: %s\n", n_workers, ran.reason);
        perf_die("the cell", NULL);
    }
    struct figures out = {
        .sample_ns = (double)ran.workers.cpu_ns / n_samples,
        .loop_ns = dlb_measured(ran.loop.consumer_cpu_ns) / n_batches,
        .switches = dlb_measured(ran.loop.os.voluntary_switches) / n_batches,
    };
    dlb_cell_result_free(&ran);
    free(spec);
    return out;
}

static double median_of(const struct figures *all, size_t offset)
{
    double values[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        values[i] =
            *(const double *)(const void *)((const char *)&all[(size_t)i * N_COUNTS] + offset);
    return dlb_median(values, ROUNDS);
}

int main(void)
{
    static struct figures all[ROUNDS][N_COUNTS];
    double sample_ns = 0, loop_ns = 0;

    for (int i = 0; i < ROUNDS; i++)
        for (size_t k = 0; k < N_COUNTS; k++)
            all[i][k] = measure(counts[k]);
    for (size_t k = 0; k < N_COUNTS; k++) {
        sample_ns = median_of(&all[0][k], offsetof(struct figures, sample_ns));
        loop_ns = median_of(&all[0][k], offsetof(struct figures, loop_ns));
        printf(
            "%3u workers: %.0f ns of workers' CPU a sample, %.0f ns of the loop's a batch of %d, "
            "%.2f waits of threads a batch\n",
            counts[k], sample_ns, loop_ns, BATCH,
            median_of(&all[0][k], offsetof(struct figures, switches)));
    }
    double samples_per_s = STORAGE_BYTES_PER_S / IMAGE_BYTES;
    printf("a storage of 100 GB/s, samples of %d bytes: %.0f samples/s ask for %.2f cores of the "
           "harness in workers, and %.3f in training loops\n",
           IMAGE_BYTES, samples_per_s, samples_per_s * sample_ns * 1e-9,
           samples_per_s / BATCH * loop_ns * 1e-9);
    return 0;
}
