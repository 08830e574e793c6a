/* WebDataset: samples as runs of members in tar shards. They are read from start to end (stream),
 * or at random by an index of their members (indexed; plain shards only). */
#include "formats/format.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "core/base/escape.h"
#include "core/base/hash.h"
#include "formats/codec.h"
#include "formats/webdataset/convert.h"
#include "formats/webdataset/index.h"
#include "formats/webdataset/list.h"
#include "formats/webdataset/sample.h"
#include "formats/webdataset/scan.h"
#include "formats/webdataset/tar.h"
#include "formats/webdataset/told.h"
#include "formats/webdataset/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The part of a member beyond the block is read directly to its destination (dlb_tar_read), so a
 * smaller block means fewer bytes copied twice. For images of 110 KB on a warm page cache this
 * gives 1.04 to 1.15 of the rate of libarchive with blocks of 1 MiB; with 1 MiB here too it was
 * 0.92 to 0.98. Much smaller blocks lose as much to system calls, and storage without readahead
 * needs large reads. */
enum { READ_BLOCK_BYTES = 256 << 10 };

struct webdataset {
    const struct dlb_io *io;
    const struct dlb_codec *codec;
    struct dlb_wds_list list;
    uint64_t *base;   /* number of each shard's first sample; one more entry: of all samples */
    int64_t *handles; /* indexed: of the first n_kept shards; others are opened for each sample */
    uint32_t n_kept;
};

struct webdataset_reader {
    const struct webdataset *ds;
    struct dlb_tar tar;
    struct dlb_wds_group group;
    struct dlb_tar_member pending; /* read ahead: the first of the next sample */
    bool have_pending;
    uint32_t shard;
    uint64_t position;        /* of the next sample in the shard */
    struct dlb_wds_read read; /* of the shard */
    bool lost;                /* the rest of the shard, by an error */
    uint64_t told_bytes;      /* part of tar.in.asked_bytes that samples have reported so far */
    struct dlb_bytes buffer;
};

/* Uses half of this process's file descriptors; the rest is for other parts of the program. */
static int keep_open(struct webdataset *ds, struct dlb_err *err)
{
    struct rlimit limit = {.rlim_cur = 0};
    uint32_t n = ds->list.n_shards;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (n > limit.rlim_cur / 2)
        n = (uint32_t)(limit.rlim_cur / 2);
    ds->handles = malloc((n ? n : 1) * sizeof *ds->handles);
    if (!ds->handles)
        return dlb_fail_memory(err, NULL, n * sizeof *ds->handles);
    for (int rc = DLB_OK; ds->n_kept < n; ds->n_kept++) {
        rc = ds->io->open(ds->list.shards[ds->n_kept].path, &ds->handles[ds->n_kept], err);
        if (rc != DLB_OK && err->sys_errno == EMFILE)
            break;
        if (rc != DLB_OK)
            return rc;
    }
    return DLB_OK;
}

static int fail_members(const struct dlb_wds_shard *shard, uint64_t n, const char *first,
                        const char *why, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_DATASET_EMPTY, shard->path, DLB_NO_OFFSET,
                    "holds no samples: of %llu of its members the names %s. The first is \"%.*s\"",
                    (unsigned long long)n, why, DLB_CUT(first, 60));
}

/* Why there is no sample: the first shard that cannot be read, or else the first whose members are
 * left out. */
static int fail_empty(const struct dlb_wds_list *list, struct dlb_err *err)
{
    const struct dlb_wds_shard *bad = NULL, *nameless = NULL, *meta = NULL;

    for (uint32_t i = list->n_shards; i-- > 0;) {
        const struct dlb_wds_shard *shard = &list->shards[i];
        bad = shard->problem.status != DLB_OK ? shard : bad;
        nameless = shard->left_out.n_nameless > 0 ? shard : nameless;
        meta = shard->left_out.n_meta > 0 ? shard : meta;
    }
    if (bad) {
        *err = bad->problem;
        return (int)err->status;
    }
    if (nameless)
        return fail_members(nameless, nameless->left_out.n_nameless, nameless->left_out.nameless,
                            "have no dot behind a key, which a field follows as in 000001.jpg: "
                            "name them so",
                            err);
    return meta ? fail_members(meta, meta->left_out.n_meta, meta->left_out.meta,
                               "begin with a __name__, which webdataset leaves out: pack them "
                               "under another name",
                               err)
                : DLB_OK;
}

