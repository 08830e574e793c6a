/* Opening a file of 1,000,000 chunks: the library looks at it in a process of its own, and the
 * version-1 B-tree is read and checked against what the library says of some chunks. Should take 5
 * s at most, 5 us a chunk. */
#include "tests/perf/perf.h"

#include "core/base/clock.h"
#include "formats/hdf5/hdf5.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS = 1000000, ROUNDS = 5 };

int main(void)
{
    struct dlb_spec spec;
    char samples[64];

    if (dlb_format_by_name("hdf5")->missing) {
        (void)fprintf(stderr, "built without HDF5\n");
        return 77;
    }
    (void)snprintf(samples, sizeof samples, "generate.samples=%d", CHUNKS);
    perf_spec(&spec,
              (const char *[]){"dataset.format=hdf5", "dataset.codec=raw", "hdf5.chunk_samples=1",
                               samples, "generate.sample_bytes=64", NULL});
    perf_generate(&spec);
    for (int i = 0; i < ROUNDS; i++) {
        struct dlb_err err = {0};
        struct dlb_dataset dataset;
        uint64_t start_ns = dlb_now_ns(), n = 0;
        if (dlb_dataset_open(&dataset, &spec.dataset, &spec.transform, &spec.generate,
                             dlb_spec_format_opts(&spec), &err))
            perf_die("data set", &err);
        double seconds = (double)(dlb_now_ns() - start_ns) / 1e9;
        const struct dlb_hdf5 *ds = dataset.state;
        for (uint64_t k = 0; ds->way == DLB_HDF5_TABLE && k < ds->n_grid; k++)
            n += ds->table[k].n_bytes > 0;
        printf("chunk table: %llu chunks in %.2f s, %.2f us a chunk (should take 5.00 s at most)\n",
               (unsigned long long)n, seconds, seconds * 1e6 / (double)n);
        dlb_dataset_close(&dataset);
    }
    return 0;
}
