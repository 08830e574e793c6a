/* TFRecord: records in shards, read from start to end.
 *
 * A record is a sample. With tfrecord.feature it is a tf.train.Example, and one of its features is
 * the sample. The feature's size is known only after reading. The sizes of the data set are the
 * records' then, which is an upper bound. */
#include "core/base/escape.h"
#include "formats/format.h"
#include "formats/generate/mark.h"
#include "formats/headroom.h"

#include "core/base/hash.h"
#include "formats/tfrecord/example.h"
#include "formats/tfrecord/tfrecord.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 256 << 10,
    PEEK_BYTES = 64 << 20, /* a larger first record is not parsed when opening */
};

static const struct dlb_opt opts[] = {
    {.key = "crc",
     .reads_only = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct dlb_tfr_opts, crc),
     .def = "true",
     .help = "check the CRC-32C of each record's data, as TensorFlow does; that of its length is "
             "always checked"},
    {.key = "feature",
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_tfr_opts, feature),
     .def = "",
     .help =
         "the feature of tf.train.Example that is the sample, such as image/encoded; empty: the "
         "whole record"},
    {.key = "label",
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_tfr_opts, label),
     .def = "image/class/label",
     .help = "with tfrecord.feature: the feature whose first number is the label"},
    {.key = "shard_samples",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_tfr_opts, shard_samples),
     .min = 1,
     .max = 100000000,
     .def = "1000",
     .unit = "samples",
     .help = "gen: samples in each shard"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_tfr_group = {"tfrecord", "TFRecord shards", opts,
                                            sizeof(struct dlb_tfr_opts)};

struct tfrecord {
    const struct dlb_io *io;
    struct dlb_tfr_list list;
    uint64_t *base; /* [list.n] number of each shard's first sample */
    struct dlb_tfr_opts opts;
};

struct tfrecord_reader {
    const struct tfrecord *ds;
    struct dlb_tfr tfr;
    uint32_t shard;
    uint64_t position;      /* of the next record in the shard */
    uint64_t counted_bytes; /* of tfr.asked_bytes, those that io_bytes of samples have counted */
    uint8_t *buffer;
    size_t buffer_bytes;
};

/* Notes the features of the first record, so that the user knows what to ask for. */
static void describe_features(const struct tfrecord *ds, const struct dlb_example *example,
                              struct dlb_shape *shape)
{
    uint32_t n_read = example->has_label || example->other_label ? 2 : 1;

    if (!ds->opts.feature[0] && example->n_features > 0)
        dlb_shape_odd(shape,
                      "records are tf.train.Example (%s): choose a feature by tfrecord.feature",
                      example->names);
    else if (ds->opts.feature[0] && example->bytes && example->n_features > n_read)
        dlb_shape_odd(shape, "%u of the %u features of the first record are not read: it has %s",
                      example->n_features - n_read, example->n_features, example->names);
}

static void describe_example(const struct tfrecord *ds, struct dlb_shape *shape)
{
    struct dlb_tfr tfr = {.handle = -1};
    struct dlb_example example;
    struct dlb_err ignored;
    uint64_t n_bytes = 0;
    uint8_t *data = NULL;

    if (dlb_tfr_open(&tfr, ds->io, ds->list.shard[0].path, BLOCK_BYTES, &ignored) == DLB_OK &&
        dlb_tfr_look(&tfr, &n_bytes, &ignored) == DLB_OK && n_bytes <= PEEK_BYTES &&
        (data = malloc((size_t)n_bytes + 1)) &&
        dlb_tfr_take(&tfr, data, n_bytes, true, &ignored) == DLB_OK &&
        dlb_example_parse(data, (size_t)n_bytes, ds->opts.feature, ds->opts.label, &example,
                          &ignored) == DLB_OK)
        describe_features(ds, &example, shape);
    free(data);
    dlb_tfr_free(&tfr);
}

enum { NAME_BYTES = 40 };

