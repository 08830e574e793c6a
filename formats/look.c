#include "formats/look.h"

#include "core/base/mem.h"
#include "formats/read_apart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LOOKS = 64, N_SHARDS = 16 };
#define MOST_BYTES (UINT64_C(1) << 40) /* transform.max_decoded_bytes allows no more */

struct look {
    struct dlb_dataset *ds;
    void *reader, *codec;
    uint32_t n_seen;
    uint64_t n_bytes; /* of the samples looked at */
    uint64_t least_bytes, most_bytes;
    double ratio;
    struct dlb_err first; /* of those that cannot be decoded */
};

uint64_t dlb_look_place(uint64_t i, uint64_t n)
{
    uint64_t step = n * 55 / 89;

    for (uint64_t a = n, b = step, rest; a != 1; a = b, b = rest) { /* Euclid's algorithm */
        if (b == 0) { /* they have a factor in common: the next one */
            a = n;
            b = ++step;
        }
        rest = a % b;
    }
    return i * step % n;
}

static void note_error(struct look *look, const struct dlb_err *err)
{
    if (look->first.status == DLB_OK)
        look->first = *err;
}

static void look_at(struct look *look, const struct dlb_sample *sample)
{
    const struct dlb_codec *codec = look->ds->codec;
    struct dlb_err err = {0};

    if (codec->decode(look->codec, sample, dlb_rng_seed(0, 0, sample->index), &err) != DLB_OK) {
        note_error(look, &err);
        return;
    }
    uint64_t n_bytes = codec->decoded_bytes(look->codec);
    size_t stored = sample->field[0].len_bytes;
    look->n_bytes += stored + n_bytes;
    if (look->n_seen++ == 0)
        look->least_bytes = look->most_bytes = n_bytes;
    if (n_bytes < look->least_bytes)
        look->least_bytes = n_bytes;
    if (n_bytes > look->most_bytes)
        look->most_bytes = n_bytes;
    if (stored && (double)n_bytes / (double)stored > look->ratio)
        look->ratio = (double)n_bytes / (double)stored;
}

static void look_at_shards(struct look *look)
{
    const struct dlb_reader *reader = look->ds->format->reader;
    uint32_t n_shards = look->ds->shape.n_shards;
    uint32_t n = n_shards < N_SHARDS ? n_shards : N_SHARDS;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t shard = (uint32_t)((uint64_t)i * n_shards / n);
        struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
        struct dlb_err err = {0};
        int rc = reader->shard_open(look->reader, shard, &err);
        for (uint32_t k = 0; rc == DLB_OK && k < N_LOOKS / n && look->n_bytes < DLB_LOOK_BYTES;
             k++) {
            rc = reader->next(look->reader, (struct dlb_dest){NULL, 0}, &sample, &err);
            if (rc == DLB_OK)
                look_at(look, &sample);
        }
        if (rc != DLB_OK && rc != DLB_END)
            note_error(look, &err);
    }
}

static void look_at_numbers(struct look *look)
{
    uint64_t n_samples = look->ds->shape.n_samples;
    uint64_t n = n_samples < N_LOOKS ? n_samples : N_LOOKS;

    for (uint64_t i = 0; i < n && look->n_bytes < DLB_LOOK_BYTES; i++) {
        struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
        struct dlb_err err = {0};
        uint64_t index = (uint64_t)((double)dlb_look_place(i, n) * (double)n_samples / (double)n);
        if (look->ds->format->reader->read(look->reader, index, (struct dlb_dest){NULL, 0}, &sample,
                                           &err) == DLB_OK)
            look_at(look, &sample);
        else
            note_error(look, &err);
    }
}

static int conclude(struct look *look, struct dlb_err *err)
{
    struct dlb_shape *shape = &look->ds->shape;

    if (look->n_seen == 0) {
        if (look->first.status == DLB_OK)
            return dlb_fail(err, DLB_ERR_DATASET_EMPTY, NULL, DLB_NO_OFFSET,
                            "no sample could be read to estimate what codec %s makes of it",
                            look->ds->codec->name);
        *err = look->first;
        return (int)err->status;
    }
    shape->max_decoded_bytes = look->most_bytes;
    if (look->least_bytes != look->most_bytes) {
        uint64_t scaled = (uint64_t)ceil(look->ratio * (double)shape->max_sample_bytes);
        if (scaled > shape->max_decoded_bytes)
            shape->max_decoded_bytes = scaled;
    }
    if (shape->max_decoded_bytes > MOST_BYTES)
        shape->max_decoded_bytes = MOST_BYTES;
    return DLB_OK;
}

static int look_here(void *ctx, struct dlb_err *err)
{
    struct dlb_dataset *ds = ctx;
    struct look look = {.ds = ds,
                        .reader = dlb_mem_state(ds->format->reader->state_bytes),
                        .codec = dlb_mem_state(ds->codec->state_bytes)};
    bool reader_open = false, codec_open = false;
    int rc = DLB_OK;

    if (!look.reader || !look.codec) {
        rc = dlb_fail_memory(err, NULL, ds->format->reader->state_bytes + ds->codec->state_bytes);
        goto out;
    }
    reader_open = true;
    rc = ds->format->reader->open(look.reader, ds->state, err);
    if (rc != DLB_OK)
        goto out;
    codec_open = true;
    rc = ds->codec->open(look.codec, &ds->transform, err);
    if (rc != DLB_OK)
        goto out;
    if (ds->shape.iterable)
        look_at_shards(&look);
    else
        look_at_numbers(&look);
    rc = conclude(&look, err);
out:
    if (codec_open)
        ds->codec->close(look.codec);
    if (reader_open)
        ds->format->reader->close(look.reader);
    free(look.reader);
    free(look.codec);
    return rc;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct dlb_shape *shape = &((struct dlb_dataset *)ctx)->shape;
    return dlb_pass(pipe, &shape->max_decoded_bytes, sizeof shape->max_decoded_bytes) &&
           shape->max_decoded_bytes <= MOST_BYTES;
}

int dlb_look_decoded(struct dlb_dataset *ds, const char *path, struct dlb_err *err)
{
    struct dlb_apart how = {.path = path,
                            .work = look_here,
                            .pass = pass,
                            .ctx = ds,
                            .sandboxed = true,
                            .patience_s = DLB_LOOK_PATIENCE_S};
    return dlb_read_apart(&ds->shape, how, err);
}
