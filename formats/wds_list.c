#include "formats/wds_list.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "formats/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcasecmp(name + n - m, end) == 0;
}

static bool is_compressed(const char *name)
{
    static const char *const ends[] = {".tar.gz",  ".tgz",     ".tar.zst", ".tar.xz",
                                       ".tar.bz2", ".tar.lz4", NULL};
    for (size_t i = 0; ends[i]; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

struct visit {
    struct dlb_wds_list *list;
    const char *folder;
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
        return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "no memory for the list of shards");
    }
    list->shards[list->n_shards++] = (struct dlb_wds_shard){.path = path, .file_bytes = n_bytes};
    return DLB_OK;
}

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    const struct visit *v = ctx;

    if (entry->name[0] == '.' || entry->kind != DLB_IO_FILE)
        return DLB_OK;
    if (ends_with(entry->name, ".tar"))
        return add(v->list, dlb_manifest_path(v->folder, entry->name), entry->n_bytes, err);
    v->list->n_compressed += is_compressed(entry->name);
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

static uint64_t number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* Takes counts from the manifest where a shard still has the size that gen gave it. */
static void apply_manifest(struct dlb_wds_list *list, const json_t *manifest,
                           struct dlb_shape *shape)
{
    const json_t *known = json_object_get(manifest, "shards");
    const json_t *params = json_object_get(manifest, "params");
    uint32_t n_changed = 0;

    if (!json_is_object(known))
        return;
    for (uint32_t i = 0; i < list->n_shards; i++) {
        struct dlb_wds_shard *shard = &list->shards[i];
        const json_t *entry = json_object_get(known, base_name(shard->path));
        if (!entry || number(entry, "file_bytes") != shard->file_bytes) {
            n_changed++;
            continue;
        }
        shard->n_samples = number(entry, "samples");
        shard->n_bytes = number(entry, "bytes");
        shard->max_sample_bytes = number(entry, "max_sample_bytes");
        shard->known = true;
    }
    shape->n_classes = (uint32_t)number(params, "generate.classes");
    if (n_changed)
        dlb_shape_odd(shape, "%u shards are not as gen wrote them", n_changed);
    if (json_object_size(known) > list->n_shards - n_changed)
        dlb_shape_odd(shape, "of the %zu shards that gen wrote, %u are left as they were",
                      json_object_size(known), list->n_shards - n_changed);
}

static void describe_odd(const struct dlb_wds_list *list, struct dlb_shape *shape)
{
    char text[480];
    uint32_t n_uncut = 0;
    const struct dlb_wds_shard *first = NULL;

    if (list->n_compressed)
        dlb_shape_odd(shape, "%u compressed archives are left out: only plain .tar is read",
                      list->n_compressed);
    for (uint32_t i = 0; i < list->n_shards; i++) {
        const struct dlb_wds_shard *shard = &list->shards[i];
        if (shard->problem.status != DLB_OK)
            dlb_shape_odd(shape, "%s", dlb_err_text(&shard->problem, text, sizeof text));
        if (shard->lacks_end && !first)
            first = shard;
        n_uncut += shard->lacks_end;
    }
    if (first)
        dlb_shape_odd(shape, "%u shards have no end-of-archive mark: cut between two members? (%s)",
                      n_uncut, base_name(first->path));
}

static int list_folder(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                       json_t **manifest, struct dlb_err *err)
{
    struct visit v = {list, path};

    int rc = dlb_generate_refuse_incomplete(path, err);
    if (rc == DLB_OK)
        rc = io->list(path, visit, &v, err);
    if (rc != DLB_OK)
        return rc;
    if (list->n_shards == 0)
        return dlb_fail(err, DLB_E_FORMAT, path, DLB_NO_OFFSET,
                        list->n_compressed
                            ? "holds only compressed archives: unpack them to plain .tar"
                            : "holds no .tar shards: check dataset.path and dataset.format");
    qsort(list->shards, list->n_shards, sizeof *list->shards, by_path);
    return dlb_manifest_load(path, manifest, err);
}

int dlb_wds_list_make(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                      struct dlb_shape *shape, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    json_t *manifest = NULL;

    int rc = io->stat(path, &kind, &n_bytes, err);
    if (rc != DLB_OK)
        return rc;
    if (kind == DLB_IO_DIR)
        rc = list_folder(list, path, io, &manifest, err);
    else if (is_compressed(path))
        rc = dlb_fail(err, DLB_E_FORMAT, path, DLB_NO_OFFSET,
                      "is compressed: unpack it to a plain .tar");
    else
        rc = add(list, strdup(path), n_bytes, err);
    if (rc == DLB_OK && manifest)
        apply_manifest(list, manifest, shape);
    json_decref(manifest);
    if (rc == DLB_OK)
        rc = dlb_wds_scan(io, list->shards, list->n_shards, err);
    if (rc == DLB_OK)
        describe_odd(list, shape);
    return rc;
}

void dlb_wds_list_free(struct dlb_wds_list *list)
{
    for (uint32_t i = 0; i < list->n_shards; i++)
        free(list->shards[i].path);
    free(list->shards);
    *list = (struct dlb_wds_list){0};
}

static int probe_visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    (void)err;
    bool found = entry->kind == DLB_IO_FILE &&
                 (ends_with(entry->name, ".tar") || is_compressed(entry->name));
    *(bool *)ctx |= found;
    return found ? DLB_END : DLB_OK;
}

int dlb_wds_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_err ignored;
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    bool found = false;

    if (io->stat(path, &kind, &n_bytes, &ignored) != DLB_OK)
        return 0;
    if (kind == DLB_IO_FILE)
        return ends_with(path, ".tar") || is_compressed(path) ? 90 : 0;
    (void)io->list(path, probe_visit, &found, &ignored);
    return found ? 90 : 0;
}

#endif
