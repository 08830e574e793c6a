/* LMDB: values are samples, in the order of the keys, and each can be read by its number.
 *
 * Opening lists the keys and keeps them, 8 bytes and the key for each. A training job that makes
 * its keys by "%08d" needs no list, but with that only such databases could be read. An environment
 * cannot be used across fork(): open closes its own, and each reading process opens one that its
 * threads share. */
#include "core/base/escape.h"
#include "formats/format.h"
#include "formats/generate/mark.h"
#include "formats/headroom.h"

#include "formats/lmdb/lmdb.h"
#include "formats/lmdb/write.h"

struct lmdb_opts {
    bool readahead;
    char prefix[DLB_OPT_STRING_CAP];
};

static const struct dlb_opt opts[] = {
    {.key = "readahead",
     .reads_only = true,
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct lmdb_opts, readahead),
     .def = "false",
     .help = "let the kernel read ahead; training jobs that shuffle turn it off (MDB_NORDAHEAD)"},
    {.key = "prefix",
     .reads_only = true,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct lmdb_opts, prefix),
     .def = "",
     .help = "read only keys that begin with this; empty: all but those named __...__"},
    DLB_OPT_END,
};
static const struct dlb_opt_group group = {"lmdb", "LMDB databases", opts,
                                           sizeof(struct lmdb_opts)};

#ifdef DLB_HAVE_LMDB

#include "core/base/hash.h"
#include "formats/lmdb/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lmdb {
    const struct dlb_io *io;
    char *path; /* of the data file */
    bool readahead;
    struct dlb_lmdb_answer list;
};

struct lmdb_reader {
    const struct lmdb *ds;
    struct dlb_lmdb *env;
    struct dlb_lmdb_txn *txn;
    uint8_t *buffer;
    size_t buffer_bytes;
};

static int refuse_empty(const struct lmdb *ds, const char *prefix, uint64_t n_entries,
                        struct dlb_err *err)
{
    const struct dlb_lmdb_facts *facts = &ds->list.facts;

    if (facts->n_keys == 0 && facts->n_databases)
        return dlb_fail(err, DLB_ERR_LMDB_NAMED, ds->path, DLB_NO_OFFSET,
                        "holds %" PRIu64 " named database%s (\"%s\") and nothing beside: only the "
                        "unnamed one is read",
                        facts->n_databases, facts->n_databases == 1 ? "" : "s", facts->database);
    if (facts->n_keys == 0 && prefix[0] && n_entries > 0)
        return dlb_fail(err, DLB_ERR_LMDB_NO_SUCH_PREFIX, ds->path, DLB_NO_OFFSET,
                        "lmdb.prefix = \"%.*s\": none of the %" PRIu64 " keys begins with it",
                        DLB_CUT(prefix, 200), n_entries);
    return DLB_OK;
}

static void note_odd(const struct dlb_lmdb_facts *facts, const char *prefix,
                     struct dlb_shape *shape)
{
    if (facts->n_about && prefix[0] && !facts->labelled)
        dlb_shape_odd(shape,
                      "the labels in " DLB_LMDB_LABELS_KEY " are not read: they are not one number "
                      "of 4 bytes for each key that begins with lmdb.prefix (%" PRIu64 ")",
                      facts->n_keys);
    else if (facts->n_about)
        dlb_shape_odd(shape,
                      facts->n_about == 1
                          ? "%" PRIu64 " key named __...__ is about the database and ignored"
                          : "%" PRIu64 " keys named __...__ are about the database and ignored",
                      facts->n_about);
    if (facts->n_databases)
        dlb_shape_odd(shape,
                      facts->n_databases == 1 ? "%" PRIu64 " named database (\"%s\") is not read"
                                              : "%" PRIu64
                                                " named databases (\"%s\" and others) are not read",
                      facts->n_databases, facts->database);
    if (facts->labelled && !facts->described)
        dlb_shape_odd(shape,
                      "the value of " DLB_LMDB_LABELS_KEY " is read as the labels, %" PRIu64
                      " numbers of 4 bytes up to %" PRIu64 ", and no " DLB_LMDB_LABELS_TYPE_KEY
                      " says that it is",
                      facts->n_keys, shape->n_classes - 1);
    if (facts->n_empty)
        dlb_shape_odd(shape,
                      facts->n_empty == 1 ? "%" PRIu64 " value is empty"
                                          : "%" PRIu64 " values are empty",
                      facts->n_empty);
}

