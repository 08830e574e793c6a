/* Starting libhdf5, opening files of unknown origin, and reading through it. */
#include "formats/hdf5/library.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_HDF5

#include "formats/hdf5/filters.h"

#include <errno.h>
#include <hdf5.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRIES = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static bool has_own_lock;

/* liblzf as libhdf5's filter 32000, under which h5py registers it. */
static size_t lzf_filter(unsigned flags, size_t n_values, const unsigned values[], size_t n_bytes,
                         size_t *cap_bytes, void **data)
{
    bool unpack = flags & H5Z_FLAG_REVERSE;
    /* h5py stores the chunk's size as the third value. Without it, guess and grow. */
    size_t cap = !unpack ? n_bytes - 1 : n_values > 2 && values[2] ? values[2] : *cap_bytes;
    size_t n_out = 0;
    void *out = NULL;

    for (int tries = 0; n_bytes > 1 && n_out == 0 && tries < (unpack ? 8 : 1); tries++, cap *= 2) {
        (void)H5free_memory(out);
        out = H5allocate_memory(cap, false);
        if (!out)
            return 0;
        n_out = unpack ? dlb_hdf5_lzf_unpack(*data, n_bytes, out, cap)
                       : dlb_hdf5_lzf_pack(*data, n_bytes, out, cap);
    }
    if (n_out == 0) {
        (void)H5free_memory(out);
        return 0;
    }
    (void)H5free_memory(*data);
    *data = out;
    *cap_bytes = n_out;
    return n_out;
}

/* The filter's values, as h5py writes them: versions of the filter and of liblzf, and the chunk's
 * size, by which a reader knows how much to unpack. */
static herr_t lzf_set_local(hid_t dcpl, hid_t type, hid_t space)
{
    unsigned values[3] = {4, 0x0105, 0};
    hsize_t dims[DLB_HDF5_MAX_RANK];
    int rank = H5Pget_chunk(dcpl, DLB_HDF5_MAX_RANK, dims);
    size_t n_bytes = H5Tget_size(type);
    (void)space;

    for (int i = 0; i < rank; i++)
        n_bytes *= dims[i];
    values[2] = (unsigned)n_bytes;
    return H5Pmodify_filter(dcpl, DLB_HDF5_LZF, H5Z_FLAG_OPTIONAL, 3, values);
}

static void start(void)
{
    static const H5Z_class2_t lzf = {.version = H5Z_CLASS_T_VERS,
                                     .id = DLB_HDF5_LZF,
                                     .encoder_present = 1,
                                     .decoder_present = 1,
                                     .name = "lzf",
                                     .set_local = lzf_set_local,
                                     .filter = lzf_filter};
    hbool_t threadsafe = false;

    (void)H5dont_atexit(); /* the code that opens a handle closes it */
    (void)H5open();
    (void)H5is_library_threadsafe(&threadsafe);
    has_own_lock = threadsafe;
    if (dlb_hdf5_has_lzf())
        (void)H5Zregister(&lzf);
}

void dlb_hdf5_enter(void)
{
    static _Thread_local bool quiet;

    (void)pthread_once(&started, start);
    if (!has_own_lock)
        (void)pthread_mutex_lock(&lock);
    if (!quiet) { /* each thread has its own stack of errors */
        (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        quiet = true;
    }
}

void dlb_hdf5_leave(void)
{
    if (!has_own_lock)
        (void)pthread_mutex_unlock(&lock);
}

struct reason {
    char text[160];
    int code; /* errno, where a system call failed; else 0 */
};

/* The innermost error comes first. For a system call, errno stands in the middle of a long text
 * with the time and the buffer's address. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *out)
{
    struct reason *reason = out;

    if (n > 0 || !error->desc)
        return 0;
    (void)snprintf(reason->text, sizeof reason->text, "%s", error->desc);
    const char *number = strstr(error->desc, "errno = ");
    if (number && (error->maj_num == H5E_IO || error->maj_num == H5E_FILE))
        reason->code = atoi(number + strlen("errno = "));
    return 0;
}

int dlb_hdf5_fail(struct dlb_err *err, enum dlb_code code, const char *path, const char *doing)
{
    struct reason reason = {"no reason given", 0};

    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
    (void)H5Eclear2(H5E_DEFAULT);
    if (reason.code > 0) {
        errno = reason.code;
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, doing);
    }
    return dlb_fail(err, code, path, DLB_NO_OFFSET, "%s: libhdf5: %s", doing, reason.text);
}

int dlb_hdf5_open_file(const char *path, int64_t *file, struct dlb_err *err)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

#if H5_VERSION_GE(1, 10, 7)
    /* Nothing is written, and many network file systems have no locks. */
    (void)H5Pset_file_locking(fapl, false, true);
#endif
    int rc = DLB_OK, tries = 0;
    do { /* libhdf5 does not repeat an open that a signal ended */
        *file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
        /* Before the next call, which clears the reason. */
        rc = *file < 0 ? dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "opening it") : DLB_OK;
    } while (rc != DLB_OK && err->sys_errno == EINTR && ++tries < MAX_TRIES);
    (void)H5Pclose(fapl);
    return rc;
}

