#include "formats/numpy/npz.h"

#include "core/base/escape.h"
#include "formats/codecs/inflate.h"
#include "formats/headroom.h"
#include "formats/left_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = DLB_NPY_MAX_HEADER_BYTES + 64 };
/* Deflate's largest ratio (zlib's technical notes: 1032 to 1). */
enum { MAX_EXPANSION = 1032 };

static const struct dlb_opt opts[] = {
    {.key = "array",
     .reads_only = true,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_npz_opts, array),
     .def = "",
     .help = "the array whose rows are the samples, as numpy.load names it; empty: the first"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_npz_group = {"npz", "arrays in a .npz file, or one in a .npy file",
                                            opts, sizeof(struct dlb_npz_opts)};

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static bool is_named(const char *member, const char *wanted)
{
    size_t n = strlen(wanted);
    return strncmp(member, wanted, n) == 0 &&
           (member[n] == '\0' || strcmp(member + n, ".npy") == 0);
}

/* The array `wanted`, or for "" the first one. NULL with *err when there is none. */
static const struct dlb_zip_member *choose(const struct dlb_zip *zip, const char *wanted,
                                           struct dlb_shape *shape, const char *path,
                                           struct dlb_err *err)
{
    const struct dlb_zip_member *chosen = NULL;
    uint64_t n_others = 0;
    const char *other = ""; /* the first of them */

    for (uint64_t i = 0; i < zip->n; i++) {
        const struct dlb_zip_member *member = &zip->member[i];
        if (!ends_with(member->name, ".npy"))
            continue;
        if (!chosen && (wanted[0] == '\0' || is_named(member->name, wanted)))
            chosen = member;
        else if (n_others++ == 0)
            other = member->name;
    }
    if (!chosen && n_others > 0)
        (void)dlb_fail(err, DLB_ERR_NPZ_NO_SUCH_ARRAY, path, DLB_NO_OFFSET,
                       "npz.array = \"%.*s\": no such array; there are %" PRIu64
                       ", the first is \"%.*s\"",
                       DLB_CUT(wanted, 100), n_others, (int)(strlen(other) - 4), other);
    else if (!chosen)
        (void)dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET,
                       "none of the archive's %" PRIu64 " members is an array (.npy)", zip->n);
    else if (n_others > 0)
        dlb_shape_odd(shape,
                      n_others == 1 ? "%" PRIu64 " more array is ignored (%.*s): see npz.array"
                                    : "%" PRIu64
                                      " more arrays are ignored (the first: %.*s): see npz.array",
                      n_others, (int)(strlen(other) - 4), other);
    return chosen;
}

/* Reads the member's first bytes, and inflates them if necessary. */
static int read_head(const struct dlb_npz_array *array, const struct dlb_zip_file *file,
                     uint8_t head[HEAD_BYTES], size_t *n_head, struct dlb_err *err)
{
    uint8_t stored[HEAD_BYTES];
    size_t n = array->stored_bytes < HEAD_BYTES ? (size_t)array->stored_bytes : HEAD_BYTES;
    struct dlb_err ignored;
    int rc = file->io->pread(file->handle, array->deflated ? stored : head, n, array->data_at,
                             n_head, file->path, err);

    if (rc != DLB_OK || !array->deflated)
        return rc;
    struct dlb_inflate *inflate = dlb_inflate_new(DLB_DEFLATED_RAW);
    if (!inflate)
        return dlb_fail(err, DLB_ERR_NOMEM, file->path, DLB_NO_OFFSET,
                        "out of memory to inflate it");
    /* It fails, because the stream is cut off: the bytes before that are the head. */
    (void)dlb_inflate(inflate, stored, *n_head, head, HEAD_BYTES, n_head, &ignored);
    dlb_inflate_free(inflate);
    return DLB_OK;
}

