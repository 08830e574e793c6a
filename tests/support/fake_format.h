/* A format whose samples, delays and faults a test sets: sample i holds (i * 7 + 3) % 97 + 1 bytes,
 * all derived from i. */
#ifndef DLB_TESTS_FAKE_FORMAT_H
#define DLB_TESTS_FAKE_FORMAT_H

#include "core/base/clock.h"
#include "formats/dataset.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAKE_MAX_BYTES = 98, FAKE_MAX_SHARDS = 16, FAKE_MAX_PIDS = 63 };

struct fake {
    uint64_t n_samples;
    uint32_t n_shards; /* 0: map-style */
    uint32_t shard_samples[FAKE_MAX_SHARDS];
    uint64_t fail_at,
        break_shard_at;  /* a corrupt sample; a sample at which its shard ends with an error */
    uint64_t keep_every; /* only every n-th sample is good; each corrupt one takes slow_ns; 0: all
                            good */
    uint64_t slow_at, slow_ns;
    uint64_t slow_from; /* a number; from it on each sample takes slow_ns, too */
    atomic_bool *hang; /* readers wait while it is set; shared memory where workers are processes */
    uint64_t hang_at;  /* FAKE_NEVER: at every sample */
    uint64_t die_at;   /* at this sample the worker */
    int die_by;        /* gets this signal, or with 0 calls exit(0) */
    _Atomic int *pids; /* how many readers were opened, then their processes: FAKE_MAX_PIDS */
    bool no_place;     /* never reads into the place offered */
    uint64_t spoil_at; /* reading this sample writes over the one that lies before it */
};

struct fake_reader {
    const struct fake *fake;
    uint32_t shard, pos;
    uint8_t bytes[FAKE_MAX_BYTES];
};

#define FAKE_NEVER UINT64_MAX

static inline size_t fake_len(uint64_t index)
{
    return (size_t)((index * 7 + 3) % 97 + 1);
}

static inline void fake_bytes(uint64_t index, uint8_t *dst)
{
    for (size_t i = 0; i < fake_len(index); i++)
        dst[i] = (uint8_t)(index * 31 + i * 17);
}

static int fake_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    (void)err;
    const struct fake *fake = ds;
    ((struct fake_reader *)rd)->fake = fake;
    if (fake->pids)
        atomic_store(&fake->pids[1 + atomic_fetch_add(&fake->pids[0], 1) % FAKE_MAX_PIDS],
                     getpid());
    return DLB_OK;
}

static void fake_reader_close(void *rd)
{
    (void)rd;
}

static void fake_close(void *ds)
{
    (void)ds;
}

/* As a crash inside a library would: with the default action, whatever a sanitizer has installed.
 */
static void fake_die(int signo)
{
    if (signo == 0)
        exit(0);
    (void)signal(signo, SIG_DFL);
    (void)raise(signo);
}

static int fake_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                     struct dlb_err *err)
{
    struct fake_reader *reader = rd;
    const struct fake *fake = reader->fake;

    if (index == fake->die_at)
        fake_die(fake->die_by);
    while (fake->hang && (fake->hang_at == FAKE_NEVER || fake->hang_at == index) &&
           atomic_load(fake->hang))
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    bool spoilt = fake->keep_every > 0 && index % fake->keep_every != 0;
    if (index == fake->slow_at || index >= fake->slow_from || spoilt)
        (void)dlb_sleep_until_ns(dlb_now_ns() + fake->slow_ns);
    if (index == fake->fail_at || spoilt)
        return dlb_fail(err, DLB_ERR_FORMAT, "fake", index, "sample %d is corrupt", (int)index);
    bool placed = !fake->no_place && dest.data && dest.cap_bytes >= fake_len(index);
    uint8_t *dst = placed ? dest.data : reader->bytes;
    fake_bytes(index, dst);
    if (placed && index == fake->spoil_at)
        dst[-1] ^= 1;
    *out = (struct dlb_sample){.n_fields = 1,
                               .index = index,
                               .label = (uint32_t)(index % 10),
                               .io_bytes = fake_len(index),
                               .path = "fake",
                               .offset_bytes = index};
    out->field[0] = (struct dlb_field){.data = dst, .len_bytes = fake_len(index), .name = "bin"};
    return DLB_OK;
}

static int fake_shard_open(void *rd, uint32_t shard, struct dlb_err *err)
{
    struct fake_reader *reader = rd;
    (void)err;
    reader->shard = shard;
    reader->pos = 0;
    return DLB_OK;
}

static int fake_next(void *rd, struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err)
{
    struct fake_reader *reader = rd;
    uint64_t base = 0;

    if (reader->pos == reader->fake->shard_samples[reader->shard])
        return DLB_END;
    for (uint32_t s = 0; s < reader->shard; s++)
        base += reader->fake->shard_samples[s];
    if (base + reader->pos == reader->fake->break_shard_at)
        return dlb_fail(err, DLB_ERR_FORMAT, "fake-shard", base, "the shard breaks off");
    return fake_read(rd, base + reader->pos++, dest, out, err);
}

static uint64_t fake_shard_samples(const void *ds, uint32_t shard)
{
    return ((const struct fake *)ds)->shard_samples[shard];
}

static void fake_whereabouts(const void *ds, uint64_t number, char *path, size_t n_path)
{
    (void)ds;
    (void)snprintf(path, n_path, "fake/%d", (int)number);
}

static const struct dlb_reader fake_reader = {
    .dataset_bytes = sizeof(struct fake),
    .state_bytes = sizeof(struct fake_reader),
    .dataset_close = fake_close,
    .open = fake_reader_open,
    .close = fake_reader_close,
    .read = fake_read,
    .shard_open = fake_shard_open,
    .next = fake_next,
    .shard_samples = fake_shard_samples,
    .whereabouts = fake_whereabouts,
};

static const struct dlb_format fake_format = {
    .name = "fake", .summary = "for tests", .reader = &fake_reader};

/* Borrowed: `fake` outlives the data set. */
static inline struct dlb_dataset fake_dataset(struct fake *fake)
{
    struct dlb_dataset ds = {
        .format = &fake_format, .codec = dlb_codec_by_name("raw"), .state = fake};

    if (fake->n_shards > 0) {
        fake->n_samples = 0;
        for (uint32_t s = 0; s < fake->n_shards; s++)
            fake->n_samples += fake->shard_samples[s];
    }
    ds.shape = (struct dlb_shape){.n_samples = fake->n_samples,
                                  .max_sample_bytes = FAKE_MAX_BYTES,
                                  .n_shards = fake->n_shards,
                                  .iterable = fake->n_shards > 0};
    ds.max_payload_bytes = FAKE_MAX_BYTES;
    return ds;
}

static inline struct fake fake_map(uint64_t n_samples)
{
    return (struct fake){.n_samples = n_samples,
                         .fail_at = FAKE_NEVER,
                         .break_shard_at = FAKE_NEVER,
                         .hang_at = FAKE_NEVER,
                         .die_at = FAKE_NEVER,
                         .slow_at = FAKE_NEVER,
                         .slow_from = FAKE_NEVER,
                         .spoil_at = FAKE_NEVER};
}

#endif