static herr_t refuse_link(const char *parent_file, const char *parent_group, const char *child_file,
                          const char *child_object, unsigned *flags, hid_t fapl, void *refused)
{
    (void)parent_file, (void)parent_group, (void)child_file, (void)child_object;
    (void)flags, (void)fapl;
    *(bool *)refused = true;
    return -1;
}

static int refuse(struct dlb_err *err, const char *path, const char *name, const char *what)
{
    return dlb_fail(err, DLB_ERR_HDF5_EXTERNAL, path, DLB_NO_OFFSET,
                    "%.*s %s: other files are read only with hdf5.allow_external = true",
                    DLB_CUT(name, 200), what);
}

static int check_external(int64_t set, const char *path, const char *name, struct dlb_err *err)
{
    hid_t dcpl = H5Dget_create_plist(set);
    int rc = DLB_OK;

    if (dcpl < 0)
        return dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path,
                             "reading the data set's properties");
    H5D_layout_t layout = H5Pget_layout(dcpl);
    if (layout == H5D_VIRTUAL)
        rc = refuse(err, path, name, "is a virtual data set");
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(dcpl) != 0)
        rc = refuse(err, path, name, "has external storage");
    (void)H5Pclose(dcpl);
    return rc;
}

int dlb_hdf5_open_set(int64_t file, const char *path, const char *name, bool allow_external,
                      int64_t *set, struct dlb_err *err)
{
    bool refused = false;
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    char doing[256];

    /* HDF5_PLUGIN_PATH makes libhdf5 load and run filters from these folders. */
    if (getenv("HDF5_PLUGIN_PATH") && !allow_external) {
        unsigned n = 0;
        while (H5PLsize(&n) >= 0 && n > 0 && H5PLremove(n - 1) >= 0)
            continue;
        (void)H5PLappend(H5_DEFAULT_PLUGINDIR);
    }
    if (!allow_external)
        (void)H5Pset_elink_cb(dapl, refuse_link, &refused);
    int rc = DLB_OK;
    *set = H5Dopen2(file, name, dapl);
    if (*set < 0) { /* before the next call, which clears the reason */
        (void)snprintf(doing, sizeof doing, "opening data set %.*s", DLB_CUT(name, 200));
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, doing);
    }
    (void)H5Pclose(dapl);
    if (refused)
        rc = refuse(err, path, name, "is behind a link to another file");
    return rc != DLB_OK || allow_external ? rc : check_external(*set, path, name, err);
}

/* Whether the file is still what dlb_hdf5_look found. */
static int check_same(const struct dlb_hdf5_handle *handle, const struct dlb_hdf5_about *about,
                      struct dlb_err *err)
{
    hsize_t dims[DLB_HDF5_MAX_RANK];

    if (H5Sget_simple_extent_ndims(handle->space) != (int)about->rank ||
        H5Sget_simple_extent_dims(handle->space, dims, NULL) < 0 ||
        H5Tget_size(handle->type) != about->element_bytes)
        return dlb_fail(err, DLB_ERR_HDF5_CHANGED, handle->path, DLB_NO_OFFSET,
                        "the data set has another rank or type than when it was opened");
    for (uint32_t i = 0; i < about->rank; i++)
        if (dims[i] != about->dims[i])
            return dlb_fail(err, DLB_ERR_HDF5_CHANGED, handle->path, DLB_NO_OFFSET,
                            "the data set has another size than when it was opened");
    return DLB_OK;
}

int dlb_hdf5_library_open(struct dlb_hdf5_handle *handle, const char *path,
                          const struct dlb_hdf5_about *about, bool allow_external,
                          struct dlb_err *err)
{
    *handle = (struct dlb_hdf5_handle){
        .path = path, .file = -1, .set = -1, .type = -1, .space = -1, .memory = -1};
    handle->rank = about->rank;
    memcpy(handle->count, about->dims, sizeof handle->count);
    handle->count[0] = 1;
    dlb_hdf5_enter();
    int rc = dlb_hdf5_open_file(path, &handle->file, err);
    if (rc == DLB_OK)
        rc = dlb_hdf5_open_set(handle->file, path, about->dataset, allow_external, &handle->set,
                               err);
    if (rc == DLB_OK) {
        handle->type = H5Dget_type(handle->set);
        handle->space = H5Dget_space(handle->set);
        rc = check_same(handle, about, err);
    }
    if (rc == DLB_OK) {
        handle->memory = H5Screate_simple((int)handle->rank, (hsize_t *)handle->count, NULL);
        if (handle->memory < 0)
            rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "making a space for a sample");
    }
    dlb_hdf5_leave();
    return rc;
}

