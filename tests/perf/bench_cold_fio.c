/* Storage as the pipeline reads it against storage as fio reads it: tar shards from start to end
 * with a cold page cache, and 128 KiB at random past it, one read at a time and many. The same
 * files, sizes, depth and number of readers, in turns; fio's time is by its own clock, without its
 * start. */
#include "tests/perf/fio.h"
#include "tests/perf/perf.h"

#include "core/base/rng.h"
#include "core/host/pagecache.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_BYTES = 128 << 10, SHARD_BYTES = 64 << 20, N_SHARDS = 8 };
enum { N_ROWS = N_SHARDS * (SHARD_BYTES / SAMPLE_BYTES), HEAD_BYTES = 4096 };

struct side {
    struct perf_pipeline pipe;
    char arguments[12000];
    uint64_t total_bytes, fio_bytes;
};

/* What the last way left in the page cache is no help to the next. */
static void evict(const struct side *side)
{
    const struct dlb_dataset *ds = &side->pipe.dataset;
    struct dlb_residency left = {0};
    char path[PATH_MAX];
    uint64_t n = ds->format->reader->files(ds->state, UINT64_MAX, path, sizeof path);

    for (uint64_t i = 0; i < n; i++) {
        (void)ds->format->reader->files(ds->state, i, path, sizeof path);
        dlb_residency_file(path, true, &left);
    }
    if (left.resident_bytes > left.total_bytes / 100)
        (void)fprintf(stderr, "%.1f%% stays in the page cache\n",
                      100.0 * (double)left.resident_bytes / (double)left.total_bytes);
}

static double by_pipeline(void *ctx)
{
    struct side *side = ctx;
    evict(side);
    return perf_pipeline_epoch(&side->pipe);
}

static double by_fio(void *ctx)
{
    struct side *side = ctx;
    evict(side);
    return perf_fio(side->arguments, &side->fio_bytes);
}

static void add(struct side *side, const char *text)
{
    size_t used = strlen(side->arguments);
    if (used + strlen(text) + 1 >= sizeof side->arguments)
        perf_die("too many files", NULL);
    (void)snprintf(side->arguments + used, sizeof side->arguments - used, " %s", text);
}

/* A job of fio's for each worker, with the files that the worker reads. */
static void add_jobs(struct side *side, uint32_t n_workers, bool own_files, const char *more)
{
    const struct dlb_dataset *ds = &side->pipe.dataset;
    char path[PATH_MAX], job[128], files[8192];
    uint64_t n = ds->format->reader->files(ds->state, UINT64_MAX, path, sizeof path);

    for (uint32_t w = 0; w < n_workers; w++) {
        size_t used = 0;
        files[0] = '\0';
        for (uint64_t i = own_files ? w : 0; i < n; i += own_files ? n_workers : 1) {
            (void)ds->format->reader->files(ds->state, i, path, sizeof path);
            int len = snprintf(files + used, sizeof files - used, "%s%s", used ? ":" : "", path);
            if (len < 0 || (size_t)len >= sizeof files - used)
                perf_die("too many files", NULL);
            used += (size_t)len;
        }
        (void)snprintf(job, sizeof job, "--name=reader%u %s --filename=", w, more);
        add(side, job);
        (void)snprintf(side->arguments + strlen(side->arguments),
                       sizeof side->arguments - strlen(side->arguments), "%s", files);
    }
}

static void compare(struct side *side, const char *name, uint32_t n_workers)
{
    char full[80];
    uint64_t total = side->total_bytes;

    (void)snprintf(full, sizeof full, "%s, %u reader%s", name, n_workers,
                   n_workers == 1 ? "" : "s");
    (void)perf_compare(
        &(struct perf_comparison){
            .name = full, .unit = "bytes", .units = (double)total, .should_reach = 0.95},
        &(struct perf_way){"dlbench", by_pipeline, side}, &(struct perf_way){"fio", by_fio, side});
    double off = (double)side->fio_bytes / (double)total - 1;
    if (off > 0.02 || off < -0.02)
        (void)fprintf(stderr, "fio read %.1f%% of what dlbench did\n", 100 * (off + 1));
    perf_pipeline_close(&side->pipe, NULL);
}

/* Shards are split between workers, each of which reads its own from start to end. */
static void tar(const struct dlb_spec *base, uint32_t n_workers)
{
    struct side *side = calloc(1, sizeof *side);
    struct dlb_spec spec = *base;

    if (!side)
        perf_die("memory", NULL);
    spec.loader.num_workers = n_workers;
    perf_pipeline_open(&side->pipe, &spec);
    side->total_bytes = side->pipe.dataset.shape.total_bytes;
    add(side, "--rw=read --ioengine=psync --bs=256k --direct=0 --invalidate=1 "
              "--file_service_type=sequential");
    add_jobs(side, n_workers, true, "");
    compare(side, "cold tar, sequential", n_workers);
    free(side);
}

