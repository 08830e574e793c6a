/* WebDataset: samples as runs of members in tar shards, read from start to end. */
#include "formats/format.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "bench/base/hash.h"
#include "formats/codec.h"
#include "formats/tar.h"
#include "formats/wds_list.h"
#include "formats/wds_scan.h"
#include "formats/wds_write.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* What of a member lies beyond the block goes straight to its place (dlb_tar_read), so the smaller
 * the block, the less is copied twice: 1.04 to 1.15 of libarchive's rate with blocks of 1 MiB
 * against 0.92 to 0.98 with 1 MiB here too, for images of 110 KB on a warm page cache. Much smaller
 * ones cost as much in system calls, and storage without readahead wants large reads. */
enum { READ_BLOCK_BYTES = 256 << 10 };

struct webdataset {
    const struct dlb_io *io;
    const struct dlb_codec *codec;
    struct dlb_wds_list list;
    uint64_t *base; /* number of each shard's first sample */
};

struct webdataset_reader {
    const struct webdataset *ds;
    struct dlb_tar tar;
    struct dlb_wds_group group;
    struct dlb_tar_member pending; /* read ahead: it opens the next sample */
    bool have_pending;
    uint32_t shard;
    uint64_t position;   /* of the next sample in the shard */
    uint64_t told_bytes; /* of tar.asked_bytes, in samples so far */
    struct dlb_bytes buffer;
};

static int webdataset_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                           struct dlb_err *err)
{
    struct webdataset *ds = state;
    struct dlb_wds_list *list = &ds->list;

    ds->io = how->io;
    ds->codec = how->codec;
    *shape = (struct dlb_shape){.iterable = true};
    int rc = dlb_wds_list_make(list, how->path, how->io, shape, err);
    if (rc != DLB_OK)
        return rc;
    ds->base = malloc((list->n_shards + 1) * sizeof *ds->base);
    if (!ds->base)
        return dlb_fail(err, DLB_E_NOMEM, how->path, DLB_NO_OFFSET,
                        "no memory for the list of shards");
    for (uint32_t i = 0; i < list->n_shards; i++) {
        const struct dlb_wds_shard *shard = &list->shards[i];
        const char *name = strrchr(shard->path, '/');
        name = name ? name + 1 : shard->path;
        uint64_t numbers[] = {shard->file_bytes, shard->n_samples, shard->n_bytes};
        ds->base[i] = shape->n_samples;
        shape->n_samples += shard->n_samples;
        shape->total_bytes += shard->n_bytes;
        if (shard->max_sample_bytes > shape->max_sample_bytes)
            shape->max_sample_bytes = shard->max_sample_bytes;
        shape->id = dlb_hash64(name, strlen(name), dlb_hash64(numbers, sizeof numbers, shape->id));
    }
    shape->n_shards = list->n_shards;
    /* Nothing to read at all: why is worth more than that it is so. */
    for (uint32_t i = 0; shape->n_samples == 0 && i < list->n_shards; i++)
        if (list->shards[i].problem.status != DLB_OK) {
            *err = list->shards[i].problem;
            return (int)err->status;
        }
    return DLB_OK;
}

static void webdataset_close(void *state)
{
    struct webdataset *ds = state;
    dlb_wds_list_free(&ds->list);
    free(ds->base);
    ds->base = NULL;
}

static int webdataset_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    struct webdataset_reader *reader = rd;
    (void)err;
    reader->ds = ds;
    reader->tar.handle = -1;
    return DLB_OK;
}

static void webdataset_reader_close(void *rd)
{
    struct webdataset_reader *reader = rd;
    dlb_tar_free(&reader->tar);
    dlb_wds_group_free(&reader->group);
    dlb_bytes_free(&reader->buffer);
}

/* Reads on to the next member; an error ends the shard. */
static int look_ahead(struct webdataset_reader *reader, struct dlb_err *err)
{
    int rc = dlb_wds_next_member(&reader->tar, &reader->pending, err);
    reader->have_pending = rc == DLB_OK;
    return rc;
}

