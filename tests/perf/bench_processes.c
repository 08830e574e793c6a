/* Worker processes against threads: the same files, slots and code; what differs is the fork, the
 * memory map of each, and waking each other across processes. No bound: it is a fact to know. */
#include "tests/perf/perf.h"

#include <stdio.h>
#include <string.h>

static double epoch(void *ctx)
{
    return perf_pipeline_epoch(ctx);
}

static int kind_of(const char *name)
{
    for (int i = 0; dlb_loaders[i]; i++)
        if (strcmp(dlb_loaders[i]->name, name) == 0)
            return i + 1;
    perf_die(name, NULL);
}

static void compare(struct dlb_spec *spec, uint32_t n_workers, bool persistent)
{
    struct perf_pipeline processes, threads;
    char name[64];

    spec->loader.num_workers = n_workers;
    spec->loader.persistent_workers = persistent;
    spec->loader.kind = kind_of("processes"); /* first: before threads exist */
    perf_pipeline_open(&processes, spec);
    spec->loader.kind = kind_of("threads");
    perf_pipeline_open(&threads, spec);
    (void)snprintf(name, sizeof name, "files + raw, %u workers%s", n_workers,
                   persistent ? "" : ", started anew");
    struct perf_comparison what = {
        .name = name, .unit = "files", .units = (double)threads.dataset.shape.n_samples};
    (void)perf_compare(&what, &(struct perf_way){"processes", epoch, &processes},
                       &(struct perf_way){"threads", epoch, &threads});
    perf_pipeline_close(&threads, NULL);
    perf_pipeline_close(&processes, NULL);
}

int main(void)
{
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);

    perf_spec(&spec, (const char *[]){"dataset.format=files", "dataset.codec=raw",
                                      "generate.samples=4096", "generate.sample_bytes=110000",
                                      "generate.classes=16", "loader.batch_size=64",
                                      "loader.shuffle=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    for (uint32_t i = 0; i < n_counts; i++) {
        compare(&spec, counts[i], true);
        compare(&spec, counts[i], false);
    }
    return 0;
}
