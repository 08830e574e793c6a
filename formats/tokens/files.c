/* Which files make a data set of tokens, and what each of them holds. */
#include "formats/numpy/npy.h"
#include "formats/tokens/tokens.h"

#include "formats/generate/manifest.h"
#include "formats/headroom.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = DLB_NPY_MAX_HEADER_BYTES + 64 };
#define MAX_INDEX_BYTES (UINT64_C(64) << 30) /* 5 G sequences */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int add(struct dlb_tokens_files *files, const char *folder, const char *name,
               struct dlb_err *err)
{
    if (files->n == files->cap) {
        uint32_t cap = files->cap ? files->cap * 2 : 16;
        struct dlb_tokens_file *grown = realloc(files->file, cap * sizeof *grown);
        if (!grown)
            return dlb_fail_memory(err, folder ? folder : name, cap * sizeof *grown);
        files->file = grown;
        files->cap = cap;
    }
    char *path = folder ? dlb_path_join(folder, name) : strdup(name);
    if (!path)
        return dlb_fail_memory(err, name, (folder ? strlen(folder) : 0) + strlen(name) + 2);
    files->file[files->n++] = (struct dlb_tokens_file){.path = path};
    return DLB_OK;
}

static bool is_shard(const char *name)
{
    return ends_with(name, ".bin") || ends_with(name, ".npy");
}

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct dlb_tokens_files *files = ctx;
    enum dlb_entry_role role;
    int rc = dlb_left_out_see(&files->left_out, entry, &role, err);

    if (rc == DLB_OK && role == DLB_ENTRY_SHARD)
        return add(files, files->left_out.folder, entry->name, err);
    files->n_other += role == DLB_ENTRY_OTHER && !ends_with(entry->name, ".idx");
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct dlb_tokens_file *)a)->path,
                  ((const struct dlb_tokens_file *)b)->path);
}

/* NAME.idx for NAME.bin, malloced; NULL when memory is short. */
static char *index_path(const char *path)
{
    char *idx = NULL;
    size_t n = strlen(path);
    if (ends_with(path, ".bin"))
        n -= 4;
    return asprintf(&idx, "%.*s.idx", (int)n, path) < 0 ? NULL : idx;
}

static bool exists(const struct dlb_io *io, const char *path)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    struct dlb_err ignored;
    return io->stat(path, &kind, &n_bytes, &ignored) == DLB_OK && kind == DLB_IO_FILE;
}

/* Adds the one file of tokens that `path` names: by itself, by its index (.idx), or by the prefix
 * that Megatron shares between its .bin and .idx. */
static int add_named(struct dlb_tokens_files *files, const char *path, const struct dlb_io *io,
                     struct dlb_err *err)
{
    char *bin = NULL;
    int n = ends_with(path, ".idx") ? (int)strlen(path) - 4 : (int)strlen(path);

    if (exists(io, path) && !ends_with(path, ".idx"))
        return add(files, NULL, path, err);
    if (asprintf(&bin, "%.*s.bin", n, path) < 0)
        return dlb_fail_memory(err, path, strlen(path) + sizeof ".bin");
    enum dlb_io_kind kind;
    uint64_t n_bytes;
    int rc = exists(io, bin) ? add(files, NULL, bin, err) : io->stat(path, &kind, &n_bytes, err);
    if (rc == DLB_OK && files->n == 0)
        rc = dlb_fail(err, DLB_ERR_TOKENS_NO_BIN, path, DLB_NO_OFFSET,
                      "the index has no .bin file beside it");
    free(bin);
    return rc;
}