static int measure_rows(struct dlb_npz_array *array, const char *path, struct dlb_err *err)
{
    const struct dlb_npy *npy = &array->npy;
    size_t n_bytes = 0;
    int rc = dlb_npy_data_bytes(npy, array->n_bytes, path, &n_bytes, err);

    if (rc != DLB_OK)
        return rc;
    if (npy->rank < 1)
        return dlb_fail(err, DLB_ERR_NPZ_ARRAY_UNFIT, path, array->data_at,
                        "\"%.*s\" is a single number, without rows that could be samples: choose "
                        "another by npz.array",
                        DLB_CUT(array->name, 100));
    if (npy->rank > 1 && npy->fortran_order)
        return dlb_fail(err, DLB_ERR_NPZ_ARRAY_UNFIT, path, array->data_at,
                        "\"%.*s\" is in Fortran order, where a row is not contiguous: save it "
                        "with numpy.ascontiguousarray",
                        DLB_CUT(array->name, 100));
    array->n_rows = npy->shape[0];
    array->row_bytes = array->n_rows ? n_bytes / array->n_rows : 0;
    if (array->row_bytes == 0)
        return dlb_fail(err, DLB_ERR_NPZ_ARRAY_UNFIT, path, array->data_at, "\"%.*s\" is empty",
                        DLB_CUT(array->name, 100));
    return DLB_OK;
}

/* Parses the member's .npy header. */
static int parse_array(struct dlb_npz_array *array, const struct dlb_zip_file *file,
                       struct dlb_err *err)
{
    uint8_t head[HEAD_BYTES];
    size_t n_head = 0;
    int rc = read_head(array, file, head, &n_head, err);

    if (rc != DLB_OK)
        return rc;
    rc = dlb_npy_parse(head, n_head, array->n_bytes, file->path, &array->npy, err);
    if (rc == DLB_OK)
        rc = measure_rows(array, file->path, err);
    else /* the parser's offsets count within the member */
        err->offset_bytes = array->data_at + (array->deflated ? 0 : err->offset_bytes);
    return rc;
}

static int check_member(const struct dlb_zip_member *member, const char *path, struct dlb_err *err)
{
    if (member->method != DLB_ZIP_STORED && member->method != DLB_ZIP_DEFLATED)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_UNSUPPORTED, path, member->header_at,
                        "\"%.*s\" is compressed by ZIP's method %u; numpy stores (0) or deflates "
                        "(8)",
                        DLB_CUT(member->name, 100), member->method);
    if (member->method == DLB_ZIP_DEFLATED && dlb_inflate_missing)
        return dlb_fail(err, DLB_ERR_MISSING, path, member->header_at, "\"%.*s\" is deflated: %s",
                        DLB_CUT(member->name, 100), dlb_inflate_missing);
    if (member->method == DLB_ZIP_STORED && member->n_bytes != member->stored_bytes)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, path, member->header_at,
                        "\"%.*s\" is stored, but has two sizes, %" PRIu64 " and %" PRIu64,
                        DLB_CUT(member->name, 100), member->stored_bytes, member->n_bytes);
    if (member->n_bytes / MAX_EXPANSION > member->stored_bytes + 1)
        return dlb_fail(err, DLB_ERR_NPZ_ZIP_DAMAGED, path, member->header_at,
                        "\"%.*s\" would inflate from %" PRIu64 " to %" PRIu64
                        " bytes: deflate reaches 1032 to 1 at most",
                        DLB_CUT(member->name, 100), member->stored_bytes, member->n_bytes);
    return DLB_OK;
}

/* A file that is one array, as numpy.save writes it. */
static int take_bare(struct dlb_npz_array *array, const struct dlb_zip_file *file,
                     struct dlb_err *err)
{
    int rc = file->io->size(file->handle, &array->n_bytes, file->path, err);

    if (rc != DLB_OK)
        return rc;
    array->stored_bytes = array->n_bytes;
    array->name = strdup("the array");
    return array->name ? parse_array(array, file, err) : dlb_fail_memory(err, file->path, 10);
}

static bool is_bare(const struct dlb_zip_file *file)
{
    uint8_t head[8];
    size_t n_head = 0;
    struct dlb_err ignored;

    return file->io->pread(file->handle, head, sizeof head, 0, &n_head, file->path, &ignored) ==
               DLB_OK &&
           dlb_npy_is(head, n_head);
}

