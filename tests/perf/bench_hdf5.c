/* HDF5 by chunks against pread (and zlib) of the same extents, into the same slots, in the same
 * order, with as many threads; and how both scale from one thread to two. The library's way to the
 * same bytes stands beside it without a ratio to reach. */
#include "tests/perf/perf.h"

#include "formats/hdf5/hdf5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(DLB_HAVE_HDF5) && defined(DLB_HAVE_ZLIB)

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { SAMPLES = 3000, SAMPLE_BYTES = 110000 };

/* Where each sample lies, as read from the format once. */
struct bare {
    int fd;
    bool packed;
    size_t sample_bytes;
    struct dlb_hdf5_chunk *chunk; /* [n] */
    uint64_t n;
    size_t most_stored;
};

static void read_exactly(int fd, void *dst, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (uint8_t *)dst + done, n - done, (off_t)(at + done));
        if (got <= 0)
            perf_die("pread", NULL);
        done += (size_t)got;
    }
}

static void read_all(struct perf_thread *thread)
{
    const struct bare *bare = thread->ctx;
    uint8_t *stored = malloc(bare->most_stored);
    uint32_t slot = 0;

    if (!stored)
        perf_die("memory", NULL);
    for (uint64_t first = (uint64_t)thread->number * thread->batch_size; first < bare->n;
         first += (uint64_t)thread->n * thread->batch_size) {
        uint8_t *dst = thread->slots + slot * thread->slot_bytes;
        uint64_t end = first + thread->batch_size;
        for (uint64_t i = first; i < end && i < bare->n; i++, dst += bare->sample_bytes) {
            const struct dlb_hdf5_chunk *chunk = &bare->chunk[i];
            uLongf n = bare->sample_bytes;
            read_exactly(bare->fd, bare->packed ? stored : dst, chunk->n_bytes, chunk->at_bytes);
            if (bare->packed && uncompress(dst, &n, stored, chunk->n_bytes) != Z_OK)
                perf_die("uncompress", NULL);
            thread->n_samples++;
            thread->n_bytes += n;
        }
        slot = (slot + 1) % thread->n_slots;
    }
    free(stored);
}

static void bare_open(struct bare *bare, const struct dlb_spec *spec)
{
    struct dlb_err err = {0};
    struct dlb_dataset dataset;

    if (dlb_dataset_open(&dataset, &spec->dataset, &spec->transform, &spec->generate,
                         dlb_spec_format_opts(spec), &err))
        perf_die("data set", &err);
    const struct dlb_hdf5 *ds = dataset.state;
    *bare = (struct bare){.fd = open(ds->path, O_RDONLY | O_CLOEXEC),
                          .sample_bytes = ds->row_bytes,
                          .n = ds->n_samples,
                          .packed = ds->facts.about.n_filters > 0};
    bare->chunk = calloc(bare->n, sizeof *bare->chunk);
    if (bare->fd < 0 || !bare->chunk)
        perf_die("bare loop", NULL);
    for (uint64_t i = 0; i < bare->n; i++) {
        if (ds->way == DLB_HDF5_TABLE)
            bare->chunk[i] = ds->table[i]; /* one sample to a chunk */
        else
            bare->chunk[i] = (struct dlb_hdf5_chunk){ds->data_at + i * ds->row_bytes,
                                                     (uint32_t)ds->row_bytes, 0};
        if (bare->chunk[i].n_bytes > bare->most_stored)
            bare->most_stored = bare->chunk[i].n_bytes;
        if (bare->chunk[i].mask)
            perf_die("a chunk that did not compress", NULL);
    }
    dlb_dataset_close(&dataset);
}

static double ours(void *pipe)
{
    return perf_pipeline_epoch(pipe);
}

static double base(void *team)
{
    return perf_team_epoch(team);
}

static double compare(struct dlb_spec *spec, struct bare *bare, const char *layout,
                      uint32_t n_threads, int access, double should_reach)
{
    struct perf_pipeline pipe;
    uint64_t n_samples, n_bytes;
    char name[64];

    spec->loader.num_workers = n_threads;
    spec->dataset.access = access;
    perf_pipeline_open(&pipe, spec);
    struct perf_team *team = perf_team_open(&pipe, n_threads, read_all, bare);
    (void)snprintf(name, sizeof name, "hdf5 %s, %s, %u threads", layout, dlb_access_names[access],
                   n_threads);
    struct perf_comparison what = {
        .name = name, .unit = "samples", .units = (double)bare->n, .should_reach = should_reach};
    double ratio = perf_compare(&what, &(struct perf_way){"dlbench", ours, &pipe},
                                &(struct perf_way){"pread", base, team});
    perf_team_done(team, &n_samples, &n_bytes);
    if (n_samples != pipe.dataset.shape.n_samples || n_bytes != pipe.dataset.shape.total_bytes)
        (void)fprintf(stderr, "the baseline did not read what dlbench reads\n");
    perf_team_close(team);
    perf_pipeline_close(&pipe, NULL);
    return ratio;
}

static void measure(const char *layout, const char *chunk_samples, const char *filter)
{
    struct dlb_spec spec;
    struct bare bare;
    char samples[64], bytes[64];
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    double first = 0;

    (void)snprintf(samples, sizeof samples, "generate.samples=%d", SAMPLES);
    (void)snprintf(bytes, sizeof bytes, "generate.sample_bytes=%d", SAMPLE_BYTES);
    perf_spec(&spec,
              (const char *[]){"dataset.format=hdf5", "dataset.codec=raw", chunk_samples, filter,
                               samples, bytes, "loader.batch_size=64", "loader.shuffle=false",
                               "loader.persistent_workers=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    bare_open(&bare, &spec);
    for (uint32_t i = 0; i < n_counts; i++) {
        double ratio = compare(&spec, &bare, layout, counts[i], DLB_ACCESS_CHUNKS, 0.95);
        if (i == 0)
            first = ratio;
        else
            printf("hdf5 %s: scaling from %u to %u threads is %.3f of pread's (should reach "
                   "0.95)\n",
                   layout, counts[0], counts[i], ratio / first);
        (void)compare(&spec, &bare, layout, counts[i], DLB_ACCESS_LIBRARY, 0);
    }
    (void)close(bare.fd);
    free(bare.chunk);
}

/* A benchmark has one data set: each layout is a process. */
int main(void)
{
    static const char *const layouts[][3] = {
        {"contiguous", "hdf5.chunk_samples=0", "hdf5.filter=none"},
        {"chunked", "hdf5.chunk_samples=1", "hdf5.filter=none"},
        {"deflate", "hdf5.chunk_samples=1", "hdf5.filter=deflate"},
    };
    int status = 0;

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            measure(layouts[i][0], layouts[i][1], layouts[i][2]);
            exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            perf_die(layouts[i][0], NULL);
    }
    return 0;
}

#else

int main(void)
{
    fprintf(stderr, "built without HDF5 or zlib\n");
    return 77;
}

#endif