static int list(struct dlb_tokens_files *files, const char *path, const struct dlb_io *io,
                bool probes, struct dlb_err *err)
{
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    if (io->stat(path, &kind, &n_bytes, err) != DLB_OK || kind != DLB_IO_DIR)
        return add_named(files, path, io, err);
    files->left_out =
        (struct dlb_left_out){.io = io, .folder = path, .is_shard = is_shard, .probes = probes};
    int rc = io->list(path, visit, files, err);
    if (rc == DLB_OK && files->n > 1)
        qsort(files->file, files->n, sizeof *files->file, by_path);
    if (rc == DLB_OK && files->n == 0)
        rc = dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET,
                      "holds no files of tokens (.bin, .npy)");
    return rc;
}

/* Reads up to n_cap bytes from the start of the file, and its size. */
static int read_head(const struct dlb_io *io, const char *path, uint8_t *head, size_t n_cap,
                     size_t *n_read, uint64_t *file_bytes, struct dlb_err *err)
{
    int64_t handle;
    int rc = io->open(path, &handle, err);

    if (rc != DLB_OK)
        return rc;
    rc = io->size(handle, file_bytes, path, err);
    if (rc == DLB_OK)
        rc = io->pread(handle, head, n_cap, 0, n_read, path, err);
    io->close(handle);
    return rc;
}

static int detect(const struct dlb_io *io, const char *path, const uint8_t *head, size_t n_head)
{
    char *idx = index_path(path);
    bool indexed = idx && ends_with(path, ".bin") && exists(io, idx);

    free(idx);
    return indexed                     ? DLB_TOKENS_MEGATRON
           : dlb_npy_is(head, n_head)  ? DLB_TOKENS_NPY
           : dlb_llmc_is(head, n_head) ? DLB_TOKENS_LLMC
                                       : DLB_TOKENS_RAW;
}

static int open_npy(struct dlb_tokens_file *file, const uint8_t *head, size_t n_head,
                    enum dlb_element *element, struct dlb_err *err)
{
    struct dlb_npy npy;
    int rc = dlb_npy_parse(head, n_head, file->file_bytes, file->path, &npy, err);

    if (rc != DLB_OK)
        return rc;
    if (!dlb_element_is_integer(npy.element))
        return dlb_fail(err, DLB_ERR_TOKENS_NO_INTEGERS, file->path, 0,
                        "holds '%s': tokens are little-endian whole numbers, such as '<u2'",
                        npy.descr);
    if (npy.rank < 1 || npy.rank > 2 || (npy.rank == 2 && npy.fortran_order))
        return dlb_fail(err, DLB_ERR_TOKENS_ARRAY_UNFIT, file->path, 0,
                        "is an array of %u dimensions%s: tokens are 1-D, or 2-D in C order",
                        npy.rank, npy.fortran_order ? " in Fortran order" : "");
    if (npy.rank == 2 && (npy.shape[1] == 0 || npy.shape[1] > (1 << 24) + 1))
        return dlb_fail(err, DLB_ERR_TOKENS_ARRAY_UNFIT, file->path, 0,
                        "has rows of %" PRIu64 " tokens", npy.shape[1]);
    file->data_at = npy.data_at;
    file->n_tokens = npy.n_items;
    file->row_tokens = npy.rank == 2 ? npy.shape[1] : 0;
    *element = npy.element;
    return DLB_OK;
}

/* A file may have any size: its header tells first whether it is an index. */
static int check_index(const struct dlb_io *io, int64_t handle, uint64_t n_bytes, const char *idx,
                       struct dlb_err *err)
{
    uint8_t head[DLB_MEGATRON_HEADER_BYTES];
    struct dlb_megatron index;
    size_t n_read = 0;
    int rc = io->pread(handle, head, sizeof head, 0, &n_read, idx, err);

    if (rc == DLB_OK)
        rc = dlb_megatron_head(&index, head, n_read, n_bytes, idx, err);
    if (rc == DLB_OK && n_bytes > MAX_INDEX_BYTES)
        rc = dlb_fail(err, DLB_ERR_TOKENS_INDEX_TOO_LARGE, idx, DLB_NO_OFFSET,
                      "the index has %" PRIu64 " bytes; up to %" PRIu64 " are read", n_bytes,
                      MAX_INDEX_BYTES);
    if (rc == DLB_OK) /* its bytes, and what is kept of each sequence */
        rc = dlb_headroom_check(2 * n_bytes, idx, "the index", "use fewer sequences", err);
    return rc;
}

