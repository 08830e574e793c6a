#include "bench/verbs/kinds.h"

#include "core/base/io.h"
#include "core/base/json.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 4, MAX_FILES = 50000 };

/* In the order of the printed list. */
static const struct {
    const char *name, *format, *codec;
    bool folder;
    const char *ends[8];
} known[DLB_N_KINDS] = {
    {"images", "files", "image", true, {".jpg", ".jpeg", ".png", ".webp"}},
    {"audio files", "files", "audio", true, {".wav", ".flac"}},
    {"tar shards", "webdataset", NULL, true, {".tar", ".tar.gz", ".tgz", ".tar.zst"}},
    {"HDF5 files", "hdf5", NULL, false, {".h5", ".hdf5"}},
    {"numpy files", "npz", NULL, false, {".npz", ".npy"}},
    {"TFRecord files", "tfrecord", NULL, true, {".tfrecord", ".tfrecords", ".tfrec"}},
    {"LMDB databases", "lmdb", NULL, false, {"data.mdb"}},
    {"Parquet files", NULL, NULL, false, {".parquet"}},
    {"videos", NULL, NULL, false, {".mp4", ".mkv", ".avi", ".webm", ".mov"}},
};

struct walk {
    struct dlb_kinds *out;
    const char *path;
    uint32_t depth;
};

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcasecmp(name + n - m, end) == 0;
}

static int kind_of(const char *name)
{
    for (int i = 0; i < DLB_N_KINDS; i++)
        for (const char *const *end = known[i].ends; *end; end++)
            if (ends_with(name, *end))
                return i;
    return -1;
}

static void count(const struct walk *walk, const char *name)
{
    struct dlb_kinds *out = walk->out;
    int i = kind_of(name);

    out->n_files++;
    if (i < 0) {
        out->n_others++;
        return;
    }
    struct dlb_kind *kind = &out->kind[i];
    if (kind->n_files++ > 0)
        return;
    out->n_found++;
    if ((size_t)snprintf(kind->first, sizeof kind->first, "%s/%s", walk->path, name) >=
        sizeof kind->first)
        kind->first[0] = '\0';
    (void)snprintf(kind->parent, sizeof kind->parent, "%s", walk->path);
}

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    const struct walk *walk = ctx;
    struct dlb_err ignored;
    char below[1024];

    (void)err;
    if (walk->out->n_files >= MAX_FILES) {
        walk->out->ended = true;
        return DLB_END;
    }
    if (entry->name[0] == '.')
        return DLB_OK;
    if (entry->kind == DLB_IO_FILE) {
        count(walk, entry->name);
    } else if (entry->kind == DLB_IO_DIR && walk->depth < MAX_DEPTH &&
               (size_t)snprintf(below, sizeof below, "%s/%s", walk->path, entry->name) <
                   sizeof below) {
        struct walk deeper = {walk->out, below, walk->depth + 1};
        (void)dlb_io_posix.list(below, visit, &deeper, &ignored);
    }
    return DLB_OK;
}

void dlb_kinds_find(const char *path, struct dlb_kinds *out)
{
    struct walk walk = {out, path, 0};
    struct dlb_err ignored;
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    memset(out, 0, sizeof *out);
    for (int i = 0; i < DLB_N_KINDS; i++) {
        out->kind[i].name = known[i].name;
        out->kind[i].format = known[i].format;
        out->kind[i].codec = known[i].codec;
        out->kind[i].folder = known[i].folder;
    }
    if (dlb_io_posix.stat(path, &kind, &n_bytes, &ignored) == DLB_OK && kind == DLB_IO_DIR)
        (void)dlb_io_posix.list(path, visit, &walk, &ignored);
}

json_t *dlb_kinds_json(const struct dlb_kinds *kinds)
{
    json_t *list = dlb_json_made(json_array());

    for (int i = 0; i < DLB_N_KINDS; i++) {
        const struct dlb_kind *kind = &kinds->kind[i];
        if (kind->n_files > 0)
            dlb_json_append(
                list, dlb_json_made(json_pack("{s:s, s:I, s:s?, s:o}", "kind", kind->name, "files",
                                              (json_int_t)kind->n_files, "format", kind->format,
                                              "first", dlb_json_safe_text(kind->first))));
    }
    return list;
}
