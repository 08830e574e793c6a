/* Looking at a file through libhdf5: the data set's layout and labels. Runs in a process of
 * its own (formats/hdf5/look.c). */
#include "formats/hdf5/library.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_HDF5

#include <hdf5.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this a walk of libhdf5's index takes noticeable time. */
enum { MANY_CHUNKS = 20000 };

static int element_of(hid_t type)
{
    size_t n = H5Tget_size(type), spos, epos, esize, mpos, msize;
    H5T_class_t class = H5Tget_class(type);
    bool is_signed = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;

    if ((n > 1 && H5Tget_order(type) != H5T_ORDER_LE) || H5Tget_precision(type) != n * 8)
        return DLB_ELEMENT_NONE;
    if (class == H5T_INTEGER)
        return n == 1   ? (is_signed ? DLB_ELEMENT_I8 : DLB_ELEMENT_U8)
               : n == 2 ? (is_signed ? DLB_ELEMENT_I16 : DLB_ELEMENT_U16)
               : n == 4 ? (is_signed ? DLB_ELEMENT_I32 : DLB_ELEMENT_U32)
               : n == 8 ? (is_signed ? DLB_ELEMENT_I64 : DLB_ELEMENT_U64)
                        : DLB_ELEMENT_NONE;
    if (class != H5T_FLOAT)
        return DLB_ELEMENT_NONE;
    if (H5Tequal(type, H5T_IEEE_F32LE) > 0)
        return DLB_ELEMENT_F32;
    if (H5Tequal(type, H5T_IEEE_F64LE) > 0)
        return DLB_ELEMENT_F64;
    bool half = n == 2 && H5Tget_fields(type, &spos, &epos, &esize, &mpos, &msize) >= 0 &&
                spos == 15 && epos == 10 && esize == 5 && mpos == 0 && msize == 10;
    return half ? DLB_ELEMENT_F16 : DLB_ELEMENT_NONE;
}

static bool is_bytes(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    return class == H5T_STRING || class == H5T_OPAQUE;
}

static int about_type(hid_t set, const char *path, struct dlb_hdf5_about *about,
                      struct dlb_err *err)
{
    hid_t type = H5Dget_type(set);
    int rc = DLB_OK;

    if (type < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path,
                             "reading the type of the elements");
    if (!dlb_hdf5_fixed_size(type) || H5Tget_size(type) > UINT32_MAX)
        rc = dlb_fail(err, DLB_ERR_HDF5_DATASET_UNFIT, path, DLB_NO_OFFSET,
                      "%.*s has elements of variable length, or references: only elements of one "
                      "size are read",
                      DLB_CUT(about->dataset, 200));
    about->element_bytes = (uint32_t)H5Tget_size(type);
    about->element = element_of(type);
    about->other_numbers = about->element == DLB_ELEMENT_NONE && !is_bytes(type);
    (void)H5Tclose(type);
    return rc;
}

static int about_space(hid_t set, const char *path, struct dlb_hdf5_about *about,
                       struct dlb_err *err)
{
    hid_t space = H5Dget_space(set);
    hsize_t dims[DLB_HDF5_MAX_RANK];
    int rc = DLB_OK;

    if (space < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "reading the dimensions");
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 1 || rank > DLB_HDF5_MAX_RANK)
        rc = dlb_fail(err, DLB_ERR_HDF5_DATASET_UNFIT, path, DLB_NO_OFFSET,
                      "%.*s has %d dimensions: the first one counts samples, so 1 to 32 are needed",
                      DLB_CUT(about->dataset, 200), rank < 0 ? 0 : rank);
    else if (H5Sget_simple_extent_dims(space, dims, NULL) != rank)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "reading the dimensions");
    for (int i = 0; rc == DLB_OK && i < rank; i++)
        about->dims[i] = dims[i];
    about->rank = (uint32_t)rank;
    (void)H5Sclose(space);
    return rc;
}

static void about_fill(hid_t set, hid_t dcpl, struct dlb_hdf5_about *about)
{
    H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
    H5D_fill_time_t when = H5D_FILL_TIME_ERROR;
    hid_t type = H5Dget_type(set);

    (void)H5Pfill_value_defined(dcpl, &defined);
    (void)H5Pget_fill_time(dcpl, &when);
    about->fills = when != H5D_FILL_TIME_NEVER &&
                   (defined == H5D_FILL_VALUE_DEFAULT || defined == H5D_FILL_VALUE_USER_DEFINED);
    if (about->fills && defined == H5D_FILL_VALUE_USER_DEFINED) {
        about->fill_too_large = about->element_bytes > sizeof about->fill;
        if (!about->fill_too_large && H5Pget_fill_value(dcpl, type, about->fill) < 0)
            about->fill_too_large = true;
    }
    if (type >= 0)
        (void)H5Tclose(type);
}

