/* LMDB in a build without liblmdb: every call fails and says so. */
#include "formats/lmdb/lmdb.h"

#ifndef DLB_HAVE_LMDB

const char *const dlb_lmdb_missing = "built without LMDB";

static int missing(const char *path, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_MISSING, path, DLB_NO_OFFSET, "%s", dlb_lmdb_missing);
}

int dlb_lmdb_open(struct dlb_lmdb **out, const char *data_path, const struct dlb_io *io,
                  bool readahead, struct dlb_err *err)
{
    (void)io, (void)readahead;
    *out = NULL;
    return missing(data_path, err);
}

void dlb_lmdb_close(struct dlb_lmdb *env)
{
    (void)env;
}

int dlb_lmdb_begin(struct dlb_lmdb *env, struct dlb_lmdb_txn **out, struct dlb_err *err)
{
    (void)env;
    *out = NULL;
    return missing(NULL, err);
}

void dlb_lmdb_end(struct dlb_lmdb_txn *txn)
{
    (void)txn;
}

int dlb_lmdb_find(struct dlb_lmdb_txn *txn, const void *key, size_t n_key,
                  struct dlb_lmdb_value *out, struct dlb_err *err)
{
    (void)txn, (void)key, (void)n_key, (void)out;
    return missing(NULL, err);
}

int dlb_lmdb_copy(struct dlb_lmdb_txn *txn, const struct dlb_lmdb_value *value, uint8_t *dst,
                  struct dlb_err *err)
{
    (void)txn, (void)value, (void)dst;
    return missing(NULL, err);
}

int dlb_lmdb_walk(struct dlb_lmdb_txn *txn, const void *prefix, size_t n_prefix,
                  dlb_lmdb_visit *visit, void *ctx, struct dlb_err *err)
{
    (void)txn, (void)prefix, (void)n_prefix, (void)visit, (void)ctx;
    return missing(NULL, err);
}

int dlb_lmdb_create(struct dlb_lmdb_writer **out, const char *data_path, struct dlb_err *err)
{
    *out = NULL;
    return missing(data_path, err);
}

int dlb_lmdb_put(struct dlb_lmdb_writer *writer, const void *key, size_t n_key, const void *value,
                 size_t n_value, struct dlb_err *err)
{
    (void)writer, (void)key, (void)n_key, (void)value, (void)n_value;
    return missing(NULL, err);
}

int dlb_lmdb_finish(struct dlb_lmdb_writer *writer, struct dlb_err *err)
{
    (void)writer;
    return missing(NULL, err);
}

void dlb_lmdb_abandon(struct dlb_lmdb_writer *writer)
{
    (void)writer;
}

#endif
