/* Many small files: io_uring against ordinary reads, on a warm page cache, past it, and on storage
 * whose reads take a millisecond. */
#include "loaders/uring.h"
#include "tests/perf/perf.h"
#include "tests/support/slowfs.h"

#include <stdio.h>
#include <stdlib.h>

static double epoch(void *ctx)
{
    return perf_pipeline_epoch(ctx);
}

static void compare(struct dlb_spec *spec, const char *where, uint32_t n_threads, bool direct,
                    double should_reach, uint32_t rounds)
{
    struct perf_pipeline sync, uring;
    struct dlb_loader_stats *stats = calloc(1, sizeof *stats);
    char name[64];

    if (!stats)
        perf_die("memory", NULL);
    spec->loader.num_workers = n_threads;
    spec->loader.direct = spec->dataset.direct = direct;
    spec->loader.io = DLB_READ_SYNC;
    perf_pipeline_open(&sync, spec);
    spec->loader.io = DLB_READ_URING;
    perf_pipeline_open(&uring, spec);
    (void)snprintf(name, sizeof name, "%s, %u threads", where, n_threads);
    struct perf_comparison what = {.name = name,
                                   .unit = "files",
                                   .units = (double)sync.dataset.shape.n_samples,
                                   .should_reach = should_reach,
                                   .rounds = rounds};
    (void)perf_compare(&what, &(struct perf_way){"io_uring", epoch, &uring},
                       &(struct perf_way){"sync", epoch, &sync});
    perf_pipeline_close(&uring, stats);
    perf_pipeline_close(&sync, NULL);
    if (stats->io.n_sync > 0)
        (void)fprintf(stderr, "io_uring was not used: %s\n", stats->io.reason);
    free(stats);
}

int main(void)
{
    struct slowfs fs = {.n_folders = 4, .n_files = 200, .file_bytes = 8192, .read_ns = 1000000};
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    char why[128];

    if (dlb_uring_missing()) {
        printf("%s\n", dlb_uring_missing());
        return 77;
    }
    perf_spec(&spec, (const char *[]){"dataset.format=files", "dataset.codec=raw",
                                      "generate.samples=20000", "generate.sample_bytes=8192",
                                      "generate.classes=20", "loader.batch_size=256",
                                      "loader.shuffle=true", "loader.persistent_workers=true",
                                      "device.prefetch=1", NULL});
    bool slow = slowfs_open(&fs, why, sizeof why); /* before any thread */
    perf_generate(&spec);
    for (uint32_t i = 0; i < n_counts; i++) {
        compare(&spec, "8 KiB files, warm", counts[i], false, 0, 0);
        compare(&spec, "8 KiB files, O_DIRECT", counts[i], true, 0, 5);
    }
    if (!slow) {
        (void)fprintf(stderr, "no storage with a planted latency: %s\n", why);
        return 0;
    }
    (void)snprintf(spec.dataset.path, sizeof spec.dataset.path, "%s", fs.path);
    spec.loader.batch_size = 64;
    for (uint32_t i = 0; i < n_counts; i++)
        compare(&spec, "8 KiB files, 1 ms a read", counts[i], false, 1.0, 5);
    slowfs_close(&fs);
    return 0;
}
