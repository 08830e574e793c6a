/* Reading through liblmdb: environments, transactions, keys and values. */
#include "formats/lmdb/lmdb.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_LMDB

#include "core/base/mapguard.h"
#include "formats/lmdb/lmdb_fail.h"

#include <errno.h>
#include <inttypes.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 10 };

const char *const dlb_lmdb_missing = NULL;

int dlb_lmdb_fail(struct dlb_err *err, const char *path, int code, const char *doing)
{
    bool damaged = code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID ||
                   code == MDB_VERSION_MISMATCH || code == MDB_INCOMPATIBLE;

    if (code > 0) {
        errno = code;
        (void)dlb_fail_errno(err, path, DLB_NO_OFFSET, doing);
    } else if (damaged) {
        (void)dlb_fail(err, DLB_ERR_LMDB_DAMAGED, path, DLB_NO_OFFSET,
                       "%s: %s (damaged, cut short, or written to at the same time)", doing,
                       mdb_strerror(code));
    } else {
        (void)dlb_fail(err, DLB_ERR_LMDB_FAILED, path, DLB_NO_OFFSET, "%s: %s", doing,
                       mdb_strerror(code));
    }
    err->lib_code = code;
    return (int)err->status;
}

struct dlb_lmdb {
    struct dlb_lmdb *next; /* in the list `all` */
    dev_t dev;
    ino_t ino;
    pid_t pid; /* of the process that opened it; a child of fork() must not use it */
    unsigned n_users;
    char *path;
    const struct dlb_io *io;
    int64_t handle; /* of the data file, to ask for its size */
    uint64_t file_bytes;
    MDB_env *env;
    MDB_dbi dbi;
    struct dlb_map map; /* the library's */
};

struct dlb_lmdb_txn {
    struct dlb_lmdb *env;
    MDB_txn *txn;
};

/* All environments of this process: liblmdb allows each file to be open once. */
static struct dlb_lmdb *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of fork() has its parent's maps too. */
static bool is_anothers(const uint8_t *data)
{
    const struct dlb_lmdb *env = all;

    while (env && env->map.data != data)
        env = env->next;
    return env != NULL;
}

/* Where liblmdb has put its map. Under the lock. liblmdb does not tell, but the kernel does. A line
 * of /proc/self/maps is "start-end perms offset device inode path". The file is found by its inode
 * or, on file systems that show another one there (overlayfs, btrfs), by its path. */
static const uint8_t *find_map(const struct dlb_lmdb *env, uint64_t n_bytes)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL, *real = realpath(env->path, NULL);
    const uint8_t *found = NULL;
    size_t cap = 0;

    while (maps && !found && getline(&line, &cap, maps) > 0) {
        uint64_t start, end, offset, inode;
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 " %n", &start, &end,
                   &offset, &inode, &path_at) < 4 ||
            offset != 0 || end - start != n_bytes)
            continue;
        const uint8_t *data = (const uint8_t *)(uintptr_t)start;
        if ((inode == env->ino || (real && path_at && strcmp(line + path_at, real) == 0)) &&
            !is_anothers(data))
            found = data;
    }
    free(line);
    free(real);
    if (maps)
        (void)fclose(maps);
    return found;
}

static int watch(struct dlb_lmdb *env, struct dlb_err *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    MDB_envinfo info;

    (void)mdb_env_info(env->env, &info);
    uint64_t n_bytes = (info.me_mapsize + page - 1) & ~(page - 1);
    const uint8_t *data = find_map(env, n_bytes);
    if (!data)
        return dlb_fail(err, DLB_ERR_LMDB_MAP_HIDDEN, env->path, DLB_NO_OFFSET,
                        "liblmdb's map of the file is not in /proc/self/maps: without watching it, "
                        "reading is not safe");
    int rc = dlb_map_watch(&env->map, env->io, env->handle, data, n_bytes, env->path, err);
    if (env->file_bytes < n_bytes) /* all of the map is watched; only the file can be copied */
        env->map.n_bytes = env->file_bytes;
    return rc;
}

