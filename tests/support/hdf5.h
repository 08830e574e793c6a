/* HDF5 data sets opened in tests, and one reader of each. Header-only; include after
 * support/dataset.h. */
#ifndef DLB_TESTS_HDF5_H
#define DLB_TESTS_HDF5_H

#include "formats/hdf5/about.h"
#include "tests/support/dataset.h"

struct hdf5_set {
    struct dlb_dataset ds;
    void *reader;
    struct dlb_sample sample;
    struct dlb_err err;
};

/* The data set's path; no reader. */
static inline int hdf5_open_path(struct hdf5_set *set, const char *path, int access,
                                 const struct dlb_hdf5_opts *opts)
{
    struct dlb_dataset_opts own = {.format = dataset_place(dlb_format_names, "hdf5"),
                                   .codec = dataset_place(dlb_codec_names, "raw"),
                                   .access = access};
    struct dlb_transform_opts transform = {.size = 32};

    memset(set, 0, sizeof *set);
    (void)snprintf(own.path, sizeof own.path, "%s", path);
    return dlb_dataset_open(&set->ds, &own, &transform, NULL, opts, &set->err);
}

static inline int hdf5_open_set(struct hdf5_set *set, const char *name, int access,
                                const struct dlb_hdf5_opts *opts)
{
    int rc = hdf5_open_path(set, folder_path(name), access, opts);
    if (rc == DLB_OK)
        set->reader = dataset_reader(&set->ds);
    return rc;
}

static inline int hdf5_read_one(struct hdf5_set *set, uint64_t index)
{
    set->sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
    return set->ds.format->reader->read(set->reader, index, (struct dlb_dest){0}, &set->sample,
                                        &set->err);
}

static inline void hdf5_close_set(struct hdf5_set *set)
{
    if (set->reader)
        dataset_reader_free(&set->ds, set->reader);
    dlb_dataset_close(&set->ds);
}

#endif