void dlb_hdf5_library_close(struct dlb_hdf5_handle *handle)
{
    if (!handle->path)
        return;
    dlb_hdf5_enter();
    if (handle->memory >= 0)
        (void)H5Sclose(handle->memory);
    if (handle->space >= 0)
        (void)H5Sclose(handle->space);
    if (handle->type >= 0)
        (void)H5Tclose(handle->type);
    if (handle->set >= 0)
        (void)H5Dclose(handle->set);
    if (handle->file >= 0)
        (void)H5Fclose(handle->file);
    dlb_hdf5_leave();
    *handle = (struct dlb_hdf5_handle){.path = NULL};
}

int dlb_hdf5_library_read(struct dlb_hdf5_handle *handle, uint64_t first, uint64_t count,
                          uint8_t *dst, struct dlb_err *err)
{
    int rc = DLB_OK;

    dlb_hdf5_enter();
    handle->first[0] = first;
    if (count != handle->count[0]) {
        handle->count[0] = count;
        if (H5Sset_extent_simple(handle->memory, (int)handle->rank, (hsize_t *)handle->count,
                                 NULL) < 0)
            rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, handle->path,
                               "making a space for a sample");
    }
    if (rc == DLB_OK &&
        (H5Sselect_hyperslab(handle->space, H5S_SELECT_SET, (hsize_t *)handle->first, NULL,
                             (hsize_t *)handle->count, NULL) < 0 ||
         H5Dread(handle->set, handle->type, handle->memory, handle->space, H5P_DEFAULT, dst) < 0)) {
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, handle->path, "reading a sample");
    }
    dlb_hdf5_leave();
    return rc;
}

/* Makes room for n_bytes at *dst, whose content is lost. */
static int make_room(const struct dlb_hdf5_handle *handle, uint64_t n_bytes, uint8_t **dst,
                     size_t *cap, struct dlb_err *err)
{
    if (*cap >= n_bytes)
        return DLB_OK;
    free(*dst);
    *dst = malloc(n_bytes);
    *cap = *dst ? n_bytes : 0;
    return *dst ? DLB_OK : dlb_fail_memory(err, handle->path, n_bytes);
}

/* libhdf5 1.10 reports an error both for a chunk that was never written and for a damaged index. An
 * ordinary read tells them apart: it gives the fill value for the former and fails for the latter.
 */
static int stored_size(struct dlb_hdf5_handle *handle, const hsize_t *first, hsize_t *n_stored,
                       uint8_t **dst, size_t *cap, struct dlb_err *err)
{
    if (H5Dget_chunk_storage_size(handle->set, first, n_stored) >= 0)
        return DLB_OK;
    *n_stored = 0;
    int rc = make_room(handle, H5Tget_size(handle->type), dst, cap, err);
    if (rc != DLB_OK)
        return rc;
    hid_t one = H5Screate(H5S_SCALAR);
    if (H5Sselect_elements(handle->space, H5S_SELECT_SET, 1, first) < 0 ||
        H5Dread(handle->set, handle->type, one, handle->space, H5P_DEFAULT, *dst) < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, handle->path, "looking up a chunk");
    (void)H5Sclose(one);
    return rc;
}

int dlb_hdf5_library_chunk(struct dlb_hdf5_handle *handle, const uint64_t *at, uint8_t **dst,
                           size_t *cap, uint32_t *n_bytes, uint32_t *mask, struct dlb_err *err)
{
    hsize_t first[DLB_HDF5_MAX_RANK], n_stored = 0;

    for (uint32_t i = 0; i < handle->rank; i++)
        first[i] = at[i];
    dlb_hdf5_enter();
    *n_bytes = 0;
    int rc = stored_size(handle, first, &n_stored, dst, cap, err);
    if (rc == DLB_OK && n_stored > UINT32_MAX)
        rc = dlb_fail(err, DLB_ERR_HDF5_CHUNK_DAMAGED, handle->path, DLB_NO_OFFSET,
                      "a chunk has %llu stored bytes, more than 4 GiB: it is damaged",
                      (unsigned long long)n_stored);
    if (rc == DLB_OK)
        rc = make_room(handle, n_stored, dst, cap, err);
    if (rc == DLB_OK && n_stored > 0 &&
        H5Dread_chunk(handle->set, H5P_DEFAULT, first, mask, *dst) < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, handle->path, "reading a chunk");
    if (rc == DLB_OK)
        *n_bytes = (uint32_t)n_stored;
    dlb_hdf5_leave();
    return rc;
}

#endif
