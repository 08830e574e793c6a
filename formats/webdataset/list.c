#include "formats/webdataset/list.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "formats/generate/manifest.h"
#include "formats/generate/mark.h"
#include "formats/webdataset/braces.h"
#include "formats/webdataset/odd.h"
#include "formats/webdataset/told.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcasecmp(name + n - m, end) == 0;
}

int dlb_wds_pack_of_name(const char *name)
{
    if (ends_with(name, ".tar"))
        return DLB_TAR_PLAIN;
    if (ends_with(name, ".tar.gz") || ends_with(name, ".tgz"))
        return DLB_TAR_GZ;
    return ends_with(name, ".tar.zst") || ends_with(name, ".tzst") ? DLB_TAR_ZST : -1;
}

static bool is_left_out(const char *name)
{
    static const char *const ends[] = {".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar.lz4", NULL};
    for (size_t i = 0; ends[i]; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

static bool is_shard(const char *name)
{
    return dlb_wds_pack_of_name(name) >= 0 || is_left_out(name);
}

struct visit {
    struct dlb_wds_list *list;
    struct dlb_left_out left_out;
};

static int add(struct dlb_wds_list *list, char *path, uint64_t n_bytes, struct dlb_err *err)
{
    if (path && list->n_shards == list->cap_shards) {
        uint32_t cap = list->cap_shards ? list->cap_shards * 2 : 16;
        struct dlb_wds_shard *grown = realloc(list->shards, cap * sizeof *grown);
        if (grown) {
            list->shards = grown;
            list->cap_shards = cap;
        }
    }
    if (!path || list->n_shards == list->cap_shards) {
        free(path);
        return dlb_fail_memory(err, NULL,
                               2 * ((uint64_t)list->cap_shards + 1) * sizeof *list->shards);
    }
    int pack = dlb_wds_pack_of_name(path);
    list->shards[list->n_shards++] =
        (struct dlb_wds_shard){.path = path,
                               .file_bytes = n_bytes,
                               .pack = pack < 0 ? DLB_TAR_PLAIN : (enum dlb_tar_pack)pack};
    return DLB_OK;
}

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct visit *v = ctx;
    enum dlb_entry_role role;
    int rc = dlb_left_out_see(&v->left_out, entry, &role, err);

    if (rc != DLB_OK || role != DLB_ENTRY_SHARD)
        return rc;
    if (dlb_wds_pack_of_name(entry->name) >= 0)
        return add(v->list, dlb_path_join(v->left_out.folder, entry->name), entry->n_bytes, err);
    v->list->n_left_out++;
    return DLB_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dlb_wds_shard *)a)->path, ((const struct dlb_wds_shard *)b)->path);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* UINT64_MAX: there is no number, or a negative one. */
static uint64_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;

    return n >= 0 ? (uint64_t)n : UINT64_MAX;
}

/* Whether a shard of this size can hold that much. A member has a header, and padding. */
static bool is_possible(const struct dlb_wds_shard *shard)
{
    enum { TAR_BLOCK_BYTES = 512 };
    uint64_t most = shard->file_bytes;

    if (shard->pack != DLB_TAR_PLAIN &&
        (__builtin_mul_overflow(most, (uint64_t)DLB_TAR_MAX_EXPANSION, &most) ||
         __builtin_add_overflow(most, DLB_TAR_FREE_BYTES, &most)))
        most = UINT64_MAX;
    return shard->n_bytes <= most &&
           shard->n_samples <= (most - shard->n_bytes) / TAR_BLOCK_BYTES &&
           shard->max_sample_bytes <= shard->n_bytes &&
           (shard->max_sample_bytes
                ? (shard->n_bytes - 1) / shard->max_sample_bytes < shard->n_samples
                : shard->n_bytes == 0);
}

static void apply_classes(const json_t *params, struct dlb_shape *shape)
{
    const uint64_t most = (uint64_t)UINT32_MAX + 1;
    uint64_t n_classes = number(params, "generate.classes");

    if (n_classes > most && json_object_get(params, "generate.classes"))
        dlb_shape_odd(shape, "the manifest's number of classes is ignored: it is none");
    else if (n_classes <= most && n_classes > shape->n_classes)
        shape->n_classes = n_classes;
}

/* Takes counts from the manifest where a shard still has the size that gen wrote, and could hold
 * that much. `whole`: the shards are all of the manifest's folder, so missing ones are reported. */