/* The path is shortened so that the reason fits: no folder, and only the end of a long name. */
static void describe_bad(uint32_t n_bad, struct dlb_err why, struct dlb_shape *shape)
{
    char text[sizeof why.path + sizeof why.what + 40];
    const char *slash = strrchr(why.path, '/'), *name = slash ? slash + 1 : why.path;
    size_t len = strlen(name), n_cut = len > NAME_BYTES ? len - NAME_BYTES : 0;

    memmove(why.path, name + n_cut, len - n_cut + 1);
    dlb_shape_odd(shape,
                  n_bad == 1 ? "%u shard cannot be read to its end: %s%s"
                             : "%u shards cannot be read to their end; the first: %s%s",
                  n_bad, n_cut ? "..." : "", dlb_err_text(&why, text, sizeof text));
}

static void describe_odd(struct tfrecord *ds, struct dlb_shape *shape)
{
    struct dlb_tfr_list *list = &ds->list;
    uint32_t n_bad = 0, n_empty = 0, first_bad = 0;

    for (uint32_t i = list->n; i-- > 0;) {
        bool bad = list->shard[i].problem.status != DLB_OK;
        n_empty += !bad && list->shard[i].n_records == 0;
        n_bad += bad;
        first_bad = bad ? i : first_bad;
    }
    if (n_bad)
        describe_bad(n_bad, list->shard[first_bad].problem, shape);
    if (n_empty)
        dlb_shape_odd(shape, n_empty == 1 ? "%u shard is empty" : "%u shards are empty", n_empty);
    if (list->n_compressed)
        dlb_shape_odd(shape, "%u compressed shards are ignored: gunzip them", list->n_compressed);
    if (list->n_other)
        dlb_shape_odd(shape, "%u files are ignored: their names are not those of TFRecords",
                      list->n_other);
    dlb_left_out_tell(&list->left_out, shape);
    describe_example(ds, shape);
}

static int tfrecord_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                         struct dlb_err *err)
{
    struct tfrecord *ds = state;
    struct dlb_tfr_list *list = &ds->list;

    ds->io = how->io;
    ds->opts.crc = true;
    if (how->opts)
        ds->opts = *(const struct dlb_tfr_opts *)how->opts;
    *shape = (struct dlb_shape){.iterable = true};
    int rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = dlb_tfr_list_make(list, how->path, how->io, err);
    if (rc != DLB_OK)
        return rc;
    ds->base = malloc((list->n + 1) * sizeof *ds->base);
    if (!ds->base)
        return dlb_fail_memory(err, how->path, (list->n + 1) * sizeof *ds->base);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct dlb_tfr_shard *shard = &list->shard[i];
        const char *name = strrchr(shard->path, '/');
        name = name ? name + 1 : shard->path;
        uint64_t numbers[] = {shard->file_bytes, shard->n_records, shard->n_bytes};
        ds->base[i] = shape->n_samples;
        shape->n_samples += shard->n_records;
        shape->total_bytes += shard->n_bytes;
        if (shard->max_bytes > shape->max_sample_bytes)
            shape->max_sample_bytes = shard->max_bytes;
        shape->id = dlb_hash64(name, strlen(name), dlb_hash64(numbers, sizeof numbers, shape->id));
    }
    shape->id = dlb_hash64(ds->opts.feature, strlen(ds->opts.feature), shape->id);
    shape->n_shards = list->n;
    /* With no sample at all, the reason tells more than "holds no samples". */
    for (uint32_t i = 0; shape->n_samples == 0 && i < list->n; i++)
        if (list->shard[i].problem.status != DLB_OK) {
            *err = list->shard[i].problem;
            return (int)err->status;
        }
    describe_odd(ds, shape);
    return DLB_OK;
}

static void tfrecord_close(void *state)
{
    struct tfrecord *ds = state;
    dlb_tfr_list_free(&ds->list);
    free(ds->base);
    ds->base = NULL;
}