static int webdataset_shard_open(void *rd, uint32_t shard, struct dlb_err *err)
{
    struct webdataset_reader *reader = rd;

    if (shard >= reader->ds->list.n_shards)
        DLB_BUG("shard beyond the data set");
    reader->shard = shard;
    reader->position = 0;
    reader->told_bytes = 0;
    reader->have_pending = false;
    int rc = dlb_tar_open(&reader->tar, reader->ds->io, reader->ds->list.shards[shard].path,
                          READ_BLOCK_BYTES, false, err);
    if (rc == DLB_OK)
        rc = look_ahead(reader, err);
    return rc == DLB_END ? DLB_OK : rc;
}

static uint64_t webdataset_shard_samples(const void *state, uint32_t shard)
{
    const struct webdataset *ds = state;
    return shard < ds->list.n_shards ? ds->list.shards[shard].n_samples : 0;
}

/* Where a sample's fields gather, back to back: at first where the loader wants them, in the
 * reader's buffer once they do not fit there. */
struct place {
    struct dlb_dest dest;
    size_t len_bytes;
    bool moved;
};

static uint8_t *place_data(const struct place *place, const struct webdataset_reader *reader)
{
    return place->moved ? reader->buffer.data : place->dest.data;
}

static int make_room(struct place *place, struct webdataset_reader *reader, uint64_t n_bytes,
                     struct dlb_err *err)
{
    struct dlb_bytes *buffer = &reader->buffer;

    if (!place->moved && n_bytes <= place->dest.cap_bytes - place->len_bytes)
        return DLB_OK;
    if (place->moved && buffer->data && n_bytes <= buffer->cap_bytes - place->len_bytes)
        return DLB_OK;
    size_t cap = buffer->cap_bytes ? buffer->cap_bytes : 1 << 16;
    while (cap - place->len_bytes < n_bytes && cap < SIZE_MAX / 2)
        cap *= 2;
    if (cap > buffer->cap_bytes) {
        uint8_t *grown = realloc(buffer->data, cap);
        if (!grown)
            return dlb_fail(err, DLB_E_NOMEM, reader->tar.path, DLB_NO_OFFSET,
                            "no memory for a sample of %zu bytes", cap);
        buffer->data = grown;
        buffer->cap_bytes = cap;
    }
    if (!place->moved && place->len_bytes)
        memcpy(buffer->data, place->dest.data, place->len_bytes);
    place->moved = true;
    return DLB_OK;
}

