/* The shards of a data set, read without dlbench: what the benchmarks of `webdataset` compare with.
 */
#ifndef DLB_TESTS_PERF_SHARDS_H
#define DLB_TESTS_PERF_SHARDS_H

#include "tests/perf/perf.h"

#include <glob.h>

/* All shards below a folder, in the order of their names. Exits when there are none. */
void perf_shards_find(glob_t *shards, const char *folder);

/* A thread's share of the shards (ctx: the glob_t) through libarchive, with blocks of 1 MiB: every
 * member's bytes into the slots as `raw` has it, a sample being a payload and the label after it.
 */
void perf_shards_read(struct perf_thread *thread);

/* dlbench with spec's loader in n_threads workers against `body` in as many threads: a few epochs a
 * call. Says so when the two did not read the same. */
struct perf_shards_rival {
    const char *name, *base_name; /* of the comparison, and of body */
    perf_body *body;
    void *ctx;
    double should_reach;
};
void perf_shards_compare(const struct dlb_spec *spec, uint32_t n_threads,
                         const struct perf_shards_rival *rival);

#endif
