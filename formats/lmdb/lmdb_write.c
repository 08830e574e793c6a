/* Writing a new database through liblmdb. */
#include "formats/lmdb/lmdb.h"

#ifdef DLB_HAVE_LMDB

#include "formats/lmdb/lmdb_fail.h"

#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dlb_lmdb_writer {
    char *path;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    uint64_t map_bytes, page_bytes;
    uint64_t used_bytes; /* of the map, before this transaction */
    uint64_t txn_bytes;  /* the most that this transaction may take */
};

enum { ENTRY_PAGES = 3 }; /* that an entry may take beside its value: a split leaf and a branch */
#define FIRST_MAP_BYTES (UINT64_C(256) << 20)
#define TXN_BYTES (UINT64_C(64) << 20) /* dirty pages that a transaction holds at most */

int dlb_lmdb_create(struct dlb_lmdb_writer **out, const char *data_path, struct dlb_err *err)
{
    struct dlb_lmdb_writer *writer = calloc(1, sizeof *writer);
    /* No other process uses it yet, and the caller syncs at the end. */
    unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC;
    int code = 0;

    *out = writer;
    if (!writer || !(writer->path = strdup(data_path)))
        return dlb_fail_memory(err, data_path, sizeof *writer + strlen(data_path) + 1);
    writer->map_bytes = FIRST_MAP_BYTES;
    writer->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE); /* as liblmdb chooses */
    code = mdb_env_create(&writer->env);
    if (code == 0)
        code = mdb_env_set_mapsize(writer->env, writer->map_bytes);
    if (code == 0)
        code = mdb_env_open(writer->env, data_path, flags, 0666);
    return code == 0 ? DLB_OK : dlb_lmdb_fail(err, data_path, code, "creating the database");
}

/* liblmdb reports EIO for a short write. Another write tells the real reason, such as a full disk.
 * The file is given up in any case. */
static int fail_write(const struct dlb_lmdb_writer *writer, int code, struct dlb_err *err)
{
    mdb_filehandle_t fd;
    struct stat st;

    if (code == EIO && mdb_env_get_fd(writer->env, &fd) == 0 && fstat(fd, &st) == 0 &&
        pwrite(fd, "", 1, st.st_size) < 0)
        code = errno;
    return dlb_lmdb_fail(err, writer->path, code, "writing");
}

static int commit(struct dlb_lmdb_writer *writer, struct dlb_err *err)
{
    MDB_txn *txn = writer->txn;

    writer->txn = NULL;
    writer->txn_bytes = 0;
    int code = txn ? mdb_txn_commit(txn) : 0;
    return code == 0 ? DLB_OK : fail_write(writer, code, err);
}

/* The map can grow only between transactions, and when it is full the whole transaction is lost. So
 * it grows before that can happen. A quarter more is for the list of free pages and other pages
 * that a commit copies. */
static int make_room(struct dlb_lmdb_writer *writer, uint64_t n_bytes, struct dlb_err *err)
{
    uint64_t most = writer->txn_bytes + n_bytes, wanted = writer->map_bytes;
    MDB_envinfo info;
    int rc = DLB_OK;

    if (writer->txn_bytes > TXN_BYTES || writer->used_bytes + most + most / 4 > wanted) {
        rc = commit(writer, err);
        (void)mdb_env_info(writer->env, &info);
        writer->used_bytes = (info.me_last_pgno + 1) * writer->page_bytes;
        while (wanted < writer->used_bytes + 2 * (TXN_BYTES + n_bytes))
            wanted *= 2;
    }
    if (rc == DLB_OK && wanted > writer->map_bytes) {
        int code = mdb_env_set_mapsize(writer->env, wanted);
        if (code != 0)
            return dlb_lmdb_fail(err, writer->path, code, "growing the map");
        writer->map_bytes = wanted;
    }
    if (rc == DLB_OK && !writer->txn) {
        int code = mdb_txn_begin(writer->env, NULL, 0, &writer->txn);
        if (code == 0)
            code = mdb_dbi_open(writer->txn, NULL, 0, &writer->dbi);
        if (code != 0)
            return dlb_lmdb_fail(err, writer->path, code, "writing");
    }
    return rc;
}

int dlb_lmdb_put(struct dlb_lmdb_writer *writer, const void *key, size_t n_key, const void *value,
                 size_t n_value, struct dlb_err *err)
{
    MDB_val mdb_key = {n_key, (void *)(uintptr_t)key},
            mdb_value = {n_value, (void *)(uintptr_t)value};
    uint64_t most = (n_value / writer->page_bytes + 1 + ENTRY_PAGES) * writer->page_bytes;

    if (n_key == 0 || n_key > DLB_LMDB_MAX_KEY_BYTES || n_value > UINT32_MAX)
        return dlb_fail(err, DLB_ERR_LMDB_ENTRY_TOO_LARGE, writer->path, DLB_NO_OFFSET,
                        "LMDB has keys of 1 to %d bytes and values below 4 GiB: these have %zu and "
                        "%zu",
                        DLB_LMDB_MAX_KEY_BYTES, n_key, n_value);
    int rc = make_room(writer, most, err);
    if (rc != DLB_OK)
        return rc;
    int code = mdb_put(writer->txn, writer->dbi, &mdb_key, &mdb_value, MDB_APPEND);
    if (code != 0)
        return dlb_lmdb_fail(err, writer->path, code,
                             code == MDB_KEYEXIST ? "keys are not in ascending order" : "writing");
    writer->txn_bytes += most;
    return DLB_OK;
}

int dlb_lmdb_finish(struct dlb_lmdb_writer *writer, struct dlb_err *err)
{
    return commit(writer, err);
}

void dlb_lmdb_abandon(struct dlb_lmdb_writer *writer)
{
    if (!writer)
        return;
    if (writer->txn)
        mdb_txn_abort(writer->txn);
    if (writer->env)
        mdb_env_close(writer->env);
    free(writer->path);
    free(writer);
}

#endif