static int about_filters(hid_t dcpl, const char *path, struct dlb_hdf5_about *about,
                         struct dlb_err *err)
{
    int n = H5Pget_nfilters(dcpl);

    if (n < 0 || n > DLB_HDF5_MAX_FILTERS)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "reading the filters");
    for (int i = 0; i < n; i++) {
        unsigned flags = 0, values[8] = {0}, config = 0;
        size_t n_values = 8;
        H5Z_filter_t id =
            H5Pget_filter2(dcpl, (unsigned)i, &flags, &n_values, values, 0, NULL, &config);
        if (id < 0)
            return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "reading the filters");
        about->filter[i] = (struct dlb_hdf5_filter){(uint32_t)id, values[0]};
    }
    about->n_filters = (uint32_t)n;
    return DLB_OK;
}

static int about_layout(hid_t set, const char *path, struct dlb_hdf5_about *about,
                        struct dlb_err *err)
{
    hid_t dcpl = H5Dget_create_plist(set);
    hsize_t chunk[DLB_HDF5_MAX_RANK];
    H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
    unsigned options = 0;
    int rc = DLB_OK;

    if (dcpl < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path,
                             "reading the data set's properties");
    H5D_layout_t layout = H5Pget_layout(dcpl);
    about->layout = layout == H5D_CHUNKED   ? DLB_HDF5_CHUNKED
                    : layout == H5D_COMPACT ? DLB_HDF5_COMPACT
                                            : DLB_HDF5_CONTIGUOUS;
    if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(dcpl) != 0))
        about->layout = DLB_HDF5_ELSEWHERE;
    about_fill(set, dcpl, about);
    about->data_at = DLB_NO_OFFSET;
    if (about->layout == DLB_HDF5_CONTIGUOUS) {
        haddr_t at = H5Dget_offset(set);
        about->data_at = at == HADDR_UNDEF ? DLB_NO_OFFSET : at;
    } else if (about->layout == DLB_HDF5_CHUNKED) {
        rc = about_filters(dcpl, path, about, err);
        if (rc == DLB_OK && (H5Pget_chunk(dcpl, DLB_HDF5_MAX_RANK, chunk) != (int)about->rank ||
                             H5Dget_chunk_index_type(set, &index) < 0))
            rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path,
                               "reading the shape of the chunks");
        for (uint32_t i = 0; rc == DLB_OK && i < about->rank; i++)
            about->chunk[i] = chunk[i];
        about->index = (int)index;
        if (H5Pget_chunk_opts(dcpl, &options) >= 0)
            about->plain_edges = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    }
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5Pclose(dcpl);
    return rc;
}

static uint64_t grid_of(const struct dlb_hdf5_about *about)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < about->rank; i++)
        if (__builtin_mul_overflow(n, dlb_hdf5_grid(about, i), &n))
            return UINT64_MAX;
    return n;
}

/* The chunk that covers element `at`, or {0} when it is not stored. */
static int chunk_at(hid_t set, const hsize_t *at, const char *path, struct dlb_hdf5_chunk *out,
                    struct dlb_err *err)
{
    haddr_t address = HADDR_UNDEF;
    hsize_t n_bytes = 0;
    unsigned mask = 0;

    *out = (struct dlb_hdf5_chunk){0};
    if (H5Dget_chunk_info_by_coord(set, at, &mask, &address, &n_bytes) < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "looking up a chunk");
    if (address != HADDR_UNDEF)
        *out = (struct dlb_hdf5_chunk){address, (uint32_t)n_bytes, mask};
    return DLB_OK;
}

/* Asks libhdf5 for a few chunks of a version-1 B-tree, to check our own reading of it. */
static int sample_chunks(hid_t set, const char *path, struct dlb_hdf5_about *about,
                         struct dlb_err *err)
{
    uint64_t n_grid = grid_of(about);
    uint32_t n = n_grid > MANY_CHUNKS ? 3 : DLB_HDF5_MAX_SAMPLED;

    if (n_grid == 0 || n_grid == UINT64_MAX)
        return DLB_OK;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = n_grid > 1 ? (uint64_t)((double)(n_grid - 1) * i / (n - 1)) : 0;
        struct dlb_hdf5_listed *sampled = &about->sampled[about->n_sampled];
        hsize_t at[DLB_HDF5_MAX_RANK];
        uint64_t left = number;
        for (uint32_t dim = about->rank; dim-- > 0; left /= dlb_hdf5_grid(about, dim))
            at[dim] = left % dlb_hdf5_grid(about, dim) * about->chunk[dim];
        int rc = chunk_at(set, at, path, &sampled->chunk, err);
        if (rc != DLB_OK)
            return rc;
        sampled->number = number;
        about->n_sampled++;
    }
    return DLB_OK;
}

