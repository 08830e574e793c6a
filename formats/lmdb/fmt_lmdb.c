/* LMDB: values are samples, in the order of the keys, and each can be read by its number.
 *
 * Opening lists the keys and keeps them, 8 bytes and the key for each. A training job that makes
 * its keys by "%08d" needs no list, but with that only such databases could be read. An environment
 * cannot be used across fork(): open closes its own, and each reading process opens one that its
 * threads share. */
#include "core/base/escape.h"
#include "formats/format.h"
#include "formats/generate/mark.h"

#include "formats/lmdb/lmdb.h"
#include "formats/lmdb/write.h"

struct lmdb_opts {
    bool readahead;
    char prefix[DLB_OPT_STRING_CAP];
};

static const struct dlb_opt opts[] = {
    {.key = "readahead",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct lmdb_opts, readahead),
     .def = "false",
     .help = "let the kernel read ahead; training jobs that shuffle turn it off (MDB_NORDAHEAD)"},
    {.key = "prefix",
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct lmdb_opts, prefix),
     .def = "",
     .help = "read only keys that begin with this; empty: all but those named __...__"},
    DLB_OPT_END,
};
static const struct dlb_opt_group group = {"lmdb", "LMDB databases", opts,
                                           sizeof(struct lmdb_opts)};

#ifdef DLB_HAVE_LMDB

#include "core/base/apart.h"
#include "core/base/hash.h"
#include "core/base/pulse.h"
#include "formats/headroom.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct keys {
    uint8_t *bytes; /* all keys, back to back */
    uint64_t *end;  /* [n] where each ends in bytes */
    uint64_t n, n_cap, n_bytes, bytes_cap;
};

struct lmdb {
    const struct dlb_io *io;
    char *path; /* of the data file */
    bool readahead;
    struct keys keys;
    uint32_t *labels; /* [keys.n], or NULL: all 0 */
};

struct lmdb_reader {
    const struct lmdb *ds;
    struct dlb_lmdb *env;
    struct dlb_lmdb_txn *txn;
    uint8_t *buffer;
    size_t buffer_bytes;
};

static int grow(void **array, uint64_t *cap, uint64_t each_bytes, const char *path,
                struct dlb_err *err)
{
    uint64_t wanted = *cap ? *cap * 2 : 4096;
    int rc = dlb_headroom_check(wanted * each_bytes, path, "the list of its keys",
                                "read it in parts, with lmdb.prefix", err);
    void *grown = rc == DLB_OK ? realloc(*array, wanted * each_bytes) : NULL;
    if (rc == DLB_OK && !grown)
        rc = dlb_fail_memory(err, path, wanted * each_bytes);
    if (rc == DLB_OK) {
        *array = grown;
        *cap = wanted;
    }
    return rc;
}

static int add_key(struct keys *keys, const uint8_t *key, size_t n_key, const char *path,
                   struct dlb_err *err)
{
    int rc = DLB_OK;

    if (keys->n == keys->n_cap)
        rc = grow((void **)&keys->end, &keys->n_cap, sizeof *keys->end, path, err);
    if (rc == DLB_OK && keys->bytes_cap - keys->n_bytes < n_key)
        rc = grow((void **)&keys->bytes, &keys->bytes_cap, 1, path, err);
    if (rc != DLB_OK)
        return rc;
    memcpy(keys->bytes + keys->n_bytes, key, n_key);
    keys->n_bytes += n_key;
    keys->end[keys->n++] = keys->n_bytes;
    return DLB_OK;
}

struct listing {
    struct lmdb *ds;
    struct dlb_shape *shape;
    const char *prefix;
    bool all;      /* no prefix: keys about the database are ignored */
    bool labelled; /* there is a value with labels */
    uint64_t n_about, n_empty, n_databases;
    char database[64]; /* the first one's name */
};

/* Whether it is a key such as "__len__" or "__keys__", which says something about the samples. */
static bool is_about(const uint8_t *key, size_t n)
{
    return n > 4 && key[0] == '_' && key[1] == '_' && key[n - 1] == '_' && key[n - 2] == '_';
}

