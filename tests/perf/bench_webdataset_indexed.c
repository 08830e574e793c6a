/* `webdataset` + `raw` by its index against pread at the same offsets: the same members in the same
 * order into the same slots, with as many threads. The baseline finds the offsets in the headers
 * itself. */
#include "tests/perf/shards.h"

#include <stdio.h>

#ifdef DLB_HAVE_LIBARCHIVE

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { TAR_BLOCK = 512, FIELDS = 2 };

struct member {
    int fd;
    uint32_t n_bytes;
    off_t at;
};

struct bare {
    struct member *member; /* FIELDS for each sample */
    uint64_t n, cap;       /* samples */
};

/* POSIX.1-1988: the name is at 0, the size at 124, in octal; gen writes nothing else. */
static void find_members(struct bare *bare, const char *path)
{
    char header[TAR_BLOCK];
    off_t at = 0;
    uint32_t field = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && pread(fd, header, sizeof header, at) == TAR_BLOCK && header[0]) {
        off_t n_bytes = strtol(header + 124, NULL, 8);
        if (bare->n == bare->cap) {
            bare->cap = bare->cap ? bare->cap * 2 : 1024;
            bare->member = realloc(bare->member, bare->cap * FIELDS * sizeof *bare->member);
            if (!bare->member)
                perf_die("memory", NULL);
        }
        bare->member[bare->n * FIELDS + field] =
            (struct member){fd, (uint32_t)n_bytes, at + TAR_BLOCK};
        field = (field + 1) % FIELDS;
        bare->n += field == 0;
        at += TAR_BLOCK + (n_bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    if (at == 0)
        perf_die(path, NULL);
}

static void read_all(struct perf_thread *thread)
{
    const struct bare *bare = thread->ctx;
    uint32_t slot = 0;

    for (uint64_t first = (uint64_t)thread->number * thread->batch_size; first < bare->n;
         first += (uint64_t)thread->n * thread->batch_size) {
        uint8_t *dst = thread->slots + slot * thread->slot_bytes;
        uint64_t end = first + thread->batch_size < bare->n ? first + thread->batch_size : bare->n;
        for (uint64_t i = first * FIELDS; i < end * FIELDS; i++) {
            const struct member *member = &bare->member[i];
            if (pread(member->fd, dst, member->n_bytes, member->at) != (ssize_t)member->n_bytes)
                perf_die("pread", NULL);
            dst += member->n_bytes;
            thread->n_bytes += member->n_bytes;
        }
        thread->n_samples += end - first;
        slot = (slot + 1) % thread->n_slots;
    }
}

int main(void)
{
    struct dlb_spec spec;
    uint32_t counts[8], n_counts = perf_thread_counts(counts);
    glob_t shards;
    struct bare bare = {.n = 0};
    struct perf_shards_rival rival = {"webdataset (indexed) + raw", "pread", read_all, &bare, 0.95};

    perf_spec(&spec,
              (const char *[]){"dataset.format=webdataset", "dataset.codec=raw",
                               "dataset.access=indexed", "generate.samples=4096",
                               "generate.sample_bytes=110000", "webdataset.shard_samples=256",
                               "loader.batch_size=64", "loader.shuffle=false",
                               "loader.persistent_workers=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    perf_shards_find(&shards, spec.dataset.path);
    for (size_t i = 0; i < shards.gl_pathc; i++)
        find_members(&bare, shards.gl_pathv[i]);
    for (uint32_t i = 0; i < n_counts; i++)
        perf_shards_compare(&spec, counts[i], &rival);
    globfree(&shards);
    free(bare.member);
    return 0;
}

#else

int main(void)
{
    printf("skipped: built without libarchive\n");
    return 0;
}

#endif