static uint64_t count_classes(const struct dlb_lmdb_answer *list)
{
    uint64_t n = 0;

    for (uint64_t i = 0; list->label && i < list->facts.n_keys; i++)
        if (list->label[i] >= n)
            n = (uint64_t)list->label[i] + 1;
    return n;
}

static int lmdb_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                     struct dlb_err *err)
{
    struct lmdb *ds = state;
    const struct lmdb_opts *asked = how->opts;
    const char *prefix = asked ? asked->prefix : "";
    const struct dlb_lmdb_facts *facts = &ds->list.facts;
    struct dlb_lmdb_head head;

    ds->io = how->io;
    ds->readahead = asked && asked->readahead;
    *shape = (struct dlb_shape){.n_samples = 0};
    int rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = dlb_lmdb_path(how->path, how->io, &ds->path, err);
    if (rc == DLB_OK)
        rc = dlb_lmdb_look(ds->path, ds->io, &head, err);
    if (rc == DLB_OK)
        rc = dlb_lmdb_list(&(struct dlb_lmdb_asked){ds->path, ds->io, ds->readahead, prefix}, &head,
                           &ds->list, err);
    if (rc == DLB_OK)
        rc = refuse_empty(ds, prefix, head.n_entries, err);
    if (rc != DLB_OK)
        return rc;
    shape->n_samples = facts->n_keys;
    shape->total_bytes = facts->total_bytes;
    shape->max_sample_bytes = facts->most_bytes;
    shape->n_classes = count_classes(&ds->list);
    uint64_t numbers[] = {facts->n_keys, facts->total_bytes, head.txn};
    shape->id =
        dlb_hash64(ds->list.keys, facts->n_key_bytes, dlb_hash64(numbers, sizeof numbers, 0));
    note_odd(facts, prefix, shape);
    return DLB_OK;
}

static void lmdb_close(void *state)
{
    struct lmdb *ds = state;
    free(ds->path);
    dlb_lmdb_answer_free(&ds->list);
    *ds = (struct lmdb){.path = NULL};
}

static int lmdb_reader_open(void *rd, const void *state, struct dlb_err *err)
{
    struct lmdb_reader *reader = rd;
    const struct lmdb *ds = state;

    reader->ds = ds;
    int rc = dlb_lmdb_open(&reader->env, ds->path, ds->io, ds->readahead, err);
    return rc == DLB_OK ? dlb_lmdb_begin(reader->env, &reader->txn, err) : rc;
}

static void lmdb_reader_close(void *rd)
{
    struct lmdb_reader *reader = rd;
    dlb_lmdb_end(reader->txn);
    dlb_lmdb_close(reader->env);
    free(reader->buffer);
    *reader = (struct lmdb_reader){.ds = NULL};
}

static int make_room(struct lmdb_reader *reader, size_t n_bytes, struct dlb_err *err)
{
    if (reader->buffer && n_bytes <= reader->buffer_bytes)
        return DLB_OK;
    int rc = dlb_headroom_check(n_bytes, reader->ds->path, "a value", "leave it out", err);
    if (rc != DLB_OK)
        return rc;
    free(reader->buffer);
    reader->buffer_bytes = n_bytes + n_bytes / 4 + 1;
    reader->buffer = malloc(reader->buffer_bytes);
    return reader->buffer ? DLB_OK : dlb_fail_memory(err, reader->ds->path, reader->buffer_bytes);
}