/* Whether liblmdb may have seen a page of zeros, because the file ends before it or cannot be read.
 */
static bool has_faulted(const struct dlb_lmdb *env)
{
    return dlb_map_suspect(&env->map, UINT64_MAX);
}

/* Called where liblmdb would print a failed assertion. */
static void give_up(MDB_env *env, const char *why)
{
    (void)env, (void)why;
    abort();
}

static int open_main(struct dlb_lmdb *env, struct dlb_err *err)
{
    MDB_txn *txn = NULL;
    unsigned flags = 0;
    int code = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);

    if (code == 0)
        code = mdb_dbi_open(txn, NULL, 0, &env->dbi);
    if (code == 0)
        code = mdb_dbi_flags(txn, env->dbi, &flags);
    if (txn)
        mdb_txn_abort(txn); /* the main database's handle stays valid */
    if (code != 0)
        return dlb_lmdb_fail(err, env->path, code, "opening the main database");
    if (flags & MDB_DUPSORT)
        return dlb_fail(err, DLB_ERR_LMDB_DUPSORT, env->path, DLB_NO_OFFSET,
                        "has several values for a key (MDB_DUPSORT): a sample is a key with one "
                        "value");
    return DLB_OK;
}

static void destroy(struct dlb_lmdb *env)
{
    dlb_map_forget(&env->map);
    if (env->env)
        mdb_env_close(env->env);
    if (env->handle >= 0)
        env->io->close(env->handle);
    free(env->path);
    free(env);
}

static int open_env(struct dlb_lmdb *env, unsigned flags)
{
    int code = mdb_env_create(&env->env);

    if (code == 0)
        code = mdb_env_set_assert(env->env, give_up);
    if (code == 0)
        code = mdb_env_set_maxdbs(env->env, 1); /* for is_database */
    return code == 0 ? mdb_env_open(env->env, env->path, flags, 0) : code;
}

/* liblmdb does not repeat an open or a read that a signal ended, and takes a short read of the meta
 * pages for damage (MDB_INVALID). dlb_lmdb_look has found them whole. After a failure the
 * environment can only be closed. */
static int open_patiently(struct dlb_lmdb *env, unsigned flags)
{
    int code = open_env(env, flags);

    for (int tries = 1; tries < MAX_TRIES && (code == EINTR || code == MDB_INVALID); tries++) {
        mdb_env_close(env->env);
        env->env = NULL;
        code = open_env(env, flags);
    }
    return code;
}

static int create(struct dlb_lmdb **out, const char *path, const struct dlb_io *io,
                  const struct stat *st, bool readahead, struct dlb_err *err)
{
    struct dlb_lmdb_head head;
    struct dlb_lmdb *env = calloc(1, sizeof *env);

    *out = NULL;
    if (!env)
        return dlb_fail_memory(err, path, sizeof *env);
    *env = (struct dlb_lmdb){.dev = st->st_dev,
                             .ino = st->st_ino,
                             .pid = getpid(),
                             .n_users = 1,
                             .path = strdup(path),
                             .io = io,
                             .handle = -1};
    int rc = env->path ? dlb_lmdb_look(path, io, &head, err)
                       : dlb_fail_memory(err, path, strlen(path) + 1);
    if (rc == DLB_OK && (rc = io->open(path, &env->handle, err)) != DLB_OK)
        env->handle = -1;
    if (rc == DLB_OK)
        rc = io->size(env->handle, &env->file_bytes, path, err);
    if (rc == DLB_OK) {
        unsigned flags = MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR | MDB_NOTLS;
        int code = open_patiently(env, flags | (readahead ? 0 : MDB_NORDAHEAD));
        rc = code == 0 ? DLB_OK : dlb_lmdb_fail(err, path, code, "opening the database");
    }
    if (rc == DLB_OK)
        rc = watch(env, err);
    if (rc == DLB_OK)
        rc = open_main(env, err);
    if (rc != DLB_OK)
        destroy(env);
    else
        *out = env;
    return rc;
}