static int visit(void *ctx, const struct dlb_lmdb_entry *entry, struct dlb_err *err)
{
    struct listing *listing = ctx;
    struct dlb_shape *shape = listing->shape;
    const uint8_t *key = entry->key;
    size_t n_key = entry->n_key, n_value = entry->n_value;

    dlb_pulse_sign(dlb_pulse_opening);
    if (entry->database) {
        if (listing->n_databases++ == 0)
            (void)snprintf(listing->database, sizeof listing->database, "%.*s",
                           DLB_CUT_KEY((const char *)key, n_key, 60));
        return DLB_OK;
    }
    if (listing->all && is_about(key, n_key)) {
        bool labels =
            n_key == strlen(DLB_LMDB_LABELS_KEY) && memcmp(key, DLB_LMDB_LABELS_KEY, n_key) == 0;
        listing->labelled |= labels;
        listing->n_about += !labels;
        return DLB_OK;
    }
    listing->n_empty += n_value == 0;
    shape->total_bytes += n_value;
    if (n_value > shape->max_sample_bytes)
        shape->max_sample_bytes = n_value;
    return add_key(&listing->ds->keys, key, n_key, listing->ds->path, err);
}

/* A value that does not hold a number for each sample was written by another program, and is
 * ignored. */
static int read_labels(struct listing *listing, struct dlb_lmdb_txn *txn, struct dlb_err *err)
{
    struct lmdb *ds = listing->ds;
    struct dlb_lmdb_value value;
    uint32_t most = 0;
    int rc = dlb_lmdb_find(txn, DLB_LMDB_LABELS_KEY, strlen(DLB_LMDB_LABELS_KEY), &value, err);

    if (rc != DLB_OK || ds->keys.n == 0 || value.n_bytes != ds->keys.n * sizeof *ds->labels) {
        listing->n_about++;
        return rc;
    }
    ds->labels = malloc(value.n_bytes);
    if (!ds->labels)
        return dlb_fail_memory(err, ds->path, value.n_bytes);
    rc = dlb_lmdb_copy(txn, &value, (uint8_t *)ds->labels, err);
    for (uint64_t i = 0; rc == DLB_OK && i < ds->keys.n; i++) {
        ds->labels[i] = le32toh(ds->labels[i]);
        most = ds->labels[i] > most ? ds->labels[i] : most;
    }
    listing->shape->n_classes = (uint64_t)most + 1;
    return rc;
}

/* Looks up every key once, as readers will. liblmdb trusts what it finds in the tree, so that this
 * runs in a process that may crash. */
static int find_all(const struct lmdb *ds, struct dlb_lmdb_txn *txn, struct dlb_err *err)
{
    struct dlb_lmdb_value ignored;
    int rc = DLB_OK;

    for (uint64_t i = 0, start = 0; rc == DLB_OK && i < ds->keys.n; start = ds->keys.end[i++]) {
        dlb_pulse_sign(dlb_pulse_opening);
        rc = dlb_lmdb_find(txn, ds->keys.bytes + start, (size_t)(ds->keys.end[i] - start), &ignored,
                           err);
    }
    return rc;
}

static int list_keys(void *ctx, struct dlb_err *err)
{
    struct listing *listing = ctx;
    struct lmdb *ds = listing->ds;
    struct dlb_lmdb *env = NULL;
    struct dlb_lmdb_txn *txn = NULL;
    int rc = dlb_lmdb_open(&env, ds->path, ds->io, ds->readahead, err);

    if (rc == DLB_OK)
        rc = dlb_lmdb_begin(env, &txn, err);
    if (rc == DLB_OK)
        rc = dlb_lmdb_walk(txn, listing->prefix, strlen(listing->prefix), visit, listing, err);
    if (rc == DLB_OK && listing->labelled)
        rc = read_labels(listing, txn, err);
    if (rc == DLB_OK)
        rc = find_all(ds, txn, err);
    dlb_lmdb_end(txn);
    dlb_lmdb_close(env);
    return rc;
}