/* Rows of 128 KiB, of one file, in any order. */
static void rows(const struct dlb_spec *base, uint32_t n_workers, uint32_t depth)
{
    struct side *side = calloc(1, sizeof *side);
    struct dlb_spec spec = *base;
    char name[80], engine[80], share[80];

    if (!side)
        perf_die("memory", NULL);
    spec.loader.num_workers = n_workers;
    spec.loader.io = depth > 1 ? DLB_READ_URING : DLB_READ_SYNC;
    spec.loader.io_depth = depth;
    perf_pipeline_open(&side->pipe, &spec);
    side->total_bytes = side->pipe.dataset.shape.total_bytes;
    (void)snprintf(engine, sizeof engine, "--ioengine=%s --iodepth=%u",
                   depth > 1 ? "io_uring" : "psync", depth);
    (void)snprintf(share, sizeof share, "--io_size=%llu",
                   (unsigned long long)(side->total_bytes / n_workers));
    add(side, "--rw=randread --bs=128k --direct=1 --randrepeat=0");
    add(side, engine);
    add_jobs(side, n_workers, false, share);
    (void)snprintf(name, sizeof name, "128 KiB at random, O_DIRECT, depth %u", depth);
    compare(side, name, n_workers);
    free(side);
}

static void bench_tar(uint32_t n_counts, const uint32_t *counts)
{
    struct dlb_spec spec;
    char samples[64], per_shard[64];
    uint32_t n_per_shard = SHARD_BYTES / SAMPLE_BYTES;

    if (dlb_format_by_name("webdataset")->missing) {
        printf("cold tar is left out: %s\n", dlb_format_by_name("webdataset")->missing);
        return;
    }
    (void)snprintf(samples, sizeof samples, "generate.samples=%u", N_SHARDS * n_per_shard);
    (void)snprintf(per_shard, sizeof per_shard, "webdataset.shard_samples=%u", n_per_shard);
    perf_spec(&spec, (const char *[]){"dataset.format=webdataset", "dataset.codec=raw",
                                      "generate.sample_bytes=131072", samples, per_shard,
                                      "loader.kind=threads", "loader.batch_size=64",
                                      "loader.persistent_workers=true", NULL});
    perf_generate(&spec);
    for (uint32_t i = 0; i < n_counts; i++)
        tar(&spec, counts[i]);
}

/* A .npy file whose rows begin at whole blocks: numpy pads headers to 64 bytes, but any length is
 * well-formed (numpy.lib.format, version 1.0: magic, version, length of the header, header). */
static void write_rows(const char *path)
{
    static uint64_t row[SAMPLE_BYTES / sizeof(uint64_t)];
    char head[HEAD_BYTES];
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    FILE *file = fopen(path, "we");

    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01", 8);
    head[8] = (char)((HEAD_BYTES - 10) & 0xff);
    head[9] = (char)((HEAD_BYTES - 10) >> 8);
    int len = snprintf(head + 10, sizeof head - 10,
                       "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d), }", N_ROWS,
                       SAMPLE_BYTES / 2);
    head[10 + len] = ' ';
    head[HEAD_BYTES - 1] = '\n';
    bool fine = file && fwrite(head, sizeof head, 1, file) == 1;
    for (int i = 0; fine && i < N_ROWS; i++) {
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            row[k] = dlb_rng_u64(&rng);
        fine = fwrite(row, sizeof row, 1, file) == 1;
    }
    if (!fine || fclose(file) != 0)
        perf_die(path, NULL);
}

static void bench_rows(uint32_t n_counts, const uint32_t *counts)
{
    struct dlb_spec spec;
    char folder[256];

    perf_spec(&spec, (const char *[]){
                         "dataset.format=tokens", "dataset.codec=raw", "dataset.access=direct",
                         "tokens.seq_len=65535", "loader.kind=threads", "loader.batch_size=64",
                         "loader.shuffle=true", "loader.persistent_workers=true", NULL});
    perf_folder(folder, sizeof folder);
    (void)snprintf(spec.dataset.path, sizeof spec.dataset.path, "%s/rows.npy", folder);
    write_rows(spec.dataset.path);
    for (uint32_t i = 0; i < n_counts; i++) {
        rows(&spec, counts[i], 1);
        rows(&spec, counts[i], 32);
    }
}

int main(void)
{
    uint32_t counts[8], n_counts = perf_thread_counts(counts);

    if (!perf_fio_found())
        return 0;
    bench_tar(n_counts, counts);
    bench_rows(n_counts, counts);
    return 0;
}