/* The next of the listed chunks, `i` of those that are stored. */
static int add_listed(hid_t set, hid_t space, hsize_t i, const char *path,
                      struct dlb_hdf5_facts *facts, struct dlb_err *err)
{
    struct dlb_hdf5_about *about = &facts->about;
    hsize_t at[DLB_HDF5_MAX_RANK], n_bytes = 0;
    haddr_t address = HADDR_UNDEF;
    unsigned mask = 0;
    uint64_t number = 0;

    if (H5Dget_chunk_info(set, space, i, at, &mask, &address, &n_bytes) < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "looking up a chunk");
    for (uint32_t dim = 0; dim < about->rank; dim++)
        number = number * dlb_hdf5_grid(about, dim) + at[dim] / about->chunk[dim];
    if (address != HADDR_UNDEF && n_bytes > 0 && n_bytes <= UINT32_MAX)
        facts->listed[about->n_listed++] = (struct dlb_hdf5_listed){
            number, {.at_bytes = address, .n_bytes = (uint32_t)n_bytes, .mask = mask}};
    return DLB_OK;
}

/* Asks libhdf5 for all chunks, unless there are too many. */
static int list_chunks(hid_t set, const char *path, struct dlb_hdf5_facts *facts,
                       struct dlb_err *err)
{
    struct dlb_hdf5_about *about = &facts->about;
    hid_t space = H5Dget_space(set);
    hsize_t n = 0;
    int rc = DLB_OK;

    if (space < 0 || H5Dget_num_chunks(set, space, &n) < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "counting the chunks");
    about->n_chunks = n;
    bool listed = rc == DLB_OK && n > 0 && n <= DLB_HDF5_MAX_LISTED;
    if (listed && !(facts->listed = calloc(n, sizeof *facts->listed)))
        rc = dlb_fail_memory(err, path, n * sizeof *facts->listed);
    for (hsize_t i = 0; rc == DLB_OK && listed && i < n; i++)
        rc = add_listed(set, space, i, path, facts, err);
    if (space >= 0)
        (void)H5Sclose(space);
    return rc;
}

static int about_set(int64_t file, const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                     struct dlb_hdf5_facts *facts, struct dlb_err *err)
{
    struct dlb_hdf5_about *about = &facts->about;
    H5O_info_t info = {0}, root = {0};
    int64_t set = -1;

    int rc = dlb_hdf5_open_set(file, path, about->dataset, opts->allow_external, &set, err);
    if (rc != DLB_OK && err->code == DLB_ERR_HDF5_READ_FAILED && opts->dataset[0])
        return dlb_hdf5_explain_missing(file, path, opts, about->dataset, err);
    if (rc != DLB_OK)
        return rc;
    rc = about_type(set, path, about, err);
    if (rc == DLB_OK)
        rc = about_space(set, path, about, err);
    if (rc == DLB_OK)
        rc = about_layout(set, path, about, err);
    if (rc == DLB_OK && (H5Oget_info2(set, &info, H5O_INFO_BASIC) < 0 ||
                         H5Oget_info2(file, &root, H5O_INFO_BASIC) < 0))
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "reading the place of the header");
    if (rc == DLB_OK) {
        about->header_at = info.addr;
        if (info.fileno != root.fileno) /* reached through a link to another file */
            about->layout = DLB_HDF5_ELSEWHERE;
        about->stored_bytes = H5Dget_storage_size(set);
    }
    if (rc == DLB_OK && chunks && about->layout == DLB_HDF5_CHUNKED)
        rc = about->index == DLB_HDF5_BTREE_1 ? sample_chunks(set, path, about, err)
                                              : list_chunks(set, path, facts, err);
    if (set >= 0)
        (void)H5Dclose(set);
    return rc;
}

int dlb_hdf5_library_about(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                           struct dlb_hdf5_facts *facts, struct dlb_err *err)
{
    struct dlb_hdf5_about *about = &facts->about;
    int64_t file = -1;

    *facts = (struct dlb_hdf5_facts){.label = NULL};
    dlb_hdf5_enter();
    int rc = dlb_hdf5_open_file(path, &file, err);
    if (rc == DLB_OK)
        rc = dlb_hdf5_find(file, path, opts, about, err);
    if (rc == DLB_OK)
        rc = about_set(file, path, opts, chunks, facts, err);
    if (rc == DLB_OK)
        rc = dlb_hdf5_library_offsets(file, path, facts, err);
    if (rc == DLB_OK)
        rc = dlb_hdf5_library_labels(file, path, opts, facts,
                                     about->n_offsets ? about->n_offsets - 1 : about->dims[0], err);
    if (file >= 0)
        (void)H5Fclose(file);
    dlb_hdf5_leave();
    return rc;
}

#endif