static int open_megatron(struct dlb_tokens_file *file, const struct dlb_io *io, struct dlb_err *err)
{
    char *idx = index_path(file->path);
    uint8_t *data = NULL;
    uint64_t n_bytes = 0;
    size_t n_read = 0;
    int64_t handle = -1;
    int rc = idx ? io->open(idx, &handle, err)
                 : dlb_fail_memory(err, file->path, strlen(file->path) + sizeof ".idx");

    if (rc != DLB_OK) {
        free(idx);
        return rc;
    }
    rc = io->size(handle, &n_bytes, idx, err);
    if (rc == DLB_OK)
        rc = check_index(io, handle, n_bytes, idx, err);
    if (rc == DLB_OK && !(data = malloc(n_bytes + 1)))
        rc = dlb_fail_memory(err, idx, n_bytes + 1);
    if (rc == DLB_OK)
        rc = io->pread(handle, data, n_bytes, 0, &n_read, idx, err);
    if (rc == DLB_OK)
        rc = dlb_megatron_parse(&file->index, data, n_read, file->file_bytes, idx, file->path, err);
    file->n_tokens = file->index.n_tokens;
    io->close(handle);
    free(data);
    free(idx);
    return rc;
}

static int open_raw(struct dlb_tokens_file *file, enum dlb_element element, struct dlb_err *err)
{
    size_t each = dlb_element_bytes(element);

    if (file->file_bytes % each != 0)
        return dlb_fail(err, DLB_ERR_TOKENS_SIZE_UNFIT, file->path, file->file_bytes,
                        "is not a whole number of %s tokens: it was cut short, or tokens.dtype "
                        "is another",
                        dlb_element_name(element));
    file->n_tokens = file->file_bytes / each;
    return DLB_OK;
}

/* Fills in *file as its layout says. *element: the requested type, then the one that the file
 * holds. */
static int open_layout(struct dlb_tokens_file *file, int layout, const struct dlb_io *io,
                       const uint8_t *head, size_t n_head, enum dlb_element *element,
                       struct dlb_err *err)
{
    int rc;

    switch (layout) {
    case DLB_TOKENS_NPY:
        return open_npy(file, head, n_head, element, err);
    case DLB_TOKENS_LLMC:
        file->data_at = DLB_LLMC_HEADER_BYTES;
        return dlb_llmc_parse(head, n_head, file->file_bytes, file->path, element, &file->n_tokens,
                              err);
    case DLB_TOKENS_MEGATRON:
        rc = open_megatron(file, io, err);
        *element = file->index.element;
        return rc;
    default:
        if (*element == DLB_ELEMENT_NONE)
            *element = DLB_ELEMENT_U16; /* nanoGPT's */
        return open_raw(file, *element, err);
    }
}

/* The file's element must be the requested one, and that of earlier files. */
static int check_element(const struct dlb_tokens_files *files, const struct dlb_tokens_file *file,
                         int layout, enum dlb_element element, enum dlb_element asked,
                         struct dlb_err *err)
{
    if (asked && asked != element)
        return dlb_fail(err, DLB_ERR_TOKENS_DTYPE_UNFIT, file->path, DLB_NO_OFFSET,
                        "holds %s: tokens.dtype = \"%s\" does not fit", dlb_element_name(element),
                        dlb_element_name(asked));
    if (files->layout && (files->layout != layout || files->element != element))
        return dlb_fail(
            err, DLB_ERR_TOKENS_FILES_DIFFER, file->path, DLB_NO_OFFSET,
            "is %s of %s, the files before it are %s of %s: name one file with dataset.path",
            dlb_tokens_layout_name(layout), dlb_element_name(element),
            dlb_tokens_layout_name(files->layout), dlb_element_name(files->element));
    return DLB_OK;
}

