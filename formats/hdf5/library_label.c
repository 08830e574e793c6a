/* What lies beside an HDF5 data set in its group: labels, and where samples of many sizes begin. */
#include "formats/hdf5/library.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_HDF5

#include "formats/headroom.h"

#include <hdf5.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_LABELS = 1 << 27 }; /* read at a time: chunks of many labels are unpacked rarely */

/* The path of `name` in the data set's group. False when it is too long. */
static bool beside(const char *dataset, const char *name, char *out, size_t n_out)
{
    int n_group = (int)(strrchr(dataset, '/') + 1 - dataset);
    int n = snprintf(out, n_out, "%.*s%s", n_group, dataset, name);
    return n > 0 && (size_t)n < n_out;
}

/* Whether `set` is a list of n whole numbers. */
static bool is_list(hid_t set, uint64_t n, bool exactly_u64)
{
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    hsize_t dims[DLB_HDF5_MAX_RANK] = {0};
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool fits = type >= 0 && H5Tget_class(type) == H5T_INTEGER && rank >= 1 && rank <= 2 &&
                H5Sget_simple_extent_dims(space, dims, NULL) == rank && dims[0] == n &&
                (rank == 1 || dims[1] == 1) && (!exactly_u64 || H5Tequal(type, H5T_STD_U64LE) > 0);

    if (type >= 0)
        (void)H5Tclose(type);
    if (space >= 0)
        (void)H5Sclose(space);
    return fits;
}

static int fail_many(const char *path, const char *name, uint64_t n, const char *advice,
                     struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_HDF5_DATASET_UNFIT, path, DLB_NO_OFFSET,
                    "%.*s has %llu numbers, and at most %llu are read: split the file%s",
                    DLB_CUT(name, 200), (unsigned long long)n,
                    (unsigned long long)DLB_HDF5_MAX_LIST, advice);
}

/* Zeros: libhdf5 leaves numbers that were never written as they were. */
static int make_list(void **list, uint64_t n, uint64_t each_bytes, const char *path,
                     struct dlb_err *err)
{
    int rc = dlb_headroom_check(n * each_bytes, path, "the list of its labels or offsets",
                                "read it where there is more", err);

    if (rc == DLB_OK && !(*list = calloc(n, each_bytes)))
        rc = dlb_fail_memory(err, path, n * each_bytes);
    return rc;
}

static int take_labels(const int64_t *wide, uint64_t first, uint64_t n, const char *path,
                       const char *name, uint32_t *label, struct dlb_err *err)
{
    for (uint64_t i = 0; i < n; i++) {
        if (wide[i] < 0 || wide[i] > UINT32_MAX)
            return dlb_fail(err, DLB_ERR_HDF5_LABEL_NO_CLASS, path, DLB_NO_OFFSET,
                            "label %lld%s of sample %llu in %.*s is not a class: hdf5.label = "
                            "\"none\" leaves labels out",
                            (long long)wide[i], wide[i] == INT64_MAX ? " or more" : "",
                            (unsigned long long)(first + i), DLB_CUT(name, 200));
        label[first + i] = (uint32_t)wide[i];
    }
    return DLB_OK;
}

/* `set` has one dimension, or a second one of 1. */
static int read_block(hid_t set, const char *path, uint64_t at, uint64_t n, int64_t *wide,
                      struct dlb_err *err)
{
    hsize_t first[2] = {at, 0}, count[2] = {n, 1};
    hid_t space = H5Dget_space(set), memory = H5Screate_simple(1, count, NULL);
    int rc = DLB_OK;

    memset(wide, 0, n * sizeof *wide);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL) < 0 ||
        H5Dread(set, H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, wide) < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path, "reading the labels");
    if (space >= 0)
        (void)H5Sclose(space);
    if (memory >= 0)
        (void)H5Sclose(memory);
    return rc;
}

static int read_label(hid_t set, const char *path, const char *name, struct dlb_hdf5_facts *facts,
                      uint64_t n, struct dlb_err *err)
{
    uint64_t block = n < BLOCK_LABELS ? n : BLOCK_LABELS;
    int64_t *wide = NULL;
    int rc = make_list((void **)&wide, block, sizeof *wide, path, err);

    if (rc == DLB_OK)
        rc = make_list((void **)&facts->label, n, sizeof *facts->label, path, err);
    for (uint64_t at = 0; rc == DLB_OK && at < n; at += block) {
        uint64_t here = n - at < block ? n - at : block;
        rc = read_block(set, path, at, here, wide, err);
        if (rc == DLB_OK)
            rc = take_labels(wide, at, here, path, name, facts->label, err);
    }
    facts->about.n_labels = rc == DLB_OK ? n : 0;
    free(wide);
    return rc;
}