static bool pass_keys(void *ctx, struct dlb_pipe *pipe)
{
    struct listing *listing = ctx;
    struct keys *keys = &listing->ds->keys;
    bool labels = listing->ds->labels != NULL;

    return dlb_pass(pipe, listing->shape, sizeof *listing->shape) &&
           dlb_pass(pipe, &listing->n_about, sizeof listing->n_about) &&
           dlb_pass(pipe, &listing->n_empty, sizeof listing->n_empty) &&
           dlb_pass(pipe, &listing->n_databases, sizeof listing->n_databases) &&
           dlb_pass(pipe, listing->database, sizeof listing->database) &&
           dlb_pass(pipe, &keys->n, sizeof keys->n) &&
           dlb_pass(pipe, &keys->n_bytes, sizeof keys->n_bytes) &&
           dlb_pass(pipe, &labels, sizeof labels) &&
           dlb_pass_array(pipe, (void **)&keys->end, keys->n, sizeof *keys->end) &&
           dlb_pass_array(pipe, (void **)&keys->bytes, keys->n_bytes, 1) &&
           dlb_pass_array(pipe, (void **)&listing->ds->labels, labels ? keys->n : 0,
                          sizeof *listing->ds->labels);
}

static int look_apart(struct listing *listing, struct dlb_err *err)
{
    struct dlb_apart how = {.path = listing->ds->path,
                            .who = "liblmdb",
                            .work = list_keys,
                            .pass = pass_keys,
                            .ctx = listing,
                            .sandboxed = true};
    return dlb_apart(&how, err);
}

static int lmdb_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                     struct dlb_err *err)
{
    struct lmdb *ds = state;
    const struct lmdb_opts *asked = how->opts;
    const char *prefix = asked ? asked->prefix : "";
    struct listing listing = {.ds = ds, .shape = shape, .prefix = prefix, .all = prefix[0] == '\0'};
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
        rc = look_apart(&listing, err);
    if (rc != DLB_OK)
        return rc;
    shape->n_samples = ds->keys.n;
    if (ds->keys.n == 0 && listing.n_databases)
        return dlb_fail(err, DLB_ERR_LMDB_NAMED, ds->path, DLB_NO_OFFSET,
                        "holds %" PRIu64 " named database%s (\"%s\") and nothing beside: only the "
                        "unnamed one is read",
                        listing.n_databases, listing.n_databases == 1 ? "" : "s", listing.database);
    if (ds->keys.n == 0 && prefix[0] && head.n_entries > 0)
        return dlb_fail(err, DLB_ERR_LMDB_NO_SUCH_PREFIX, ds->path, DLB_NO_OFFSET,
                        "lmdb.prefix = \"%.*s\": none of the %" PRIu64 " keys begins with it",
                        DLB_CUT(prefix, 200), head.n_entries);
    uint64_t numbers[] = {ds->keys.n, shape->total_bytes, head.txn};
    shape->id =
        dlb_hash64(ds->keys.bytes, ds->keys.n_bytes, dlb_hash64(numbers, sizeof numbers, 0));
    if (listing.n_about)
        dlb_shape_odd(shape,
                      listing.n_about == 1
                          ? "%" PRIu64 " key named __...__ is about the database and ignored"
                          : "%" PRIu64 " keys named __...__ are about the database and ignored",
                      listing.n_about);
    if (listing.n_databases)
        dlb_shape_odd(shape,
                      listing.n_databases == 1
                          ? "%" PRIu64 " named database (\"%s\") is not read"
                          : "%" PRIu64 " named databases (\"%s\" and others) are not read",
                      listing.n_databases, listing.database);
    if (listing.n_empty)
        dlb_shape_odd(shape,
                      listing.n_empty == 1 ? "%" PRIu64 " value is empty"
                                           : "%" PRIu64 " values are empty",
                      listing.n_empty);
    return DLB_OK;
}

static void lmdb_close(void *state)
{
    struct lmdb *ds = state;
    free(ds->path);
    free(ds->keys.bytes);
    free(ds->keys.end);
    free(ds->labels);
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
    const struct keys *keys = &reader->ds->keys;
    struct dlb_lmdb_value value = {0};
    uint8_t *dst = dest.data;

    if (index >= keys->n)
        DLB_BUG("sample beyond the data set");
    uint64_t start = index ? keys->end[index - 1] : 0;
    int rc = dlb_lmdb_find(reader->txn, keys->bytes + start, (size_t)(keys->end[index] - start),
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
    out->labelled = reader->ds->labels != NULL;
    out->label = out->labelled ? reader->ds->labels[index] : 0;
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
