/* Which files are shards of TFRecords, and how many records each has. */
#include "formats/tfrecord/tfrecord.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One block holds the heads of several small records. The threads hide a disk's latency. */
enum { SCAN_BLOCK_BYTES = 4096, SCAN_THREADS = 8, MAX_PROBED = 8 };

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Whether it is named as TensorFlow names shards: train-00000-of-01024. */
static bool is_one_of_many(const char *name)
{
    const char *of = strstr(name, "-of-");
    size_t n = 0;

    if (!of || of - name < 6 || of[-6] != '-')
        return false;
    for (const char *c = of - 5; c < of; c++)
        n += isdigit((unsigned char)*c) != 0;
    for (const char *c = of + 4; c < of + 9 && *c; c++)
        n += isdigit((unsigned char)*c) != 0;
    return n == 10;
}

static bool is_compressed(const char *name)
{
    return ends_with(name, ".gz") || ends_with(name, ".zlib") || ends_with(name, ".gzip");
}

static bool is_shard(const char *name)
{
    if (ends_with(name, ".idx") || ends_with(name, ".index") || ends_with(name, ".json"))
        return false; /* DALI's indexes, descriptions */
    return strstr(name, ".tfrecord") || ends_with(name, ".tfrec") || is_one_of_many(name);
}

static int add(struct dlb_tfr_list *list, char *path, struct dlb_err *err)
{
    if (path && list->n == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 16;
        struct dlb_tfr_shard *grown = realloc(list->shard, cap * sizeof *grown);
        if (grown) {
            list->shard = grown;
            list->cap = cap;
        }
    }
    if (!path || list->n == list->cap) {
        free(path);
        return dlb_fail_memory(err, NULL, (list->n + 1) * sizeof *list->shard);
    }
    list->shard[list->n++] = (struct dlb_tfr_shard){.path = path};
    return DLB_OK;
}

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct dlb_tfr_list *list = ctx;
    enum dlb_entry_role role;
    int rc = dlb_left_out_see(&list->left_out, entry, &role, err);

    if (rc != DLB_OK || role == DLB_ENTRY_NOTED)
        return rc;
    if (role == DLB_ENTRY_OTHER) {
        list->n_other++;
        return DLB_OK;
    }
    if (is_compressed(entry->name)) {
        list->n_compressed++;
        return DLB_OK;
    }
    return add(list, dlb_path_join(list->left_out.folder, entry->name), err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dlb_tfr_shard *)a)->path, ((const struct dlb_tfr_shard *)b)->path);
}

static int list_files(struct dlb_tfr_list *list, const char *path, const struct dlb_io *io,
                      bool probes, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    int rc = io->stat(path, &kind, &n_bytes, err);
    if (rc != DLB_OK)
        return rc;
    if (kind != DLB_IO_DIR)
        return add(list, strdup(path), err);
    list->left_out =
        (struct dlb_left_out){.io = io, .folder = path, .is_shard = is_shard, .probes = probes};
    rc = io->list(path, visit, list, err);
    if (rc == DLB_OK && list->n > 1)
        qsort(list->shard, list->n, sizeof *list->shard, by_path);
    if (rc == DLB_OK && list->n == 0)
        rc = list->n_compressed
                 ? dlb_fail(err, DLB_ERR_TFRECORD_COMPRESSED, path, DLB_NO_OFFSET,
                            "holds only compressed TFRecords (%u): gunzip them", list->n_compressed)
                 : dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET,
                            "holds no TFRecords (*.tfrecord*, *.tfrec, *-00000-of-00001)");
    return rc;
}

static void scan_one(struct dlb_tfr *tfr, const struct dlb_io *io, struct dlb_tfr_shard *shard)
{
    uint64_t n_bytes;
    int rc = dlb_tfr_open(tfr, io, shard->path, SCAN_BLOCK_BYTES, &shard->problem);

    if (rc == DLB_OK)
        shard->file_bytes = tfr->file_bytes;
    while (rc == DLB_OK && (rc = dlb_tfr_look(tfr, &n_bytes, &shard->problem)) == DLB_OK) {
        shard->n_records++;
        shard->n_bytes += n_bytes;
        if (n_bytes > shard->max_bytes)
            shard->max_bytes = n_bytes;
        dlb_tfr_skip(tfr, n_bytes);
    }
    dlb_tfr_close(tfr);
}

struct scan {
    const struct dlb_io *io;
    struct dlb_tfr_list *list;
    _Atomic uint32_t next;
};

static void *scan_main(void *arg)
{
    struct scan *scan = arg;
    struct dlb_tfr tfr = {.handle = -1};

    for (uint32_t i; (i = atomic_fetch_add(&scan->next, 1)) < scan->list->n;)
        scan_one(&tfr, scan->io, &scan->list->shard[i]);
    dlb_tfr_free(&tfr);
    return NULL;
}

int dlb_tfr_list_make(struct dlb_tfr_list *list, const char *path, const struct dlb_io *io,
                      struct dlb_err *err)
{
    struct scan scan = {.io = io, .list = list};
    pthread_t threads[SCAN_THREADS];
    uint32_t n_started = 0;
    int rc = list_files(list, path, io, false, err);

    if (rc != DLB_OK)
        return rc;
    /* The calling thread scans too. With fewer threads than wanted it only takes longer. */
    while (n_started + 1 < SCAN_THREADS && n_started + 1 < list->n &&
           pthread_create(&threads[n_started], NULL, scan_main, &scan) == 0)
        n_started++;
    (void)scan_main(&scan);
    for (uint32_t i = 0; i < n_started; i++)
        (void)pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < list->n; i++)
        if (list->shard[i].problem.status == DLB_E_NOMEM) {
            *err = list->shard[i].problem;
            return DLB_E_NOMEM;
        }
    return DLB_OK;
}

void dlb_tfr_list_free(struct dlb_tfr_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        free(list->shard[i].path);
    free(list->shard);
    dlb_left_out_free(&list->left_out);
    *list = (struct dlb_tfr_list){.n = 0};
}

/* Other data have a length with a valid CRC only by accident, 1 in 2^32. Asks the first shard that
 * opens, of a few. */
int dlb_tfr_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_tfr_list list = {.n = 0};
    struct dlb_tfr tfr = {.handle = -1};
    struct dlb_err ignored;
    uint64_t n_bytes;
    int likely = 0;
    int rc = list_files(&list, path, io, true, &ignored);

    for (uint32_t i = 0; rc == DLB_OK && i < list.n && i < MAX_PROBED; i++) {
        if (dlb_tfr_open(&tfr, io, list.shard[i].path, SCAN_BLOCK_BYTES, &ignored) != DLB_OK)
            continue;
        likely = dlb_tfr_look(&tfr, &n_bytes, &ignored) == DLB_OK ? 95 : 0;
        break;
    }
    dlb_tfr_free(&tfr);
    dlb_tfr_list_free(&list);
    return likely;
}