static int webdataset_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                           struct dlb_err *err)
{
    struct webdataset *ds = state;
    struct dlb_wds_list *list = &ds->list;

    ds->io = how->io;
    ds->codec = how->codec;
    bool indexed = how->access == DLB_ACCESS_INDEXED;
    *shape = (struct dlb_shape){.iterable = !indexed};
    int rc = dlb_wds_list_make(list, how->path, how->io, indexed, shape, err);
    if (rc != DLB_OK)
        return rc;
    ds->base = malloc((list->n_shards + 1) * sizeof *ds->base);
    if (!ds->base)
        return dlb_fail_memory(err, how->path, (list->n_shards + 1) * sizeof *ds->base);
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
    ds->base[list->n_shards] = shape->n_samples;
    shape->n_shards = indexed ? 0 : list->n_shards;
    rc = shape->n_samples == 0 ? fail_empty(list, err) : DLB_OK;
    if (rc != DLB_OK)
        return rc;
    return indexed ? keep_open(ds, err) : DLB_OK;
}

static void webdataset_close(void *state)
{
    struct webdataset *ds = state;

    for (uint32_t i = 0; i < ds->n_kept; i++)
        ds->io->close(ds->handles[i]);
    free(ds->handles);
    ds->handles = NULL;
    ds->n_kept = 0;
    dlb_wds_list_free(&ds->list);
    free(ds->base);
    ds->base = NULL;
}

static int webdataset_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    struct webdataset_reader *reader = rd;
    (void)err;
    reader->ds = ds;
    reader->tar.in.handle = -1;
    return DLB_OK;
}

static void webdataset_reader_close(void *rd)
{
    struct webdataset_reader *reader = rd;
    dlb_tar_free(&reader->tar);
    dlb_wds_group_free(&reader->group);
    dlb_bytes_free(&reader->buffer);
}