static uint32_t parse_label(const uint8_t *text, size_t len)
{
    uint64_t label = 0;
    size_t i = 0;

    while (i < len && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t'))
        i++;
    for (; i < len && text[i] >= '0' && text[i] <= '9' && label <= UINT32_MAX; i++)
        label = label * 10 + (uint64_t)(text[i] - '0');
    return label <= UINT32_MAX ? (uint32_t)label : 0;
}

/* Which field the codec decodes: one named as its files are ("jpg"), or ending so ("left.jpg"),
 * else the first that is neither label nor description. */
static uint32_t primary(const struct dlb_sample *sample, const struct dlb_codec *codec)
{
    for (uint32_t i = 0; i < sample->n_fields; i++)
        if (dlb_codec_takes(codec, sample->field[i].name))
            return i;
    for (uint32_t i = 0; i < sample->n_fields; i++) {
        const char *dot = strrchr(sample->field[i].name, '.');
        if (dot && dlb_codec_takes(codec, dot + 1))
            return i;
    }
    for (uint32_t i = 0; i < sample->n_fields; i++)
        if (strcmp(sample->field[i].name, "cls") != 0 && strcmp(sample->field[i].name, "json") != 0)
            return i;
    return 0;
}

static int gather(struct webdataset_reader *reader, struct place *place, struct dlb_sample *out,
                  struct dlb_err *err)
{
    size_t at[DLB_MAX_FIELDS];
    int rc = DLB_OK;

    dlb_wds_group_reset(&reader->group);
    while (reader->have_pending &&
           (out->n_fields == 0 || !dlb_wds_group_starts(&reader->group, &reader->pending))) {
        const struct dlb_tar_member *member = &reader->pending;
        rc = dlb_wds_group_add(&reader->group, member, reader->tar.path, err);
        if (rc == DLB_OK)
            rc = dlb_tar_check(&reader->tar, member, err); /* before its size is believed */
        if (rc == DLB_OK)
            rc = make_room(place, reader, member->n_bytes, err);
        if (rc == DLB_OK)
            rc = dlb_tar_read(&reader->tar, member, place_data(place, reader) + place->len_bytes,
                              err);
        if (rc != DLB_OK)
            return rc;
        struct dlb_field *field = &out->field[out->n_fields];
        memcpy(field->name, reader->group.field_name, sizeof field->name);
        field->len_bytes = (size_t)member->n_bytes;
        at[out->n_fields++] = place->len_bytes;
        place->len_bytes += field->len_bytes;
        rc = look_ahead(reader, err);
        if (rc != DLB_OK && rc != DLB_END)
            return rc;
    }
    for (uint32_t i = 0; i < out->n_fields; i++) {
        out->field[i].data = place_data(place, reader) + at[i];
        if (strcmp(out->field[i].name, "cls") == 0)
            out->label = parse_label(out->field[i].data, out->field[i].len_bytes);
    }
    return DLB_OK;
}

static int webdataset_next(void *rd, struct dlb_dest dest, struct dlb_sample *out,
                           struct dlb_err *err)
{
    struct webdataset_reader *reader = rd;
    const struct webdataset *ds = reader->ds;
    const struct dlb_wds_shard *shard = &ds->list.shards[reader->shard];
    struct place place = {.dest = dest, .moved = !dest.data};

    if (!reader->have_pending)
        return DLB_END;
    if (reader->position >= shard->n_samples) {
        reader->have_pending = false;
        /* Read on to where the listing failed, so that it is said here too. */
        if (shard->problem.status != DLB_OK) {
            *err = shard->problem;
            return (int)err->status;
        }
        return dlb_fail(err, DLB_E_FORMAT, shard->path, reader->pending.header_at,
                        "more samples than when the data set was opened: it changed meanwhile");
    }
    out->n_fields = 0;
    out->label = 0;
    out->offset_bytes = reader->pending.header_at;
    int rc = gather(reader, &place, out, err);
    if (rc != DLB_OK) {
        reader->have_pending = false;
        return rc;
    }
    uint32_t first = ds->codec && !ds->codec->identity ? primary(out, ds->codec) : 0;
    if (first != 0) {
        struct dlb_field swapped = out->field[0];
        out->field[0] = out->field[first];
        out->field[first] = swapped;
    }
    out->index = ds->base[reader->shard] + reader->position++;
    out->io_bytes = reader->tar.asked_bytes - reader->told_bytes;
    reader->told_bytes = reader->tar.asked_bytes;
    out->path = shard->path;
    return DLB_OK;
}

static void webdataset_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct webdataset *ds = state;
    if (number < ds->list.n_shards)
        (void)snprintf(path, n_path, "%s", ds->list.shards[number].path);
}

const struct dlb_format dlb_fmt_webdataset = {
    .name = "webdataset",
    .summary = "samples in tar shards, read from start to end (WebDataset)",
    .opts = &dlb_wds_group_opts,
    .dataset_bytes = sizeof(struct webdataset),
    .reader_bytes = sizeof(struct webdataset_reader),
    .probe = dlb_wds_probe,
    .open = webdataset_open,
    .close = webdataset_close,
    .reader_open = webdataset_reader_open,
    .reader_close = webdataset_reader_close,
    .shard_open = webdataset_shard_open,
    .next = webdataset_next,
    .shard_samples = webdataset_shard_samples,
    .whereabouts = webdataset_whereabouts,
    .gen_units = dlb_wds_gen_units,
    .gen_prepare = dlb_wds_gen_prepare,
    .gen_unit = dlb_wds_gen_unit,
    .gen_describe = dlb_wds_gen_describe,
};

#else

#include "formats/wds_write.h"

const struct dlb_format dlb_fmt_webdataset = {
    .name = "webdataset",
    .summary = "samples in tar shards, read from start to end (WebDataset)",
    .missing = "built without libarchive",
    .opts = &dlb_wds_group_opts,
    .dataset_bytes = 64,
    .reader_bytes = 64,
};

#endif
