/* `webdataset` + `raw` against a bare libarchive loop: the same shards with the same block size,
 * every member's bytes into the same slots, with as many threads. */
#include "tests/perf/shards.h"

#include <stdio.h>

#ifdef DLB_HAVE_LIBARCHIVE

int main(void)
{
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    glob_t shards;
    struct perf_shards_rival rival = {"webdataset + raw", "libarchive", perf_shards_read, &shards,
                                      0.95};

    perf_spec(&spec, (const char *[]){"dataset.format=webdataset", "dataset.codec=raw",
                                      "generate.samples=4096", "generate.sample_bytes=110000",
                                      "webdataset.shard_samples=256", "loader.batch_size=64",
                                      "loader.shuffle=false", "loader.persistent_workers=true",
                                      "device.prefetch=1", NULL});
    perf_generate(&spec);
    perf_shards_find(&shards, spec.dataset.path);
    for (uint32_t i = 0; i < n_counts; i++)
        perf_shards_compare(&spec, counts[i], &rival);
    globfree(&shards);
    return 0;
}

#else

int main(void)
{
    printf("skipped: built without libarchive\n");
    return 0;
}

#endif
