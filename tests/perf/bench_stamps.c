/* What time stamps cost: a loader without workers against the same sources built without them
 * (untimed.h), on samples that are in the page cache. Its clock stands still, and it counts no
 * stages and no requests; all else is the same work, on the same memory. What both deliver is
 * compared first. */
#include "tests/perf/perf.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <stdlib.h>

#define SHORT 0.95 /* of a sample of 400 bytes the stamps may take 5% */
#define LONG 0.98  /* of one of 4 KiB and more, 2% */

extern const struct dlb_loader dlb_untimed_ld_inline;

/* Both tables drive one loader: what it keeps is the same struct, in the same memory. */
struct side {
    struct perf_pipeline *pipe;
    const struct dlb_loader *loader;
};

static double run(void *ctx)
{
    const struct side *side = ctx;
    side->pipe->loader = side->loader;
    return perf_pipeline_epoch(side->pipe);
}

/* The hash of all that epoch 0 delivers: bytes, numbers and labels. */
static uint64_t delivered(const struct side *side)
{
    void *state = side->pipe->state;
    struct dlb_err err = {0};
    struct dlb_batch batch;
    uint64_t hash = 0;
    bool got;
    int rc = side->loader->begin_epoch(state, 0, &err);

    if (rc != DLB_OK)
        perf_die("epoch", &err);
    while ((rc = side->loader->next(state, 0, &batch, &got, &err)) == DLB_OK) {
        hash = dlb_hash64(batch.data, batch.n_bytes, hash);
        hash = dlb_hash64(batch.index, batch.n_samples * sizeof *batch.index, hash);
        hash = dlb_hash64(batch.label, batch.n_samples * sizeof *batch.label, hash);
        side->loader->release(state, &batch);
    }
    if (rc != DLB_END)
        perf_die("next", &err);
    return hash;
}

static void compare(const char *name, const struct dlb_spec *spec, double should_reach)
{
    struct perf_pipeline *pipe = dlb_mem_new(sizeof(*pipe));
    perf_pipeline_open(pipe, spec);
    struct side timed = {pipe, pipe->loader};
    struct side untimed = {pipe, &dlb_untimed_ld_inline};
    if (delivered(&timed) != delivered(&untimed))
        perf_die("the two deliver different batches", NULL);
    struct perf_comparison what = {.name = name,
                                   .unit = "samples",
                                   .units = (double)pipe->dataset.shape.n_samples,
                                   .should_reach = should_reach,
                                   .rounds = 201};
    (void)perf_compare(&what, &(struct perf_way){"timed", run, &timed},
                       &(struct perf_way){"untimed", run, &untimed});
    pipe->loader = timed.loader;
    perf_pipeline_close(pipe, NULL);
    free(pipe);
}

static void of(const char *name, double should_reach, const char *const *settings)
{
    struct dlb_spec spec;

    perf_spec(&spec, settings);
    spec.loader.num_workers = 0;
    spec.loader.batch_size = 256;
    if (dlb_formats[spec.dataset.format]->generator)
        perf_generate(&spec);
    compare(name, &spec, should_reach);
}

#define OF(name, should_reach, ...) of((name), (should_reach), (const char *[]){__VA_ARGS__, NULL})

int main(void)
{
    OF("memory, 400 bytes", SHORT, "dataset.format=memory", "memory.columns=100",
       "memory.rows=200000");
    OF("memory, 400 bytes, shuffled", SHORT, "dataset.format=memory", "memory.columns=100",
       "memory.rows=200000", "loader.shuffle=true");
    OF("memory, 4 KiB", LONG, "dataset.format=memory", "memory.columns=1024", "memory.rows=40000");
    OF("tokens from a map, 4 KiB", LONG, "dataset.format=tokens", "dataset.codec=raw",
       "tokens.seq_len=2047", "generate.samples=40000");
    OF("lmdb, 4 KiB", LONG, "dataset.format=lmdb", "dataset.codec=raw",
       "generate.sample_bytes=4096", "generate.samples=40000");
    OF("files, 4 KiB", LONG, "dataset.format=files", "dataset.codec=raw",
       "generate.sample_bytes=4096", "generate.samples=10000");
    OF("files, 64 KiB", LONG, "dataset.format=files", "dataset.codec=raw",
       "generate.sample_bytes=65536", "generate.samples=4000");
    return 0;
}