int dlb_lmdb_open(struct dlb_lmdb **out, const char *data_path, const struct dlb_io *io,
                  bool readahead, struct dlb_err *err)
{
    struct dlb_lmdb *env;
    struct stat st;
    int rc = DLB_OK;

    *out = NULL;
    if (stat(data_path, &st) != 0)
        return dlb_fail_errno(err, data_path, DLB_NO_OFFSET, "looking for the file");
    (void)pthread_mutex_lock(&lock);
    for (env = all; env; env = env->next)
        if (env->pid == getpid() && env->dev == st.st_dev && env->ino == st.st_ino)
            break;
    if (env) {
        env->n_users++;
    } else {
        rc = create(&env, data_path, io, &st, readahead, err);
        if (rc == DLB_OK) {
            env->next = all;
            all = env;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    *out = env;
    return rc;
}

void dlb_lmdb_close(struct dlb_lmdb *env)
{
    if (!env)
        return;
    (void)pthread_mutex_lock(&lock);
    if (--env->n_users == 0) {
        for (struct dlb_lmdb **at = &all; *at; at = &(*at)->next)
            if (*at == env) {
                *at = env->next;
                break;
            }
        destroy(env);
    }
    (void)pthread_mutex_unlock(&lock);
}

int dlb_lmdb_begin(struct dlb_lmdb *env, struct dlb_lmdb_txn **out, struct dlb_err *err)
{
    struct dlb_lmdb_txn *txn = calloc(1, sizeof *txn);

    *out = NULL;
    if (!txn)
        return dlb_fail_memory(err, env->path, sizeof *txn);
    txn->env = env;
    int code = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn->txn);
    if (code != 0) {
        free(txn);
        return dlb_lmdb_fail(err, env->path, code, "beginning a read transaction");
    }
    *out = txn;
    return DLB_OK;
}

void dlb_lmdb_end(struct dlb_lmdb_txn *txn)
{
    if (txn)
        mdb_txn_abort(txn->txn);
    free(txn);
}

/* When a page cannot be read, liblmdb sees zeros and reports damage. This tells the two apart. */
static int fail_read(const struct dlb_lmdb *env, int code, const char *doing, struct dlb_err *err)
{
    uint64_t file_bytes = 0;

    if (!has_faulted(env))
        return dlb_lmdb_fail(err, env->path, code, doing);
    int rc = env->io->size(env->handle, &file_bytes, env->path, err);
    if (rc == DLB_OK && file_bytes == env->file_bytes)
        rc = dlb_fail(err, DLB_ERR_LMDB_DAMAGED, env->path, DLB_NO_OFFSET,
                      "damaged: pages refer to others beyond the end of the file; or the storage "
                      "cannot be read");
    else if (rc == DLB_OK)
        rc = dlb_fail(err, DLB_ERR_FILE_CHANGED, env->path, file_bytes,
                      "the file was cut short since it was opened: it had %" PRIu64 " bytes",
                      env->file_bytes);
    return rc;
}

/* Where a key or value lies in the file. */
static int place(const struct dlb_lmdb *env, const MDB_val *value, struct dlb_lmdb_value *out,
                 struct dlb_err *err)
{
    uint64_t at = (uint64_t)((uintptr_t)value->mv_data - (uintptr_t)env->map.data);

    if (at > env->map.n_bytes || value->mv_size > env->map.n_bytes - at)
        return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, env->path, env->file_bytes,
                        "damaged or cut short: a value of %zu bytes does not lie in the file",
                        value->mv_size);
    *out = (struct dlb_lmdb_value){value->mv_size, at};
    return DLB_OK;
}

