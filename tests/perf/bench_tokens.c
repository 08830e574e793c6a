/* `tokens` + `raw` from a map against memcpy from the same offsets of a map, in the same order,
 * into the same slots, with as many threads. The other ways to the same bytes, and widening on the
 * host, stand beside it without a ratio to reach. */
#include "tests/perf/perf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EPOCHS = 2, SEQ_LEN = 2048, SAMPLES = 100000 };

/* One file of u16 and where its windows begin, as read from the format once. */
struct bare {
    const uint8_t *data;
    uint64_t *offset; /* [n], bytes */
    uint64_t n;
};

static void copy_all(struct perf_thread *thread)
{
    const struct bare *bare = thread->ctx;
    size_t each = (SEQ_LEN + 1) * sizeof(uint16_t);
    uint32_t slot = 0;

    for (uint64_t first = (uint64_t)thread->number * thread->batch_size; first < bare->n;
         first += (uint64_t)thread->n * thread->batch_size) {
        uint8_t *dst = thread->slots + slot * thread->slot_bytes;
        uint64_t end = first + thread->batch_size;
        for (uint64_t i = first; i < end && i < bare->n; i++, dst += each) {
            memcpy(dst, bare->data + bare->offset[i], each);
            thread->n_samples++;
            thread->n_bytes += each;
        }
        slot = (slot + 1) % thread->n_slots;
    }
}

static void bare_open(struct bare *bare, const struct dlb_spec *spec)
{
    char path[DLB_OPT_STRING_CAP + 32];
    struct stat st;
    struct dlb_err err = {0};
    struct dlb_dataset ds;
    struct dlb_sample sample;

    (void)snprintf(path, sizeof path, "%s/tokens-000000.bin", spec->dataset.path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        perf_die(path, NULL);
    bare->data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (bare->data == MAP_FAILED)
        perf_die("map", NULL);
    if (dlb_dataset_open(&ds, &spec->dataset, &spec->transform, &spec->generate,
                         dlb_spec_format_opts(spec), &err))
        perf_die("data set", &err);
    void *reader = aligned_alloc(64, (ds.format->reader->state_bytes + 63) / 64 * 64);
    bare->n = ds.shape.n_samples;
    bare->offset = malloc(bare->n * sizeof *bare->offset);
    if (!reader || !bare->offset)
        perf_die("memory", NULL);
    memset(reader, 0, (ds.format->reader->state_bytes + 63) / 64 * 64);
    if (ds.format->reader->open(reader, ds.state, &err) != DLB_OK)
        perf_die("reader", &err);
    for (uint64_t i = 0; i < bare->n; i++) {
        if (ds.format->reader->read(reader, i, (struct dlb_dest){0}, &sample, &err) != DLB_OK)
            perf_die("read", &err);
        bare->offset[i] = sample.offset_bytes;
        if (memcmp(bare->data + sample.offset_bytes, sample.field[0].data,
                   sample.field[0].len_bytes) != 0)
            perf_die("the baseline's bytes are not dlbench's", NULL);
    }
    ds.format->reader->close(reader);
    free(reader);
    dlb_dataset_close(&ds);
}

static void compare(struct dlb_spec *spec, struct bare *bare, uint32_t n_threads, int access,
                    const char *codec, double should_reach)
{
    char name[64];

    spec->loader.num_workers = n_threads;
    spec->dataset.access = access;
    struct dlb_spec own = *spec;
    for (int i = 0; dlb_codecs[i]; i++)
        if (strcmp(dlb_codecs[i]->name, codec) == 0)
            own.dataset.codec = i;
    (void)snprintf(name, sizeof name, "%s + %s", dlb_access_names[access], codec);
    (void)perf_match(&own, &(struct perf_match){.name = name,
                                                .unit = "samples",
                                                .base_name = "memcpy",
                                                .should_reach = should_reach,
                                                .epochs = EPOCHS,
                                                .body = copy_all,
                                                .ctx = bare,
                                                .layout = spec});
}

int main(void)
{
    struct dlb_spec spec;
    struct bare bare;
    char seq_len[64], samples[64];
    uint32_t counts[8], n_counts = perf_thread_counts(counts);

    (void)snprintf(seq_len, sizeof seq_len, "tokens.seq_len=%d", SEQ_LEN);
    (void)snprintf(samples, sizeof samples, "generate.samples=%d", SAMPLES);
    perf_spec(&spec, (const char *[]){"dataset.format=tokens", "dataset.codec=raw",
                                      "tokens.file_tokens=1000000000", seq_len, samples,
                                      "loader.batch_size=256", "loader.shuffle=false",
                                      "loader.persistent_workers=true", "device.prefetch=1", NULL});
    perf_generate(&spec);
    bare_open(&bare, &spec);
    for (uint32_t i = 0; i < n_counts; i++) {
        compare(&spec, &bare, counts[i], DLB_ACCESS_MMAP, "raw", 0.9);
        compare(&spec, &bare, counts[i], DLB_ACCESS_PREAD, "raw", 0);
        compare(&spec, &bare, counts[i], DLB_ACCESS_MMAP, "tokens", 0);
    }
    free(bare.offset);
    return 0;
}