/* The labels that hdf5.label names, or those that lie beside the data. */
int dlb_hdf5_library_labels(int64_t file, const char *path, const struct dlb_hdf5_opts *opts,
                            struct dlb_hdf5_facts *facts, uint64_t n_samples, struct dlb_err *err)
{
    static const char *const usual[] = {"label", "labels"};
    bool asked = opts->label[0] != '\0';
    char name[DLB_HDF5_PATH_CAP];
    int64_t set = -1;
    int rc = DLB_OK;

    if (strcmp(opts->label, "none") == 0 || n_samples == 0)
        return DLB_OK;
    for (int i = 0; set < 0 && !asked && i < 2; i++)
        if (beside(facts->about.dataset, usual[i], name, sizeof name) &&
            strcmp(name, facts->about.dataset) != 0 && H5Lexists(file, name, H5P_DEFAULT) > 0 &&
            dlb_hdf5_open_set(file, path, name, false, &set, err) != DLB_OK)
            facts->about.label_refused = true;
    char second[DLB_HDF5_PATH_CAP];
    facts->about.more_labels = set >= 0 && strcmp(strrchr(name, '/') + 1, usual[0]) == 0 &&
                               beside(facts->about.dataset, usual[1], second, sizeof second) &&
                               strcmp(second, facts->about.dataset) != 0 &&
                               H5Lexists(file, second, H5P_DEFAULT) > 0;
    if (asked) {
        (void)snprintf(name, sizeof name, "%s%s", opts->label[0] == '/' ? "" : "/", opts->label);
        rc = dlb_hdf5_open_set(file, path, name, opts->allow_external, &set, err);
        if (rc != DLB_OK && err->code == DLB_ERR_HDF5_READ_FAILED && !dlb_hdf5_is_there(file, name))
            rc = dlb_fail(err, DLB_ERR_HDF5_LABEL_UNFIT, path, DLB_NO_OFFSET,
                          "hdf5.label = \"%.*s\" is not in the file", DLB_CUT(opts->label, 200));
    }
    if (rc != DLB_OK || set < 0)
        return rc;
    bool fits = is_list(set, n_samples, false);
    if (fits && n_samples > DLB_HDF5_MAX_LIST)
        rc = fail_many(path, name, n_samples, ", or leave labels out: hdf5.label = \"none\"", err);
    else if (fits)
        rc = read_label(set, path, name, facts, n_samples, err);
    else if (asked)
        rc = dlb_fail(
            err, DLB_ERR_HDF5_LABEL_UNFIT, path, DLB_NO_OFFSET,
            "hdf5.label = \"%.*s\" is not a list of %llu whole numbers, one for each sample",
            DLB_CUT(name, 200), (unsigned long long)n_samples);
    else
        facts->about.label_refused = true;
    (void)H5Dclose(set);
    return rc;
}

/* Samples of many sizes lie back to back in NAME; NAME_offsets says where each begins. */
int dlb_hdf5_library_offsets(int64_t file, const char *path, struct dlb_hdf5_facts *facts,
                             struct dlb_err *err)
{
    struct dlb_hdf5_about *about = &facts->about;
    char leaf[DLB_HDF5_PATH_CAP + 16], name[DLB_HDF5_PATH_CAP];
    int64_t set = -1;
    hsize_t n = 0;
    int rc = DLB_OK;

    (void)snprintf(leaf, sizeof leaf, "%s_offsets", strrchr(about->dataset, '/') + 1);
    if (!beside(about->dataset, leaf, name, sizeof name) || H5Lexists(file, name, H5P_DEFAULT) <= 0)
        return DLB_OK;
    about->offsets_unused = about->rank != 1 || about->element != DLB_ELEMENT_U8;
    if (about->offsets_unused)
        return DLB_OK;
    rc = dlb_hdf5_open_set(file, path, name, false, &set, err);
    if (rc != DLB_OK)
        return rc;
    hid_t space = H5Dget_space(set);
    if (space >= 0 && H5Sget_simple_extent_ndims(space) == 1)
        (void)H5Sget_simple_extent_dims(space, &n, NULL);
    if (space >= 0)
        (void)H5Sclose(space);
    if (n < 2 || !is_list(set, n, true))
        rc = dlb_fail(err, DLB_ERR_HDF5_OFFSETS_DAMAGED, path, DLB_NO_OFFSET,
                      "%.*s is not a list of u64, one more than there are samples",
                      DLB_CUT(name, 200));
    else if (n > DLB_HDF5_MAX_LIST)
        rc = fail_many(path, name, n, "", err);
    else
        rc = make_list((void **)&facts->offset, n, sizeof *facts->offset, path, err);
    if (rc == DLB_OK &&
        H5Dread(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, facts->offset) < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_READ_FAILED, path,
                           "reading the offsets of the samples");
    about->n_offsets = rc == DLB_OK ? n : 0;
    (void)H5Dclose(set);
    return rc;
}

#endif