static int open_file(struct dlb_tokens_files *files, struct dlb_tokens_file *file,
                     const struct dlb_io *io, const struct dlb_tokens_opts *opts,
                     struct dlb_err *err)
{
    uint8_t *head = malloc(HEAD_BYTES);
    size_t n_head = 0;
    enum dlb_element asked = dlb_tokens_dtype(opts), element = asked;
    int layout = opts->layout;
    int rc = head ? read_head(io, file->path, head, HEAD_BYTES, &n_head, &file->file_bytes, err)
                  : dlb_fail_memory(err, file->path, HEAD_BYTES);

    if (rc == DLB_OK && layout == DLB_TOKENS_AUTO)
        layout = detect(io, file->path, head, n_head);
    if (rc == DLB_OK)
        rc = open_layout(file, layout, io, head, n_head, &element, err);
    if (rc == DLB_OK)
        rc = check_element(files, file, layout, element, asked, err);
    free(head);
    files->layout = layout;
    files->element = element;
    return rc;
}

static int choose_sampling(struct dlb_tokens_files *files, const struct dlb_tokens_opts *opts,
                           const char *path, struct dlb_err *err)
{
    bool megatron = files->layout == DLB_TOKENS_MEGATRON, rows = files->file[0].row_tokens > 0;

    files->sampling = opts->sampling;
    if (opts->sampling == DLB_TOKENS_AS_TRAINER)
        files->sampling = megatron                          ? DLB_TOKENS_SHUFFLED
                          : files->layout == DLB_TOKENS_RAW ? DLB_TOKENS_RANDOM
                                                            : DLB_TOKENS_CONTIGUOUS;
    if (files->sampling == DLB_TOKENS_SHUFFLED && !megatron)
        return dlb_fail(
            err, DLB_ERR_TOKENS_SAMPLING_UNFIT, path, DLB_NO_OFFSET,
            "tokens.sampling = \"shuffled\" shuffles documents: only layout megatron has them");
    if (files->sampling == DLB_TOKENS_RANDOM && (megatron || rows))
        return dlb_fail(err, DLB_ERR_TOKENS_SAMPLING_UNFIT, path, DLB_NO_OFFSET,
                        "tokens.sampling = \"random\" has no meaning here: samples are %s",
                        rows ? "the array's rows" : "cut from the index's sequences");
    return DLB_OK;
}

/* Counts the file's samples. A file that is too short for one has none. */
static int cut(struct dlb_tokens_files *files, struct dlb_tokens_file *file,
               const struct dlb_tokens_opts *opts, struct dlb_err *err)
{
    uint64_t seq_len = (uint64_t)opts->seq_len;
    uint32_t number = (uint32_t)(file - files->file);
    int rc = DLB_OK;

    if (file->row_tokens != files->file[0].row_tokens)
        return dlb_fail(err, DLB_ERR_TOKENS_FILES_DIFFER, file->path, DLB_NO_OFFSET,
                        "has rows of another length than %s", files->file[0].path);
    if (file->row_tokens)
        file->n_samples = file->n_tokens / file->row_tokens;
    else
        file->n_samples = file->n_tokens > 0 ? (file->n_tokens - 1) / seq_len : 0;
    if (files->layout == DLB_TOKENS_MEGATRON)
        rc = dlb_megatron_cut(&file->index, (uint32_t)seq_len,
                              files->sampling == DLB_TOKENS_SHUFFLED, (uint64_t)opts->seed + number,
                              file->path, err);
    file->first_sample = files->n_samples;
    files->n_samples += file->n_samples;
    return rc;
}

int dlb_tokens_find(struct dlb_tokens_files *files, const char *path, const struct dlb_io *io,
                    const struct dlb_tokens_opts *opts, struct dlb_shape *shape,
                    struct dlb_err *err)
{
    uint32_t n_short = 0;
    uint64_t n_tokens = 0;

