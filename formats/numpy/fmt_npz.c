/* Arrays that numpy.savez or savez_compressed wrote: the rows of one of them are the samples.
 *
 * A stored array is read row by row. The rows of a deflated one have no place in the file: each
 * reader inflates the whole array once, into its own memory, as numpy.load does in each worker. A
 * deflated array is checked against its CRC-32. A stored one is not, because that would need all of
 * its bytes. */
#include "formats/format.h"
#include "formats/generate/mark.h"

#include "core/base/hash.h"
#include "formats/codec.h"
#include "formats/numpy/npz.h"

#include <stdlib.h>
#include <string.h>

struct npz {
    char *path;
    struct dlb_zip_file file; /* its path is the one above */
    bool is_open;
    struct dlb_npz_array array;
};

struct npz_reader {
    const struct npz *ds;
    uint8_t *inflated;      /* the whole member; NULL when it is stored */
    uint64_t counted_bytes; /* of stored_bytes, those that io_bytes of samples have counted */
    uint8_t *row;           /* used when the caller gives no place for the row; made when needed */
};

static void fill_shape(const struct npz *ds, struct dlb_shape *shape)
{
    const struct dlb_npz_array *array = &ds->array;
    const char *name = strrchr(ds->path, '/');
    uint64_t numbers[] = {array->n_bytes, array->n_rows, array->crc, array->deflated};

    name = name ? name + 1 : ds->path;
    shape->id = dlb_hash64(name, strlen(name), dlb_hash64(numbers, sizeof numbers, 0));
    shape->id = dlb_hash64(array->name, strlen(array->name), shape->id);
    shape->n_samples = array->n_rows;
    shape->max_sample_bytes = array->row_bytes;
    shape->total_bytes = array->n_rows * array->row_bytes;
    shape->element = array->npy.element;
    shape->reader_bytes = array->deflated ? array->n_bytes + array->stored_bytes : 0;
}

static int npz_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                    struct dlb_err *err)
{
    struct npz *ds = state;
    const struct dlb_npz_opts *opts = how->opts;

    ds->file.io = how->io;
    *shape = (struct dlb_shape){.n_samples = 0};
    if (how->codec && !how->codec->identity)
        return dlb_fail(err, DLB_ERR_CODEC_UNFIT, how->path, DLB_NO_OFFSET,
                        "codec %s does not decode rows of an array: use dataset.codec = \"raw\"",
                        how->codec->name);
    int rc = dlb_gen_mark_refuse(how->path, err);
    if (rc == DLB_OK)
        rc = dlb_npz_path(how->path, how->io, &ds->path, shape, err);
    ds->file.path = ds->path;
    if (rc == DLB_OK)
        rc = how->io->open(ds->path, &ds->file.handle, err);
    if (rc != DLB_OK)
        return rc;
    ds->is_open = true;
    rc = dlb_npz_find(&ds->array, &ds->file, opts ? opts->array : "", shape, err);
    if (rc == DLB_OK)
        fill_shape(ds, shape);
    if (rc == DLB_OK && ds->array.npy.element == DLB_ELEMENT_NONE)
        dlb_shape_odd(shape,
                      "its type, \"%s\", is neither a little-endian whole number nor a float, so "
                      "rows are read as bytes: their type is not kept",
                      ds->array.npy.descr);
    return rc;
}

static void npz_close(void *state)
{
    struct npz *ds = state;
    if (ds->is_open)
        ds->file.io->close(ds->file.handle);
    dlb_npz_free(&ds->array);
    free(ds->path);
    *ds = (struct npz){.is_open = false};
}

static int npz_reader_open(void *rd, const void *state, struct dlb_err *err)
{
    struct npz_reader *reader = rd;
    const struct npz *ds = state;

    reader->ds = ds;
    if (!ds->array.deflated)
        return DLB_OK;
    return dlb_npz_inflate(&ds->array, &ds->file, &reader->inflated, err);
}

static void npz_reader_close(void *rd)
{
    struct npz_reader *reader = rd;
    free(reader->inflated);
    free(reader->row);
    *reader = (struct npz_reader){.ds = NULL};
}

static int read_stored(struct npz_reader *reader, uint64_t at, uint8_t *dst, struct dlb_err *err)
{
    const struct npz *ds = reader->ds;
    size_t n_bytes = (size_t)ds->array.row_bytes, n_read = 0;
    int rc = ds->file.io->pread(ds->file.handle, dst, n_bytes, ds->array.data_at + at, &n_read,
                                ds->path, err);

    if (rc == DLB_OK && n_read < n_bytes)
        rc = dlb_fail(err, DLB_ERR_FILE_CHANGED, ds->path, ds->array.data_at + at + n_read,
                      "the file was cut short since it was opened");
    return rc;
}

static int npz_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                    struct dlb_err *err)
{
    struct npz_reader *reader = rd;
    const struct npz *ds = reader->ds;
    const struct dlb_npz_array *array = &ds->array;
    uint8_t *dst = dest.data;
    int rc = DLB_OK;

    if (index >= array->n_rows)
        DLB_BUG("sample beyond the data set");
    uint64_t at = array->npy.data_at + index * array->row_bytes; /* in the member */
    if (!dst || dest.cap_bytes < array->row_bytes) {
        if (!reader->row && !(reader->row = malloc((size_t)array->row_bytes)))
            return dlb_fail_memory(err, ds->path, array->row_bytes);
        dst = reader->row;
    }
    if (reader->inflated) {
        memcpy(dst, reader->inflated + at, (size_t)array->row_bytes);
        out->io_bytes =
            array->stored_bytes - reader->counted_bytes; /* with the reader's first row */
        reader->counted_bytes = array->stored_bytes;
    } else {
        rc = read_stored(reader, at, dst, err);
        out->io_bytes = array->row_bytes;
    }
    out->field[0].data = dst;
    out->field[0].len_bytes = (size_t)array->row_bytes;
    out->field[0].name = "";
    out->n_fields = 1;
    out->label = 0;
    out->labelled = false;
    out->element = array->npy.element;
    out->index = index;
    out->path = ds->path;
    out->offset_bytes = reader->inflated ? array->data_at : array->data_at + at;
    return rc;
}

static uint64_t npz_files(const void *state, uint64_t number, char *path, size_t n_path)
{
    if (number == 0)
        (void)snprintf(path, n_path, "%s", ((const struct npz *)state)->path);
    return 1;
}

static const struct dlb_reader npz_reader = {
    .dataset_bytes = sizeof(struct npz),
    .state_bytes = sizeof(struct npz_reader),
    .dataset_open = npz_open,
    .dataset_close = npz_close,
    .open = npz_reader_open,
    .close = npz_reader_close,
    .read = npz_read,
    .files = npz_files,
};

static const struct dlb_generator npz_generator = {
    .units = dlb_npz_gen_units,
    .prepare = dlb_npz_gen_prepare,
    .unit = dlb_npz_gen_unit,
    .number = dlb_gen_number_by_index,
};

const struct dlb_format dlb_fmt_npz = {
    .name = "npz",
    .summary = "the rows of an array in a .npz or .npy file (numpy.savez, savez_compressed, save)",
    .opts = &dlb_npz_group,
    .numbers = true,
    .made = "data.npz",
    .probe = dlb_npz_probe,
    .reader = &npz_reader,
    .generator = &npz_generator,
};