static void apply_manifest(struct dlb_wds_list *list, uint32_t from, uint32_t to,
                           const json_t *manifest, bool whole, struct dlb_shape *shape)
{
    const json_t *known = json_object_get(manifest, "shards");
    const json_t *params = json_object_get(manifest, "params");
    uint32_t n_changed = 0, n_impossible = 0, n_left;
    const char *impossible = "";

    if (!json_is_object(known))
        return;
    for (uint32_t i = from; i < to; i++) {
        struct dlb_wds_shard *shard = &list->shards[i];
        const json_t *entry = json_object_get(known, base_name(shard->path));
        if (!entry || number(entry, "file_bytes") != shard->file_bytes) {
            n_changed++;
            continue;
        }
        shard->n_samples = number(entry, "samples");
        shard->n_bytes = number(entry, "bytes");
        shard->max_sample_bytes = number(entry, "max_sample_bytes");
        shard->known = shard->told = is_possible(shard);
        if (!shard->known && n_impossible++ == 0)
            impossible = shard->path;
    }
    apply_classes(params, shape);
    if (n_impossible)
        dlb_shape_odd(shape,
                      "the manifest's counts of %u shards are impossible, so they were counted "
                      "anew: the first is %s",
                      n_impossible, impossible);
    n_left = to - from - n_changed;
    if (whole && n_changed)
        dlb_shape_odd(shape, "%u shards are not as gen wrote them", n_changed);
    if (whole && json_object_size(known) > n_left)
        dlb_shape_odd(shape, "of the %zu shards that gen wrote, %u are left as they were",
                      json_object_size(known), n_left);
}

static int visit_folder(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                        struct dlb_shape *shape, struct dlb_err *err)
{
    struct visit v = {list, {.io = io, .folder = path, .is_shard = is_shard}};
    int rc = io->list(path, visit, &v, err);

    if (rc == DLB_OK)
        dlb_left_out_tell(&v.left_out, shape);
    dlb_left_out_free(&v.left_out);
    return rc;
}

static int list_folder(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                       struct dlb_shape *shape, struct dlb_err *err)
{
    uint32_t from = list->n_shards;
    json_t *manifest = NULL;

    int rc = dlb_gen_mark_refuse(path, err);
    if (rc == DLB_OK)
        rc = visit_folder(list, path, io, shape, err);
    if (rc != DLB_OK)
        return rc;
    if (list->n_shards == from)
        return list->n_left_out
                   ? dlb_fail(err, DLB_ERR_SHARD_COMPRESSION_UNKNOWN, path, DLB_NO_OFFSET,
                              "holds only archives of other compressions than gzip and zstd: "
                              "unpack them to plain .tar")
                   : dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET,
                              "holds no .tar shards: check dataset.path and dataset.format");
    qsort(list->shards + from, list->n_shards - from, sizeof *list->shards, by_path);
    rc = dlb_manifest_load(path, &manifest, err);
    if (rc == DLB_OK && manifest)
        apply_manifest(list, from, list->n_shards, manifest, true, shape);
    json_decref(manifest);
    return rc;
}

/* The shards of a list may lie in a folder that gen wrote. A manifest that cannot be read is
 * ignored: the list does not name the folder. */
static void know_listed(struct dlb_wds_list *list, struct dlb_shape *shape)
{
    for (uint32_t from = 0, to; from < list->n_shards; from = to) {
        const char *path = list->shards[from].path;
        size_t len = (size_t)(base_name(path) - path);
        char *folder = len ? strndup(path, len) : strdup(".");
        json_t *manifest = NULL;
        struct dlb_err ignored = {0};

        for (to = from + 1; to < list->n_shards; to++) {
            const char *other = list->shards[to].path;
            if ((size_t)(base_name(other) - other) != len || memcmp(path, other, len) != 0)
                break;
        }
        if (folder && dlb_manifest_load(folder, &manifest, &ignored) == DLB_OK && manifest)
            apply_manifest(list, from, to, manifest, false, shape);
        json_decref(manifest);
        free(folder);
    }
}

struct elements {
    struct dlb_wds_list *list;
    const struct dlb_io *io;
    struct dlb_shape *shape;
    char *missing; /* the first that does not exist */
    uint32_t n_missing, n;
};

static int take_element(void *ctx, const char *path, struct dlb_err *err)
{
    struct elements *all = ctx;
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    all->n++;
    int rc = all->io->stat(path, &kind, &n_bytes, err);
    if (rc != DLB_OK && err->sys_errno == ENOENT) {
        if (all->n_missing++ == 0 && !(all->missing = strdup(path)))
            return dlb_fail_memory(err, path, strlen(path) + 1);
        return DLB_OK;
    }
    if (rc != DLB_OK || all->n_missing > 0)
        return rc;
    if (kind == DLB_IO_DIR)
        return list_folder(all->list, path, all->io, all->shape, err);
    return add(all->list, strdup(path), n_bytes, err);
}

static int list_elements(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                         struct dlb_shape *shape, struct dlb_err *err)
{
    struct elements all = {.list = list, .io = io, .shape = shape};

    int rc = dlb_wds_expand(path, take_element, &all, err);
    if (rc == DLB_OK && all.n_missing > 0)
        rc = dlb_fail(err, DLB_ERR_SHARDS_MISSING, all.missing, DLB_NO_OFFSET,
                      "%u of the %u shards that dataset.path names are missing; this is the first",
                      all.n_missing, all.n);
    free(all.missing);
    return rc;
}