int dlb_lmdb_find(struct dlb_lmdb_txn *txn, const void *key, size_t n_key,
                  struct dlb_lmdb_value *out, struct dlb_err *err)
{
    uint64_t aligned[(DLB_LMDB_MAX_KEY_BYTES + 7) / 8]; /* keys may be integers (MDB_INTEGERKEY) */
    MDB_val mdb_key = {n_key, aligned}, value;

    if (n_key > sizeof aligned)
        DLB_BUG("a key longer than LMDB's are");
    memcpy(aligned, key, n_key);
    int code = mdb_get(txn->txn, txn->env->dbi, &mdb_key, &value);
    if (code == MDB_NOTFOUND && !has_faulted(txn->env))
        return dlb_fail(err, DLB_ERR_LMDB_KEY_GONE, txn->env->path, DLB_NO_OFFSET,
                        "key \"%.*s\" is gone: the database was written to since it was opened",
                        DLB_CUT_KEY((const char *)key, n_key, 100));
    if (code != 0)
        return fail_read(txn->env, code, "looking up a key", err);
    return place(txn->env, &value, out, err);
}

int dlb_lmdb_copy(struct dlb_lmdb_txn *txn, const struct dlb_lmdb_value *value, uint8_t *dst,
                  struct dlb_err *err)
{
    return dlb_map_copy(&txn->env->map, dst, value->offset_bytes, value->n_bytes, err);
}

/* Whether the key is the name of a database inside this one. liblmdb tells by a flag of the entry
 * that only opening it shows; its value is a record of RECORD_BYTES (MDB_db of mdb.c). */
static bool is_database(MDB_cursor *cursor, const MDB_val *key, const MDB_val *value)
{
    enum { RECORD_BYTES = 48 };
    char name[DLB_LMDB_MAX_KEY_BYTES + 1];
    MDB_txn *txn = mdb_cursor_txn(cursor);
    MDB_dbi dbi;

    if (value->mv_size != RECORD_BYTES || memchr(key->mv_data, '\0', key->mv_size))
        return false;
    memcpy(name, key->mv_data, key->mv_size);
    name[key->mv_size] = '\0';
    if (mdb_dbi_open(txn, name, 0, &dbi) != 0)
        return false;
    mdb_dbi_close(mdb_txn_env(txn), dbi);
    return true;
}

/* The entries that a walk has seen. A hostile tree can lead to the same pages again and again, in
 * more ways than a walk could ever end. Keys then do not ascend, or there are more entries than the
 * root counts, or than the file has room for. */
struct course {
    uint64_t n_entries, n_bytes;
    uint64_t n_most; /* entries, by the root */
    /* Of this entry and the one before, in turn. Aligned: mdb_cmp may compare integers. Whole:
     * it may read as much of one key as the other has. */
    uint64_t key[2][(DLB_LMDB_MAX_KEY_BYTES + 7) / 8];
    size_t n_key[2];
};

static int begin_course(MDB_cursor *cursor, const struct dlb_lmdb *env, struct course *course,
                        struct dlb_err *err)
{
    MDB_stat about;
    int code = mdb_stat(mdb_cursor_txn(cursor), env->dbi, &about);

    *course = (struct course){.n_most = about.ms_entries};
    return code == 0 ? DLB_OK : dlb_lmdb_fail(err, env->path, code, "asking for its size");
}