/* Reads the next member's header; an error ends the shard. */
static int look_ahead(struct webdataset_reader *reader, struct dlb_err *err)
{
    int rc = dlb_wds_next_member(&reader->tar, &reader->pending, NULL, err);
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
    reader->read = (struct dlb_wds_read){.n_samples = 0};
    reader->lost = false;
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

static int gather(struct webdataset_reader *reader, struct dlb_wds_place *place,
                  struct dlb_sample *out, struct dlb_err *err)
{
    size_t at[DLB_MAX_FIELDS];
    int rc = DLB_OK;

    dlb_wds_group_reset(&reader->group);
    while (reader->have_pending &&
           (out->n_fields == 0 || !dlb_wds_group_starts(&reader->group, &reader->pending))) {
        const struct dlb_tar_member *member = &reader->pending;
        rc = dlb_wds_group_add(&reader->group, member, reader->tar.in.path, err);
        if (rc == DLB_OK)
            rc = dlb_tar_check(&reader->tar, member, err); /* before its size is used */
        if (rc == DLB_OK)
            rc = dlb_wds_place_room(place, member->n_bytes, reader->tar.in.path, err);
        if (rc == DLB_OK)
            rc = dlb_tar_read(&reader->tar, member, dlb_wds_place_data(place) + place->len_bytes,
                              err);
        if (rc != DLB_OK)
            return rc;
        struct dlb_field *field = &out->field[out->n_fields];
        field->name = reader->group.field_name[out->n_fields];
        field->len_bytes = (size_t)member->n_bytes;
        at[out->n_fields++] = place->len_bytes;
        place->len_bytes += field->len_bytes;
        rc = look_ahead(reader, err);
        if (rc != DLB_OK && rc != DLB_END)
            return rc;
    }
    for (uint32_t i = 0; i < out->n_fields; i++)
        out->field[i].data = dlb_wds_place_data(place) + at[i];
    return DLB_OK;
}

static int webdataset_next(void *rd, struct dlb_dest dest, struct dlb_sample *out,
                           struct dlb_err *err)
{
    struct webdataset_reader *reader = rd;
    const struct webdataset *ds = reader->ds;
    const struct dlb_wds_shard *shard = &ds->list.shards[reader->shard];
    struct dlb_wds_place place = dlb_wds_place(dest, &reader->buffer);

    if (!reader->have_pending) {
        int rc = reader->lost ? DLB_OK : dlb_wds_told_check(shard, &reader->read, true, err);
        reader->lost = reader->lost || rc != DLB_OK;
        return rc == DLB_OK ? DLB_END : rc;
    }
    if (reader->position >= shard->n_samples) {
        reader->have_pending = false;
        reader->lost = true;
        /* Here the scan failed when the data set was opened: report the same error. */
        if (shard->problem.status != DLB_OK) {
            *err = shard->problem;
            return (int)err->status;
        }
        reader->read.n_samples++;
        if (dlb_wds_told_check(shard, &reader->read, false, err) != DLB_OK)
            return (int)err->status;
        return dlb_fail(err, DLB_ERR_SOURCE_CHANGED, shard->path, reader->pending.header_at,
                        "more than the %llu samples that it had when the data set was opened: it "
                        "changed meanwhile",
                        (unsigned long long)shard->n_samples);
    }
    out->n_fields = 0;
    out->key = NULL;
    out->offset_bytes = reader->pending.header_at;
    int rc = gather(reader, &place, out, err);
    if (rc == DLB_OK) {
        dlb_wds_read_add(&reader->read, place.len_bytes);
        rc = dlb_wds_told_check(shard, &reader->read, false, err);
    }
    if (rc != DLB_OK) {
        reader->have_pending = false;
        reader->lost = true;
        return rc;
    }
    dlb_wds_sample_finish(out, ds->codec);
    out->index = ds->base[reader->shard] + reader->position++;
    out->io_bytes = reader->tar.in.asked_bytes - reader->told_bytes;
    reader->told_bytes = reader->tar.in.asked_bytes;
    out->path = shard->path;
    out->key = (const char *)reader->group.key.data;
    out->n_key_bytes = reader->group.key.len_bytes;
    return DLB_OK;
}

static uint32_t shard_of(const struct webdataset *ds, uint64_t index)
{
    uint32_t low = 0, high = ds->list.n_shards;

    while (high - low > 1) { /* the last one that begins at or before index: it is not empty */
        uint32_t mid = low + (high - low) / 2;
        if (ds->base[mid] <= index)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* For a loader that reads many samples at once. With an identity codec it reads directly to the
 * batch, so no headers may be read between the fields. */
static uint64_t located_room(const struct webdataset *ds)
{
    return ds->codec && ds->codec->identity ? 0 : UINT64_MAX;
}

/* Fills *where, and the parts of *out that need no data. Returns the sample's shard. */
static uint32_t look_up(const struct webdataset *ds, uint64_t index, struct dlb_wds_where *where,
                        struct dlb_sample *out)
{
    if (!ds->list.indexes || index >= ds->base[ds->list.n_shards])
        DLB_BUG("sample beyond the data set");
    uint32_t shard = shard_of(ds, index);
    out->n_fields =
        dlb_wds_index_fields(&ds->list.indexes[shard], (uint32_t)(index - ds->base[shard]), where);
    out->path = ds->list.shards[shard].path;
    out->offset_bytes = where[0].at_bytes;
    out->index = index;
    return shard;
}

static int webdataset_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                           struct dlb_err *err)
{
    struct webdataset_reader *reader = rd;
    const struct webdataset *ds = reader->ds;
    struct dlb_wds_where where[DLB_MAX_FIELDS];
    struct dlb_wds_place place = dlb_wds_place(dest, &reader->buffer);
    uint32_t shard = look_up(ds, index, where, out);
    uint64_t n_bytes = 0;
    int64_t handle;

    out->io_bytes = 0;
    for (uint32_t i = 0; i < out->n_fields; i++)
        n_bytes += where[i].n_bytes;
    int rc = dlb_wds_place_room(&place, n_bytes, out->path, err);
    if (rc != DLB_OK)
        return rc;
    bool kept = shard < ds->n_kept;
    if (kept)
        handle = ds->handles[shard];
    else
        rc = ds->io->open(out->path, &handle, err);
    if (rc != DLB_OK)
        return rc;
    rc = dlb_wds_read_fields(ds->io, handle, where, &place, out, err);
    if (!kept)
        ds->io->close(handle);
    if (rc == DLB_OK)
        dlb_wds_sample_finish(out, ds->codec);
    return rc;
}

static int webdataset_locate(void *rd, uint64_t index, struct dlb_located *out, struct dlb_err *err)
{
    const struct webdataset *ds = ((struct webdataset_reader *)rd)->ds;
    struct dlb_wds_where where[DLB_MAX_FIELDS];
    struct dlb_sample sample;
    uint32_t shard = look_up(ds, index, where, &sample);
    (void)err;

    out->n = 0;
    for (uint32_t i = 0, next; i < sample.n_fields; i = next) {
        uint64_t end;
        next = dlb_wds_run(where, sample.n_fields, i, located_room(ds), &end);
        if (out->n < out->cap)
            out->extent[out->n] =
                (struct dlb_extent){.fd = shard < ds->n_kept ? ds->io->fd(ds->handles[shard]) : -1,
                                    .dir_fd = DLB_IO_NO_DIR,
                                    .name = sample.path,
                                    .offset_bytes = where[i].at_bytes,
                                    .n_bytes = end - where[i].at_bytes};
        out->n++;
    }
    out->plain = out->n == sample.n_fields; /* else headers lie between the fields */
    return DLB_OK;
}

/* Fields point into the pieces. */
static int webdataset_assemble(void *rd, uint64_t index, const struct dlb_field *pieces, uint32_t n,
                               struct dlb_dest dest, struct dlb_sample *out, struct dlb_err *err)
{
    const struct webdataset *ds = ((struct webdataset_reader *)rd)->ds;
    struct dlb_wds_where where[DLB_MAX_FIELDS];
    (void)n, (void)dest, (void)err;

    (void)look_up(ds, index, where, out);
    for (uint32_t i = 0, next; i < out->n_fields; i = next, pieces++) {
        uint64_t end;
        next = dlb_wds_run(where, out->n_fields, i, located_room(ds), &end);
        for (uint32_t k = i; k < next; k++) {
            out->field[k].data = pieces->data + (where[k].at_bytes - where[i].at_bytes);
            out->field[k].len_bytes = (size_t)where[k].n_bytes;
            out->field[k].name = where[k].name;
        }
    }
    dlb_wds_sample_finish(out, ds->codec);
    return DLB_OK;
}

static void webdataset_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct webdataset *ds = state;
    uint64_t shard = number;

    if (ds->list.indexes)
        shard = number < ds->base[ds->list.n_shards] ? shard_of(ds, number) : UINT64_MAX;
    if (shard < ds->list.n_shards)
        (void)snprintf(path, n_path, "%s", ds->list.shards[shard].path);
}

static uint64_t webdataset_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct dlb_wds_list *list = &((const struct webdataset *)state)->list;
    if (number < list->n_shards)
        (void)snprintf(path, n_path, "%s", list->shards[number].path);
    return list->n_shards;
}