static int tfrecord_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    struct tfrecord_reader *reader = rd;
    (void)err;
    reader->ds = ds;
    reader->tfr.handle = -1;
    return DLB_OK;
}

static void tfrecord_reader_close(void *rd)
{
    struct tfrecord_reader *reader = rd;
    dlb_tfr_free(&reader->tfr);
    free(reader->buffer);
    reader->buffer = NULL;
}

static int tfrecord_shard_open(void *rd, uint32_t shard, struct dlb_err *err)
{
    struct tfrecord_reader *reader = rd;

    if (shard >= reader->ds->list.n)
        DLB_BUG("shard beyond the data set");
    reader->shard = shard;
    reader->position = reader->counted_bytes = 0;
    int rc = dlb_tfr_open(&reader->tfr, reader->ds->io, reader->ds->list.shard[shard].path,
                          BLOCK_BYTES, err);
    if (rc == DLB_OK && reader->ds->io->sequential)
        reader->ds->io->sequential(reader->tfr.handle);
    return rc;
}

static uint64_t tfrecord_shard_samples(const void *state, uint32_t shard)
{
    const struct tfrecord *ds = state;
    return shard < ds->list.n ? ds->list.shard[shard].n_records : 0;
}

static int make_room(struct tfrecord_reader *reader, uint64_t n_bytes, struct dlb_err *err)
{
    if (reader->buffer && n_bytes <= reader->buffer_bytes)
        return DLB_OK;
    int rc = dlb_headroom_check(n_bytes, reader->tfr.path, "a record", "it may be sparse", err);
    if (rc != DLB_OK)
        return rc;
    free(reader->buffer);
    reader->buffer_bytes = (size_t)n_bytes + n_bytes / 4 + 1;
    reader->buffer = malloc(reader->buffer_bytes);
    if (reader->buffer)
        return DLB_OK;
    return dlb_fail_memory(err, reader->tfr.path, reader->buffer_bytes);
}

/* What of the two features is not delivered. */
static const char *unread(const struct dlb_example *example, bool labelled)
{
    if (example->more_bytes)
        return "several byte strings in tfrecord.feature";
    if (example->more_labels)
        return "several numbers in tfrecord.label";
    return example->other_label || (example->has_label && !labelled)
               ? "no class (0 to 4294967295) in tfrecord.label"
               : NULL;
}

/* Points the sample at the feature in the record. */
static int extract(const struct tfrecord_reader *reader, uint64_t n_bytes, struct dlb_sample *out,
                   struct dlb_err *err)
{
    const struct tfrecord *ds = reader->ds;
    struct dlb_example example;
    int rc = dlb_example_parse(reader->buffer, (size_t)n_bytes, ds->opts.feature, ds->opts.label,
                               &example, err);

    if (rc != DLB_OK) {
        err->offset_bytes += out->offset_bytes + DLB_TFR_HEAD_BYTES;
        return dlb_fail_at_path(err, out->path);
    }
    if (!example.bytes)
        return dlb_fail(err, DLB_ERR_TFRECORD_NO_FEATURE, out->path, out->offset_bytes,
                        "has no feature \"%.*s\" of bytes; it has: %s",
                        DLB_CUT(ds->opts.feature, 100),
                        example.n_features ? example.names : "none");
    out->field[0].data = example.bytes;
    out->field[0].len_bytes = example.n_bytes;
    out->labelled = example.has_label && example.label >= 0 && example.label <= UINT32_MAX;
    out->label = out->labelled ? (uint32_t)example.label : 0;
    out->unread = unread(&example, out->labelled);
    return DLB_OK;
}