/* Takes the next entry, whose key is at most DLB_LMDB_MAX_KEY_BYTES long. */
static int take(struct course *course, MDB_cursor *cursor, const struct dlb_lmdb *env,
                const MDB_val *key, const MDB_val *value, uint64_t at, struct dlb_err *err)
{
    unsigned now = course->n_entries % 2, before = !now;
    MDB_val this = {key->mv_size, course->key[now]};
    MDB_val last = {course->n_key[before], course->key[before]};

    memcpy(course->key[now], key->mv_data, key->mv_size);
    course->n_key[now] = key->mv_size;
    if (course->n_entries++ > 0 && mdb_cmp(mdb_cursor_txn(cursor), env->dbi, &last, &this) >= 0)
        return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, env->path, at,
                        "damaged: key \"%.*s\" does not come after the one before it",
                        DLB_CUT_KEY((const char *)key->mv_data, key->mv_size, 100));
    if (course->n_entries > course->n_most)
        return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, env->path, at,
                        "damaged: it has more entries than the %" PRIu64 " that it gives",
                        course->n_most);
    course->n_bytes += DLB_LMDB_ENTRY_BYTES + key->mv_size + value->mv_size;
    if (course->n_bytes > env->file_bytes)
        return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, env->path, at,
                        "damaged: its first %" PRIu64 " entries have more bytes than the file, "
                        "which has %" PRIu64,
                        course->n_entries, env->file_bytes);
    return DLB_OK;
}

static int visit_one(struct dlb_lmdb *env, MDB_cursor *cursor, struct course *course,
                     const MDB_val *key, const MDB_val *value, dlb_lmdb_visit *visit, void *ctx,
                     struct dlb_err *err)
{
    struct dlb_lmdb_value at = {.offset_bytes = DLB_NO_OFFSET}, ignored;
    int rc = place(env, key, &at, err);

    if (rc == DLB_OK)
        rc = place(env, value, &ignored, err);
    if (rc == DLB_OK)
        rc = take(course, cursor, env, key, value, at.offset_bytes, err);
    if (rc == DLB_OK)
        rc = visit(ctx,
                   &(struct dlb_lmdb_entry){key->mv_data, key->mv_size, value->mv_size,
                                            is_database(cursor, key, value)},
                   err);
    return rc;
}

static int walk(struct dlb_lmdb *env, MDB_cursor *cursor, const void *prefix, size_t n_prefix,
                dlb_lmdb_visit *visit, void *ctx, struct dlb_err *err)
{
    MDB_val key = {n_prefix, (void *)(uintptr_t)prefix}, value;
    struct dlb_lmdb_value ignored;
    struct course course;
    int rc = begin_course(cursor, env, &course, err);
    if (rc != DLB_OK)
        return rc;
    int code = mdb_cursor_get(cursor, &key, &value, n_prefix ? MDB_SET_RANGE : MDB_FIRST);

    for (; code == 0; code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        if (key.mv_size > DLB_LMDB_MAX_KEY_BYTES)
            return dlb_fail(err, DLB_ERR_LMDB_DAMAGED, env->path, DLB_NO_OFFSET,
                            "damaged, or of an unusual build of LMDB: a key of %zu bytes",
                            key.mv_size);
        rc = place(env, &key, &ignored, err);
        if (rc == DLB_OK && n_prefix &&
            (key.mv_size < n_prefix || memcmp(key.mv_data, prefix, n_prefix) != 0))
            break;
        if (rc == DLB_OK)
            rc = visit_one(env, cursor, &course, &key, &value, visit, ctx, err);
        if (rc != DLB_OK)
            return rc;
    }
    if (has_faulted(env))
        return fail_read(env, MDB_CORRUPTED, "listing the keys", err);
    return code == 0 || code == MDB_NOTFOUND ? DLB_OK
                                             : fail_read(env, code, "listing the keys", err);
}

int dlb_lmdb_walk(struct dlb_lmdb_txn *txn, const void *prefix, size_t n_prefix,
                  dlb_lmdb_visit *visit, void *ctx, struct dlb_err *err)
{
    MDB_cursor *cursor = NULL;
    int code = mdb_cursor_open(txn->txn, txn->env->dbi, &cursor);

    if (code != 0)
        return fail_read(txn->env, code, "listing the keys", err);
    int rc = walk(txn->env, cursor, prefix, n_prefix, visit, ctx, err);
    mdb_cursor_close(cursor);
    return rc;
}

#endif