static const int accesses[] = {DLB_ACCESS_STREAM, DLB_ACCESS_INDEXED, DLB_ACCESS_AUTO};

static const struct dlb_reader webdataset_reader = {
    .dataset_bytes = sizeof(struct webdataset),
    .state_bytes = sizeof(struct webdataset_reader),
    .dataset_open = webdataset_open,
    .dataset_close = webdataset_close,
    .open = webdataset_reader_open,
    .close = webdataset_reader_close,
    .read = webdataset_read,
    .locate = webdataset_locate,
    .assemble = webdataset_assemble,
    .shard_open = webdataset_shard_open,
    .next = webdataset_next,
    .shard_samples = webdataset_shard_samples,
    .whereabouts = webdataset_whereabouts,
    .files = webdataset_files,
};

static const struct dlb_generator webdataset_generator = {
    .units = dlb_wds_gen_units,
    .makes = dlb_wds_gen_makes,
    .compresses = dlb_wds_gen_compresses,
    .prepare = dlb_wds_gen_prepare,
    .unit = dlb_wds_gen_unit,
    .number = dlb_gen_number_by_index,
    .describe = dlb_wds_gen_describe,
};

static const struct dlb_writer webdataset_writer = {
    .state_bytes = sizeof(struct dlb_wds_writer),
    .label_each = true,
    .open = dlb_wds_writer_open,
    .add = dlb_wds_writer_add,
    .finish = dlb_wds_writer_finish,
    .close = dlb_wds_writer_close,
    .unit_samples = dlb_wds_writer_unit_samples,
    .join = dlb_wds_writer_join,
};

const struct dlb_format dlb_fmt_webdataset = {
    .name = "webdataset",
    .summary = "samples in tar shards, plain or compressed (WebDataset)",
    .opts = &dlb_wds_group_opts,
    .access = accesses,
    .made = "shard-######.tar shard-######.tar.gz shard-######.tar.zst",
    .probe = dlb_wds_probe,
    .reader = &webdataset_reader,
    .generator = &webdataset_generator,
    .writer = &webdataset_writer,
};

#else

#include "formats/webdataset/write.h"

const struct dlb_format dlb_fmt_webdataset = {
    .name = "webdataset",
    .summary = "samples in tar shards, plain or compressed (WebDataset)",
    .missing = "built without libarchive",
    .opts = &dlb_wds_group_opts,
};

#endif