/* Always copies the value, as unpickling or np.frombuffer(...).copy() does in a training job. Bytes
 * in the map could turn to zeros while a codec reads them, when the file is cut short. */
static int lmdb_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                     struct dlb_err *err)
{
    struct lmdb_reader *reader = rd;
    const struct dlb_lmdb_answer *list = &reader->ds->list;
    struct dlb_lmdb_value value = {0};
    uint8_t *dst = dest.data;

    if (index >= list->facts.n_keys)
        DLB_BUG("sample beyond the data set");
    uint64_t start = index ? list->end[index - 1] : 0;
    int rc = dlb_lmdb_find(reader->txn, list->keys + start, (size_t)(list->end[index] - start),
                           &value, err);
    if (rc == DLB_OK && (!dst || dest.cap_bytes < value.n_bytes)) {
        rc = make_room(reader, value.n_bytes, err);
        dst = reader->buffer;
    }
    if (rc == DLB_OK)
        rc = dlb_lmdb_copy(reader->txn, &value, dst, err);
    out->field[0].data = dst;
    out->field[0].len_bytes = value.n_bytes;
    out->field[0].name = "";
    out->n_fields = 1;
    out->labelled = list->label != NULL;
    out->label = out->labelled ? list->label[index] : 0;
    out->index = index;
    out->io_bytes = value.n_bytes;
    out->path = reader->ds->path;
    out->offset_bytes = rc == DLB_OK ? value.offset_bytes : DLB_NO_OFFSET;
    return rc;
}

static void lmdb_whereabouts(const void *state, uint64_t number, char *path, size_t n_path)
{
    (void)number;
    (void)snprintf(path, n_path, "%s", ((const struct lmdb *)state)->path);
}

static uint64_t lmdb_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    if (number == 0)
        lmdb_whereabouts(state, 0, path, n_path);
    return 1;
}

static int lmdb_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_lmdb_head head;
    struct dlb_err ignored;
    char *data_path = NULL;
    int likely = 0;

    if (dlb_lmdb_path(path, io, &data_path, &ignored) == DLB_OK &&
        dlb_lmdb_look(data_path, io, &head, &ignored) == DLB_OK)
        likely = 97;
    free(data_path);
    return likely;
}

static const struct dlb_reader lmdb_reader = {
    .dataset_bytes = sizeof(struct lmdb),
    .state_bytes = sizeof(struct lmdb_reader),
    .dataset_open = lmdb_open,
    .dataset_close = lmdb_close,
    .open = lmdb_reader_open,
    .close = lmdb_reader_close,
    .read = lmdb_read,
    .whereabouts = lmdb_whereabouts,
    .files = lmdb_files,
};

static const struct dlb_generator lmdb_generator = {
    .units = dlb_lmdb_gen_units,
    .prepare = dlb_lmdb_gen_prepare,
    .unit = dlb_lmdb_gen_unit,
    .number = dlb_gen_number_by_index,
};

static const struct dlb_writer lmdb_writer = {
    .state_bytes = sizeof(struct dlb_lmdb_samples),
    .open = dlb_lmdb_writer_open,
    .add = dlb_lmdb_writer_add,
    .finish = dlb_lmdb_writer_finish,
    .close = dlb_lmdb_writer_close,
};

const struct dlb_format dlb_fmt_lmdb = {
    .name = "lmdb",
    .summary = "the values of an LMDB database, in the order of the keys",
    .opts = &group,
    .made = "data.mdb lock.mdb",
    .probe = lmdb_probe,
    .reader = &lmdb_reader,
    .generator = &lmdb_generator,
    .writer = &lmdb_writer,
};

#else

const struct dlb_format dlb_fmt_lmdb = {
    .name = "lmdb",
    .summary = "the values of an LMDB database, in the order of the keys",
    .missing = "built without LMDB",
    .opts = &group,
};

#endif
