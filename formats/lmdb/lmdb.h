/* LMDB, wrapped: environments that a process has open once, read transactions, and writing one.
 *
 * Floor 2. liblmdb trusts its file. This code checks first what it can without reading all of it:
 * both meta pages, the sizes they give, and that each value lies in the file. The map is watched,
 * so that a file that is cut short gives an error and not SIGBUS. Damaged tree pages can still
 * crash liblmdb, which checks neither offsets nor counts in them, or lead it in circles, which a
 * walk over the entries finds out. Opening a data set therefore tries everything in a child process
 * first (core/base/apart.h).
 *
 * Databases are opened read-only and without locks, as training jobs do: nothing may write to them
 * at the same time. */
#ifndef DLB_FORMATS_LMDB_LMDB_H
#define DLB_FORMATS_LMDB_LMDB_H

#include "core/base/err.h"
#include "core/base/io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_LMDB_MAX_KEY_BYTES 511 /* mdb_env_get_maxkeysize of a default build */
#define DLB_LMDB_ENTRY_BYTES 10 /* the least that the file has of an entry beside key and value */

extern const char *const dlb_lmdb_missing; /* NULL, or why this build lacks it: all calls fail */

/* What the meta pages say (struct MDB_meta of liblmdb 0.9, version 1 of the data file). */
struct dlb_lmdb_head {
    uint32_t page_bytes, flags; /* flags of the main database */
    uint64_t map_bytes, last_page, n_entries, txn;
};

/* Reads and checks them. `path` is the data file. DLB_E_FORMAT unless it is an LMDB file of this
 * machine's byte order and word size. */
int dlb_lmdb_look(const char *path, const struct dlb_io *io, struct dlb_lmdb_head *out,
                  struct dlb_err *err);

/* The data file: `path` itself, or data.mdb in the folder `path`. Malloced. */
int dlb_lmdb_path(const char *path, const struct dlb_io *io, char **out, struct dlb_err *err);

/* An environment. All callers in a process share one for each file; a child of fork() gets its own.
 * Any thread. */
struct dlb_lmdb;
int dlb_lmdb_open(struct dlb_lmdb **out, const char *data_path, const struct dlb_io *io,
                  bool readahead, struct dlb_err *err);
void dlb_lmdb_close(struct dlb_lmdb *env); /* NULL is fine */

/* A read transaction. One thread at a time; end it before closing its environment. */
struct dlb_lmdb_txn;
int dlb_lmdb_begin(struct dlb_lmdb *env, struct dlb_lmdb_txn **out, struct dlb_err *err);
void dlb_lmdb_end(struct dlb_lmdb_txn *txn); /* NULL is fine */

struct dlb_lmdb_value {
    size_t n_bytes;
    uint64_t offset_bytes; /* in the data file */
};
/* Where a key's value lies. DLB_E_FORMAT when the key is gone. */
int dlb_lmdb_find(struct dlb_lmdb_txn *txn, const void *key, size_t n_key,
                  struct dlb_lmdb_value *out, struct dlb_err *err);
/* Copies the value's bytes. DLB_E_IO when the file no longer has them. */
int dlb_lmdb_copy(struct dlb_lmdb_txn *txn, const struct dlb_lmdb_value *value, uint8_t *dst,
                  struct dlb_err *err);

/* Visits all entries whose keys begin with the prefix, in the order of the keys. Stops when `visit`
 * returns anything but DLB_OK, and returns that. DLB_ERR_LMDB_DAMAGED where keys do not ascend,
 * there are more entries than the root counts, or entries have more bytes than the file: so it
 * ends, and no entry is visited twice. */
struct dlb_lmdb_entry {
    const uint8_t *key; /* valid during the visit */
    size_t n_key, n_value;
    bool database; /* the key is the name of a database inside this one, and the value its record */
};
typedef int dlb_lmdb_visit(void *ctx, const struct dlb_lmdb_entry *entry, struct dlb_err *err);
int dlb_lmdb_walk(struct dlb_lmdb_txn *txn, const void *prefix, size_t n_prefix,
                  dlb_lmdb_visit *visit, void *ctx, struct dlb_err *err);

/* Writes a new database into the file `data_path`, with keys in ascending order. Not synced. */
struct dlb_lmdb_writer;
int dlb_lmdb_create(struct dlb_lmdb_writer **out, const char *data_path, struct dlb_err *err);
int dlb_lmdb_put(struct dlb_lmdb_writer *writer, const void *key, size_t n_key, const void *value,
                 size_t n_value, struct dlb_err *err);
int dlb_lmdb_finish(struct dlb_lmdb_writer *writer, struct dlb_err *err);
void dlb_lmdb_abandon(struct dlb_lmdb_writer *writer); /* also after finish; NULL is fine */

#endif