int dlb_npz_find(struct dlb_npz_array *array, const struct dlb_zip_file *file, const char *wanted,
                 struct dlb_shape *shape, struct dlb_err *err)
{
    struct dlb_zip zip;
    const struct dlb_zip_member *member = NULL;

    *array = (struct dlb_npz_array){.name = NULL};
    if (is_bare(file))
        return take_bare(array, file, err);
    int rc = dlb_zip_open(&zip, file, err);
    if (rc == DLB_OK && !(member = choose(&zip, wanted, shape, file->path, err)))
        rc = dlb_failed(err);
    if (rc == DLB_OK)
        rc = check_member(member, file->path, err);
    if (rc == DLB_OK)
        rc = dlb_zip_locate(&zip, member, file, &array->data_at, err);
    if (rc == DLB_OK) {
        array->deflated = member->method == DLB_ZIP_DEFLATED;
        array->crc = member->crc;
        array->stored_bytes = member->stored_bytes;
        array->n_bytes = member->n_bytes;
        array->name = strdup(member->name);
        rc = array->name ? parse_array(array, file, err)
                         : dlb_fail_memory(err, file->path, strlen(member->name) + 1);
    }
    if (rc == DLB_OK && array->deflated)
        dlb_shape_odd(shape,
                      "%.*s is deflated: each reader inflates all of it (%" PRIu64
                      " bytes) when it starts, as numpy.load does",
                      DLB_CUT(array->name, 40), array->n_bytes);
    dlb_zip_free(&zip);
    return rc;
}

void dlb_npz_free(struct dlb_npz_array *array)
{
    free(array->name);
    *array = (struct dlb_npz_array){.name = NULL};
}

static int inflate_into(const struct dlb_npz_array *array, const uint8_t *stored, uint8_t *out,
                        const char *path, struct dlb_err *err)
{
    struct dlb_inflate *inflate = dlb_inflate_new(DLB_DEFLATED_RAW);
    size_t n_out = 0;

    if (!inflate)
        return dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory to inflate it");
    int rc = dlb_inflate(inflate, stored, (size_t)array->stored_bytes, out, (size_t)array->n_bytes,
                         &n_out, err);
    dlb_inflate_free(inflate);
    if (rc != DLB_OK) {
        if (err->offset_bytes != DLB_NO_OFFSET)
            err->offset_bytes += array->data_at;
        return dlb_fail_at_path(err, path);
    }
    if (n_out != array->n_bytes)
        return dlb_fail(err, DLB_ERR_NPZ_ARRAY_DAMAGED, path, array->data_at,
                        "\"%.*s\" inflates to %zu bytes, not to %" PRIu64,
                        DLB_CUT(array->name, 100), n_out, array->n_bytes);
    uint32_t crc = dlb_crc32(0, out, n_out);
    if (crc != array->crc)
        return dlb_fail(err, DLB_ERR_NPZ_ARRAY_DAMAGED, path, array->data_at,
                        "\"%.*s\" is damaged: its CRC-32 is %08x, the directory says %08x",
                        DLB_CUT(array->name, 100), crc, array->crc);
    return DLB_OK;
}