/* Compressed and damaged shards cannot be indexed: refused when the data set opens. */
static int refuse_unindexed(const struct dlb_wds_list *list, struct dlb_err *err)
{
    for (uint32_t i = 0; i < list->n_shards; i++) {
        const struct dlb_wds_shard *shard = &list->shards[i];
        if (shard->pack != DLB_TAR_PLAIN && shard->problem.status == DLB_OK)
            return dlb_fail(err, DLB_ERR_DATASET_ACCESS_UNFIT, shard->path, DLB_NO_OFFSET,
                            "is compressed (%s), so it cannot be read at random: use "
                            "dataset.access = \"stream\", or unpack it to a plain .tar",
                            dlb_tar_pack_names[shard->pack]);
        if (shard->problem.status != DLB_OK) {
            *err = shard->problem;
            return (int)err->status;
        }
    }
    return DLB_OK;
}

static int find_shards(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                       struct dlb_shape *shape, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    int rc = io->stat(path, &kind, &n_bytes, err);
    if (rc != DLB_OK && err->sys_errno == ENOENT && dlb_wds_is_pattern(path))
        rc = list_elements(list, path, io, shape, err);
    else if (rc == DLB_OK && kind == DLB_IO_DIR)
        return list_folder(list, path, io, shape, err);
    else if (rc == DLB_OK)
        rc = add(list, strdup(path), n_bytes, err);
    if (rc == DLB_OK)
        know_listed(list, shape);
    return rc;
}

/* Where a manifest's counts do not fit, none of them is believed. */
static void doubt_told(struct dlb_wds_list *list, const struct dlb_io *io, struct dlb_shape *shape)
{
    char text[sizeof(struct dlb_err)];
    struct dlb_err why;

    if (dlb_wds_told_fits(list->shards, list->n_shards, io, &why))
        return;
    dlb_shape_odd(shape, "the shards were counted anew, because of the manifest: %s",
                  dlb_err_text(&why, text, sizeof text));
    for (uint32_t i = 0; i < list->n_shards; i++)
        list->shards[i].known = list->shards[i].told = false;
}

int dlb_wds_list_make(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                      bool indexed, struct dlb_shape *shape, struct dlb_err *err)
{
    int rc = find_shards(list, path, io, shape, err);
    if (rc != DLB_OK)
        return rc;
    if (!indexed)
        doubt_told(list, io, shape);
    if (indexed) {
        list->indexes = calloc((size_t)list->n_shards + 1, sizeof *list->indexes);
        if (!list->indexes)
            return dlb_fail_memory(err, path, list->n_shards * sizeof *list->indexes);
        for (uint32_t i = 0; i < list->n_shards; i++)
            list->shards[i].known = list->shards[i].told =
                false; /* the manifest does not list members */
    }
    rc = dlb_wds_scan(io, list->shards, list->n_shards, list->indexes, err);
    if (rc == DLB_OK && indexed)
        rc = refuse_unindexed(list, err);
    if (rc == DLB_OK)
        dlb_wds_describe_odd(list, shape);
    return rc;
}

void dlb_wds_list_free(struct dlb_wds_list *list)
{
    for (uint32_t i = 0; i < list->n_shards; i++)
        free(list->shards[i].path);
    for (uint32_t i = 0; list->indexes && i < list->n_shards; i++)
        dlb_wds_index_free(&list->indexes[i]);
    free(list->shards);
    free(list->indexes);
    *list = (struct dlb_wds_list){0};
}

static int probe_visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    (void)err;
    bool found = entry->kind == DLB_IO_FILE && is_shard(entry->name);
    *(bool *)ctx |= found;
    return found ? DLB_END : DLB_OK;
}

static bool looks_like_shards(const char *path, enum dlb_io_kind kind, const struct dlb_io *io)
{
    struct dlb_err ignored;
    bool found = false;

    if (kind == DLB_IO_FILE)
        return is_shard(path);
    (void)io->list(path, probe_visit, &found, &ignored);
    return found;
}

struct first {
    const struct dlb_io *io;
    bool found;
};

/* Looks at the first path of a list; of a missing file the name decides. */
static int probe_first(void *ctx, const char *path, struct dlb_err *err)
{
    struct first *first = ctx;
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    first->found = first->io->stat(path, &kind, &n_bytes, err) == DLB_OK
                       ? looks_like_shards(path, kind, first->io)
                       : dlb_wds_pack_of_name(path) >= 0;
    return DLB_END;
}

int dlb_wds_probe(const char *path, const struct dlb_io *io)
{
    struct first first = {.io = io};
    struct dlb_err ignored;
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    if (io->stat(path, &kind, &n_bytes, &ignored) == DLB_OK)
        first.found = looks_like_shards(path, kind, io);
    else if (dlb_wds_is_pattern(path))
        (void)dlb_wds_expand(path, probe_first, &first, &ignored);
    return first.found ? 90 : 0;
}

#endif