    int rc = list(files, path, io, false, err);
    for (uint32_t i = 0; rc == DLB_OK && i < files->n; i++)
        rc = open_file(files, &files->file[i], io, opts, err);
    if (rc == DLB_OK)
        rc = choose_sampling(files, opts, path, err);
    for (uint32_t i = 0; rc == DLB_OK && i < files->n; i++) {
        rc = cut(files, &files->file[i], opts, err);
        n_short += files->file[i].n_samples == 0;
        n_tokens += files->file[i].n_tokens;
    }
    if (rc != DLB_OK)
        return rc;
    uint64_t row = files->file[0].row_tokens;
    files->sample_tokens = (uint32_t)(row ? row : (uint64_t)opts->seq_len + 1);
    if (files->n_samples == 0)
        return dlb_fail(err, DLB_ERR_TOKENS_TOO_FEW, path, DLB_NO_OFFSET,
                        "holds %" PRIu64
                        " tokens, too few for one sample of %u (tokens.seq_len + 1)",
                        n_tokens, files->sample_tokens);
    if (n_short)
        dlb_shape_odd(shape, "%u files are too short for one sample", n_short);
    if (files->n_other)
        dlb_shape_odd(shape, "%u files are neither .bin nor .npy and are ignored", files->n_other);
    dlb_left_out_tell(&files->left_out, shape);
    return DLB_OK;
}

void dlb_tokens_free(struct dlb_tokens_files *files)
{
    for (uint32_t i = 0; i < files->n; i++) {
        free(files->file[i].path);
        dlb_megatron_free(&files->file[i].index);
    }
    free(files->file);
    dlb_left_out_free(&files->left_out);
    *files = (struct dlb_tokens_files){.n = 0};
}

/* How likely a file holds tokens (0 to 100), by its magic or else by its name. */
static int probe_file(const char *path, const struct dlb_io *io)
{
    uint8_t head[DLB_NPY_MAX_HEADER_BYTES / 8];
    uint64_t file_bytes;
    size_t n_head = 0;
    struct dlb_npy npy;
    struct dlb_err ignored;

    if (read_head(io, path, head, sizeof head, &n_head, &file_bytes, &ignored) != DLB_OK)
        return 0;
    if (dlb_npy_is(head, n_head))
        return dlb_npy_parse(head, n_head, file_bytes, path, &npy, &ignored) == DLB_OK &&
                       npy.rank >= 1 && npy.rank <= 2 && dlb_element_is_integer(npy.element)
                   ? 90
                   : 0;
    if (ends_with(path, ".idx"))
        return dlb_megatron_is(head, n_head) ? 95 : 0;
    if (!ends_with(path, ".bin"))
        return 0;
    int layout = detect(io, path, head, n_head);
    /* Raw tokens have no magic: nanoGPT's usual names say more than the bytes. */
    bool named = ends_with(path, "/train.bin") || ends_with(path, "/val.bin");
    return layout != DLB_TOKENS_RAW ? 95 : named ? 60 : 5;
}

int dlb_tokens_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_tokens_files files = {.n = 0};
    struct dlb_err ignored;
    json_t *manifest = NULL;
    int likely = 0;

    if (dlb_manifest_load(path, &manifest, &ignored) == DLB_OK && manifest) {
        const char *format = json_string_value(
            json_object_get(json_object_get(manifest, "params"), "dataset.format"));
        likely = format && strcmp(format, "tokens") == 0 ? 100 : 0;
        json_decref(manifest);
        return likely;
    }
    if (exists(io, path)) {
        likely = probe_file(path, io);
        return likely == 5 ? 40 : likely; /* no other format reads a single .bin */
    }
    if (list(&files, path, io, true, &ignored) == DLB_OK)
        likely = probe_file(files.file[0].path, io);
    dlb_tokens_free(&files);
    return likely;
}
