/* `webdataset` + `raw` against a bare libarchive loop: the same shards with the same block size,
 * every member's bytes into the same slots, with as many threads. */
#include "tests/perf/perf.h"

#include <stdio.h>

#ifdef DLB_HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <glob.h>

enum { EPOCHS = 4, BLOCK_BYTES = 1 << 20, MAX_LABEL_BYTES = 16 };

static void die_archive(struct archive *archive, const char *path)
{
    fprintf(stderr, "%s: %s\n", path, archive_error_string(archive));
    perf_die("libarchive", NULL);
}

/* A sample is two members here, payload and label, and both go to the slot, as `raw` has it. */
static void read_shard(struct perf_thread *thread, const char *path, uint32_t *slot)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    size_t used = 0;
    uint32_t in_batch = 0;
    int status;

    (void)archive_read_support_format_tar(archive);
    if (archive_read_open_filename(archive, path, BLOCK_BYTES) != ARCHIVE_OK)
        die_archive(archive, path);
    while ((status = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
        size_t n_bytes = (size_t)archive_entry_size(entry);
        bool payload = n_bytes > MAX_LABEL_BYTES;
        if (payload && in_batch == thread->batch_size) {
            *slot = (*slot + 1) % thread->n_slots;
            used = in_batch = 0;
        }
        uint8_t *dst = thread->slots + *slot * thread->slot_bytes + used;
        if (n_bytes > thread->slot_bytes - used ||
            archive_read_data(archive, dst, n_bytes) != (la_ssize_t)n_bytes)
            die_archive(archive, path);
        used += n_bytes;
        in_batch += payload;
        thread->n_samples += payload;
        thread->n_bytes += n_bytes;
    }
    if (status != ARCHIVE_EOF)
        die_archive(archive, path);
    (void)archive_read_free(archive);
}

static void read_shards(struct perf_thread *thread)
{
    const glob_t *shards = thread->ctx;
    uint32_t slot = 0;
    for (size_t i = thread->number; i < shards->gl_pathc; i += thread->n)
        read_shard(thread, shards->gl_pathv[i], &slot);
}

static double ours(void *ctx)
{
    double seconds = 0;
    for (int i = 0; i < EPOCHS; i++)
        seconds += perf_pipeline_epoch(ctx);
    return seconds;
}

static double base(void *ctx)
{
    double seconds = 0;
    for (int i = 0; i < EPOCHS; i++)
        seconds += perf_team_epoch(ctx);
    return seconds;
}

static void compare(const struct dlb_spec *spec, uint32_t n_threads, glob_t *shards)
{
    struct perf_pipeline pipe;
    char name[64];
    uint64_t n_samples, n_bytes;

    perf_pipeline_open(&pipe, spec);
    struct perf_team *team = perf_team_open(&pipe, n_threads, read_shards, shards);
    (void)snprintf(name, sizeof name, "webdataset + raw, %u threads", n_threads);
    struct perf_comparison what = {.name = name,
                                   .unit = "samples",
                                   .units = (double)pipe.dataset.shape.n_samples * EPOCHS,
                                   .should_reach = 0.95};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", ours, &pipe},
                       &(struct perf_way){"libarchive", base, team});
    perf_team_done(team, &n_samples, &n_bytes);
    if (n_samples != pipe.dataset.shape.n_samples || n_bytes != pipe.dataset.shape.total_bytes)
        fprintf(stderr, "the baseline read %llu samples, dlbench %llu\n",
                (unsigned long long)n_samples, (unsigned long long)pipe.dataset.shape.n_samples);
    perf_team_close(team);
    perf_pipeline_close(&pipe, NULL);
}

int main(void)
{
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    char pattern[1100];
    glob_t shards;

    perf_spec(&spec, (const char *[]){"dataset.format=webdataset", "dataset.codec=raw",
                                      "generate.samples=4096", "generate.sample_bytes=110000",
                                      "webdataset.shard_samples=256", "loader.batch_size=64",
                                      "loader.shuffle=false", "loader.persistent_workers=true",
                                      "device.prefetch=1", NULL});
    perf_generate(&spec);
    (void)snprintf(pattern, sizeof pattern, "%s/*.tar", spec.dataset.path);
    if (glob(pattern, 0, NULL, &shards) != 0)
        perf_die("no shards", NULL);
    for (uint32_t i = 0; i < n_counts; i++) {
        spec.loader.num_workers = counts[i];
        compare(&spec, counts[i], &shards);
    }
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