/* The length of the next record, if there is one as there was when the data set was opened. */
static int look(struct tfrecord_reader *reader, uint64_t *n_bytes, struct dlb_err *err)
{
    const struct dlb_tfr_shard *shard = &reader->ds->list.shard[reader->shard];

    /* The scan failed here: report the same error. */
    if (reader->position == shard->n_records && shard->problem.status != DLB_OK) {
        *err = shard->problem;
        return (int)err->status;
    }
    int rc = dlb_tfr_look(&reader->tfr, n_bytes, err);
    if (rc == DLB_END ? reader->position < shard->n_records
                      : rc == DLB_OK && reader->position == shard->n_records)
        return dlb_fail(err, DLB_ERR_FILE_CHANGED, shard->path, reader->tfr.at,
                        "holds %s records than the %" PRIu64
                        " that it had when the data set was opened",
                        rc == DLB_END ? "fewer" : "more", shard->n_records);
    return rc;
}

static int tfrecord_next(void *rd, struct dlb_dest dest, struct dlb_sample *out,
                         struct dlb_err *err)
{
    struct tfrecord_reader *reader = rd;
    const struct tfrecord *ds = reader->ds;
    bool whole = !ds->opts.feature[0];
    uint64_t n_bytes = 0;

    if (reader->tfr.handle < 0)
        return DLB_END;
    out->path = reader->tfr.path;
    out->offset_bytes = reader->tfr.at;
    int rc = look(reader, &n_bytes, err);
    uint8_t *dst = dest.data;
    if (rc == DLB_OK && (!whole || !dst || dest.cap_bytes < n_bytes)) {
        rc = make_room(reader, n_bytes, err);
        dst = reader->buffer;
    }
    if (rc == DLB_OK)
        rc = dlb_tfr_take(&reader->tfr, dst, n_bytes, ds->opts.crc, err);
    out->field[0].data = dst;
    out->field[0].name = "";
    out->n_fields = 1;
    out->label = 0;
    out->labelled = false;
    if (rc == DLB_OK) {
        out->field[0].len_bytes = (size_t)n_bytes;
        rc = whole ? DLB_OK : extract(reader, n_bytes, out, err);
    }
    if (rc != DLB_OK) {
        dlb_tfr_close(&reader->tfr); /* the rest of the shard is lost */
        return rc;
    }
    out->index = ds->base[reader->shard] + reader->position++;
    out->io_bytes = reader->tfr.asked_bytes - reader->counted_bytes;
    reader->counted_bytes = reader->tfr.asked_bytes;
    return DLB_OK;
}

static void tfrecord_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    const struct tfrecord *ds = state;
    if (number < ds->list.n)
        (void)snprintf(path, n_path, "%s", ds->list.shard[number].path);
}

static uint64_t tfrecord_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    tfrecord_whereabouts(state, number, path, n_path);
    return ((const struct tfrecord *)state)->list.n;
}

static const struct dlb_reader tfrecord_reader = {
    .dataset_bytes = sizeof(struct tfrecord),
    .state_bytes = sizeof(struct tfrecord_reader),
    .dataset_open = tfrecord_open,
    .dataset_close = tfrecord_close,
    .open = tfrecord_reader_open,
    .close = tfrecord_reader_close,
    .shard_open = tfrecord_shard_open,
    .next = tfrecord_next,
    .shard_samples = tfrecord_shard_samples,
    .whereabouts = tfrecord_whereabouts,
    .files = tfrecord_files,
};

static const struct dlb_generator tfrecord_generator = {
    .units = dlb_tfr_gen_units,
    .makes = dlb_tfr_gen_makes,
    .prepare = dlb_tfr_gen_prepare,
    .unit = dlb_tfr_gen_unit,
    .number = dlb_gen_number_by_index,
};

const struct dlb_format dlb_fmt_tfrecord = {
    .name = "tfrecord",
    .summary = "records in TFRecord shards, read from start to end (TensorFlow)",
    .opts = &dlb_tfr_group,
    .made = "shard-######.tfrecord",
    .probe = dlb_tfr_probe,
    .reader = &tfrecord_reader,
    .generator = &tfrecord_generator,
};
