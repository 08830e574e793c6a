#include "tests/perf/shards.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>

enum { EPOCHS = 4, BLOCK_BYTES = 1 << 20, MAX_LABEL_BYTES = 16 };

void perf_shards_find(glob_t *shards, const char *folder)
{
    char pattern[DLB_OPT_STRING_CAP + 16];

    (void)snprintf(pattern, sizeof pattern, "%s/*.tar*", folder);
    if (glob(pattern, 0, NULL, shards) != 0)
        perf_die("no shards", NULL);
}

static void die_archive(struct archive *archive, const char *path)
{
    (void)fprintf(stderr, "%s: %s\n", path, archive_error_string(archive));
    perf_die("libarchive", NULL);
}

static void read_shard(struct perf_thread *thread, const char *path, uint32_t *slot)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    size_t used = 0;
    uint32_t in_batch = 0;
    int status;

    (void)archive_read_support_format_tar(archive);
    (void)archive_read_support_filter_gzip(archive);
    (void)archive_read_support_filter_zstd(archive);
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

void perf_shards_read(struct perf_thread *thread)
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

void perf_shards_compare(const struct dlb_spec *spec, uint32_t n_threads,
                         const struct perf_shards_rival *rival)
{
    struct dlb_spec own = *spec;
    struct perf_pipeline pipe;
    char name[96];
    uint64_t n_samples, n_bytes;

    own.loader.num_workers = n_threads;
    perf_pipeline_open(&pipe, &own);
    struct perf_team *team = perf_team_open(&pipe, n_threads, rival->body, rival->ctx);
    (void)snprintf(name, sizeof name, "%s, %u threads", rival->name, n_threads);
    struct perf_comparison what = {.name = name,
                                   .unit = "samples",
                                   .units = (double)pipe.dataset.shape.n_samples * EPOCHS,
                                   .should_reach = rival->should_reach};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", ours, &pipe},
                       &(struct perf_way){rival->base_name, base, team});
    perf_team_done(team, &n_samples, &n_bytes);
    if (n_samples != pipe.dataset.shape.n_samples || n_bytes != pipe.dataset.shape.total_bytes)
        (void)fprintf(stderr, "the baseline read %llu samples, dlbench %llu\n",
                      (unsigned long long)n_samples,
                      (unsigned long long)pipe.dataset.shape.n_samples);
    perf_team_close(team);
    perf_pipeline_close(&pipe, NULL);
}

#endif