int dlb_npz_inflate(const struct dlb_npz_array *array, const struct dlb_zip_file *file,
                    uint8_t **out, struct dlb_err *err)
{
    size_t n_read = 0;
    uint8_t *stored = NULL;

    *out = NULL;
    int rc =
        dlb_headroom_check(array->stored_bytes + array->n_bytes, file->path, "to inflate its array",
                           "use fewer workers, or save it with numpy.savez", err);
    if (rc != DLB_OK)
        return rc;
    stored = malloc((size_t)array->stored_bytes + 1);
    *out = malloc((size_t)array->n_bytes + 1);
    if (stored && *out)
        rc = file->io->pread(file->handle, stored, (size_t)array->stored_bytes, array->data_at,
                             &n_read, file->path, err);
    else
        rc = dlb_fail_memory(err, file->path, array->stored_bytes + array->n_bytes + 2);
    if (rc == DLB_OK && n_read < array->stored_bytes)
        rc = dlb_fail(err, DLB_ERR_FILE_CHANGED, file->path, array->data_at + n_read,
                      "the file was cut short since it was opened");
    if (rc == DLB_OK)
        rc = inflate_into(array, stored, *out, file->path, err);
    free(stored);
    if (rc != DLB_OK) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

static bool is_npz(const char *name)
{
    return ends_with(name, ".npz");
}

struct looking {
    struct dlb_left_out left_out;
    char *found;
    uint32_t n;
};

static int visit(void *ctx, const struct dlb_io_entry *entry, struct dlb_err *err)
{
    struct looking *looking = ctx;
    const char *folder = looking->left_out.folder;
    enum dlb_entry_role role;
    int rc = dlb_left_out_see(&looking->left_out, entry, &role, err);

    if (rc != DLB_OK || role != DLB_ENTRY_SHARD || looking->n++ > 0)
        return rc;
    looking->found = dlb_path_join(folder, entry->name);
    return looking->found ? DLB_OK
                          : dlb_fail_memory(err, folder, strlen(folder) + strlen(entry->name) + 2);
}

int dlb_npz_path(const char *path, const struct dlb_io *io, char **out, struct dlb_shape *shape,
                 struct dlb_err *err)
{
    struct looking looking = {
        .left_out = {.io = io, .folder = path, .is_shard = is_npz, .probes = !shape}};
    enum dlb_io_kind kind;
    uint64_t n_bytes;

    *out = NULL;
    int rc = io->stat(path, &kind, &n_bytes, err);
    if (rc != DLB_OK)
        return rc;
    if (kind != DLB_IO_DIR) {
        *out = strdup(path);
        return *out ? DLB_OK : dlb_fail_memory(err, path, strlen(path) + 1);
    }
    rc = io->list(path, visit, &looking, err);
    if (rc == DLB_OK && looking.n == 0)
        rc = dlb_fail(err, DLB_ERR_DATASET_EMPTY, path, DLB_NO_OFFSET, "holds no .npz file");
    else if (rc == DLB_OK && looking.n > 1)
        rc = dlb_fail(err, DLB_ERR_DATASET_SEVERAL_FILES, path, DLB_NO_OFFSET,
                      "holds %u .npz files: name one of them with dataset.path; format files reads "
                      "each file as a sample",
                      looking.n);
    if (rc != DLB_OK) {
        free(looking.found);
        looking.found = NULL;
    } else if (shape) {
        dlb_left_out_tell(&looking.left_out, shape);
    }
    dlb_left_out_free(&looking.left_out);
    *out = looking.found;
    return rc;
}

/* Arrays of whole numbers with one or two dimensions are format tokens'. */
static int probe_bare(const char *path, const struct dlb_io *io, int64_t handle)
{
    struct dlb_zip_file file = {.io = io, .handle = handle, .path = path};
    struct dlb_npz_array array = {.name = NULL};
    struct dlb_err ignored;
    bool rows = take_bare(&array, &file, &ignored) == DLB_OK;
    bool tokens = array.npy.rank <= 2 && dlb_element_is_integer(array.npy.element);

    dlb_npz_free(&array);
    return rows && !tokens ? 90 : 0;
}

int dlb_npz_probe(const char *path, const struct dlb_io *io)
{
    struct dlb_err ignored;
    uint8_t head[8] = {0};
    size_t n_head = 0;
    int64_t handle;
    char *file = NULL;
    int likely = 0;

    if (dlb_npz_path(path, io, &file, NULL, &ignored) == DLB_OK &&
        io->open(file, &handle, &ignored) == DLB_OK) {
        if (io->pread(handle, head, sizeof head, 0, &n_head, file, &ignored) == DLB_OK &&
            dlb_npy_is(head, n_head))
            likely = probe_bare(file, io, handle);
        else if (n_head >= 4 && memcmp(head, "PK\3\4", 4) == 0)
            likely = !ends_with(file, ".npz") ? 20 : strcmp(file, path) == 0 ? 95 : 85;
        io->close(handle);
    }
    free(file);
    return likely;
}
