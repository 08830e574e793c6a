/* Writing an HDF5 file through libhdf5, for gen and convert. */
#include "formats/hdf5/library.h"

#ifdef DLB_HAVE_HDF5

#include "formats/headroom.h"

#include <hdf5.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELD_BYTES = 1 << 20, /* written at a time; also the chunks of a ragged set */
    DEFLATE_LEVEL = 4,    /* h5py's */
};

/* libhdf5 has no name for it. The fields first: they must fit at any time. */
static hid_t half(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    bool fine = type >= 0 && H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 &&
                H5Tset_size(type, 2) >= 0 && H5Tset_ebias(type, 15) >= 0;

    if (!fine && type >= 0)
        (void)H5Tclose(type);
    return fine ? type : -1;
}

/* To be closed; negative: libhdf5 failed. */
static hid_t type_of(enum dlb_element element)
{
    switch (element) {
    case DLB_ELEMENT_I8:
        return H5Tcopy(H5T_STD_I8LE);
    case DLB_ELEMENT_U16:
        return H5Tcopy(H5T_STD_U16LE);
    case DLB_ELEMENT_I16:
        return H5Tcopy(H5T_STD_I16LE);
    case DLB_ELEMENT_U32:
        return H5Tcopy(H5T_STD_U32LE);
    case DLB_ELEMENT_I32:
        return H5Tcopy(H5T_STD_I32LE);
    case DLB_ELEMENT_U64:
        return H5Tcopy(H5T_STD_U64LE);
    case DLB_ELEMENT_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case DLB_ELEMENT_F32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case DLB_ELEMENT_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case DLB_ELEMENT_F16:
        return half();
    case DLB_ELEMENT_NONE:
    case DLB_ELEMENT_U8:
        break;
    }
    return H5Tcopy(H5T_STD_U8LE);
}

static bool set_filters(hid_t dcpl, enum dlb_hdf5_pack pack)
{
    bool fine = true;

    if (pack == DLB_HDF5_PACK_SHUFFLE_DEFLATE || pack == DLB_HDF5_PACK_SHUFFLE_LZF)
        fine = H5Pset_shuffle(dcpl) >= 0;
    if (pack == DLB_HDF5_PACK_DEFLATE || pack == DLB_HDF5_PACK_SHUFFLE_DEFLATE)
        return fine && H5Pset_deflate(dcpl, DEFLATE_LEVEL) >= 0;
    if (pack == DLB_HDF5_PACK_LZF || pack == DLB_HDF5_PACK_SHUFFLE_LZF)
        return fine && H5Pset_filter(dcpl, DLB_HDF5_LZF, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0;
    return fine;
}

static int create_set(struct dlb_hdf5_out *out, struct dlb_err *err)
{
    const struct dlb_hdf5_plan *plan = &out->plan;
    bool ragged = plan->sample_bytes == 0;
    hsize_t dims[2] = {plan->n_samples, plan->sample_bytes / dlb_element_bytes(plan->element)};
    hsize_t most[2] = {H5S_UNLIMITED, dims[1]}, chunk[2] = {plan->chunk_samples, dims[1]};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = -1;
    int rc = DLB_OK;

    if (ragged) {
        dims[0] = 0;
        chunk[0] = HELD_BYTES;
        space = H5Screate_simple(1, dims, most);
    } else {
        space = H5Screate_simple(2, dims, NULL);
    }
    (void)H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER); /* every byte is written */
    bool fine = space >= 0;
    if (ragged || plan->chunk_samples > 0)
        fine =
            fine && H5Pset_chunk(dcpl, ragged ? 1 : 2, chunk) >= 0 && set_filters(dcpl, plan->pack);
    out->type = type_of(ragged ? DLB_ELEMENT_U8 : plan->element);
    fine = fine && out->type >= 0;
    out->set =
        fine ? H5Dcreate2(out->file, "data", out->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT) : -1;
    if (out->set < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_CREATE_FAILED, out->path, "creating the data set");
    (void)H5Pclose(dcpl);
    if (space >= 0)
        (void)H5Sclose(space);
    return rc;
}

/* What is held, and the lists that are written at the end. */
static int make_memory(struct dlb_hdf5_out *out, struct dlb_err *err)
{
    const struct dlb_hdf5_plan *plan = &out->plan;
    bool labelled = !plan->unlabelled, ragged = plan->sample_bytes == 0;
    uint64_t n_labels = labelled ? plan->n_samples : 0;
    uint64_t n_offsets = ragged ? plan->n_samples + 1 : 0;

    out->cap_held = HELD_BYTES;
    if (!ragged) { /* whole chunks, as many as fit */
        size_t unit = (plan->chunk_samples ? plan->chunk_samples : 1) * plan->sample_bytes;
        out->cap_held = unit >= HELD_BYTES ? unit : HELD_BYTES / unit * unit;
    }
    uint64_t n_bytes =
        out->cap_held + n_labels * sizeof *out->label + n_offsets * sizeof *out->offset;
    int rc = dlb_headroom_check(n_bytes, out->path, "a chunk, and the lists of labels and offsets,",
                                "lower hdf5.chunk_samples, or write fewer samples", err);
    if (rc != DLB_OK)
        return rc;
    out->held = malloc(out->cap_held);
    out->label = labelled ? calloc(n_labels + 1, sizeof *out->label) : NULL;
    out->offset = ragged ? calloc(n_offsets, sizeof *out->offset) : NULL;
    return out->held && (out->label || !labelled) && (out->offset || !ragged)
               ? DLB_OK
               : dlb_fail_memory(err, out->path, n_bytes);
}

int dlb_hdf5_out_open(struct dlb_hdf5_out *out, const char *path, const struct dlb_hdf5_plan *plan,
                      struct dlb_err *err)
{
    *out = (struct dlb_hdf5_out){.path = path, .file = -1, .set = -1, .type = -1, .plan = *plan};
    if (out->plan.chunk_samples > plan->n_samples)
        out->plan.chunk_samples = plan->n_samples;
    int rc = make_memory(out, err);
    if (rc != DLB_OK)
        return rc;
    dlb_hdf5_enter();
    out->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    rc = out->file < 0 ? dlb_hdf5_fail(err, DLB_ERR_HDF5_WRITE_FAILED, path, "creating the file")
                       : DLB_OK;
    if (rc == DLB_OK)
        rc = create_set(out, err);
    dlb_hdf5_leave();
    return rc;
}

/* Reads rows, or bytes of a ragged set, into out->held, or writes them from there. */
static int move(const struct dlb_hdf5_out *out, uint64_t first_row, uint64_t n_rows, bool writes,
                struct dlb_err *err)
{
    const struct dlb_hdf5_plan *plan = &out->plan;
    hsize_t first[2] = {first_row, 0};
    hsize_t count[2] = {n_rows, plan->sample_bytes / dlb_element_bytes(plan->element)};
    hid_t space = H5Dget_space(out->set);
    hid_t memory = H5Screate_simple(plan->sample_bytes ? 2 : 1, count, NULL);
    int rc = DLB_OK;

    bool fine = H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL) >= 0;
    if (fine && writes)
        fine = H5Dwrite(out->set, out->type, memory, space, H5P_DEFAULT, out->held) >= 0;
    else if (fine)
        fine = H5Dread(out->set, out->type, memory, space, H5P_DEFAULT, out->held) >= 0;
    if (!fine)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_WRITE_FAILED, out->path,
                           writes ? "writing samples" : "reading samples that were written");
    if (space >= 0)
        (void)H5Sclose(space);
    if (memory >= 0)
        (void)H5Sclose(memory);
    return rc;
}

/* Makes the data set longer or shorter. Only sets with chunks can be. */
static int resize(const struct dlb_hdf5_out *out, uint64_t n_rows, struct dlb_err *err)
{
    const struct dlb_hdf5_plan *plan = &out->plan;
    hsize_t size[2] = {n_rows, plan->sample_bytes / dlb_element_bytes(plan->element)};

    return H5Dset_extent(out->set, size) >= 0
               ? DLB_OK
               : dlb_hdf5_fail(err, DLB_ERR_HDF5_WRITE_FAILED, out->path,
                               "changing the number of rows");
}

static int flush(struct dlb_hdf5_out *out, struct dlb_err *err)
{
    bool ragged = out->plan.sample_bytes == 0;
    uint64_t each = ragged ? 1 : out->plan.sample_bytes;

    if (out->n_held == 0)
        return DLB_OK;
    dlb_hdf5_enter();
    int rc = ragged ? resize(out, out->n_bytes, err) : DLB_OK;
    if (rc == DLB_OK)
        rc = move(out, (out->n_bytes - out->n_held) / each, out->n_held / each, true, err);
    dlb_hdf5_leave();
    out->n_held = 0;
    return rc;
}

int dlb_hdf5_out_add(struct dlb_hdf5_out *out, const uint8_t *data, size_t n_bytes, uint32_t label,
                     struct dlb_err *err)
{
    const struct dlb_hdf5_plan *plan = &out->plan;

    if (out->n_samples == plan->n_samples)
        return dlb_fail(err, DLB_ERR_SOURCE_CHANGED, out->path, DLB_NO_OFFSET,
                        "the source has more samples than the %llu that it announced",
                        (unsigned long long)plan->n_samples);
    if (plan->sample_bytes && n_bytes != plan->sample_bytes)
        return dlb_fail(err, DLB_ERR_SOURCE_CHANGED, out->path, DLB_NO_OFFSET,
                        "a sample has %zu bytes, and the others %llu", n_bytes,
                        (unsigned long long)plan->sample_bytes);
    if (out->label)
        out->label[out->n_samples] = label;
    out->n_samples++;
    for (size_t done = 0; done < n_bytes;) {
        size_t room = out->cap_held - out->n_held,
               n = n_bytes - done < room ? n_bytes - done : room;
        memcpy(out->held + out->n_held, data + done, n);
        out->n_held += n;
        out->n_bytes += n;
        done += n;
        int rc = out->n_held == out->cap_held ? flush(out, err) : DLB_OK;
        if (rc != DLB_OK)
            return rc;
    }
    if (out->offset)
        out->offset[out->n_samples] = out->n_bytes;
    return DLB_OK;
}

static int write_list(struct dlb_hdf5_out *out, const char *name, hid_t type, uint64_t n,
                      const void *data, struct dlb_err *err)
{
    hsize_t dims[1] = {n};
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t set = H5Dcreate2(out->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t memory = type == H5T_STD_U64LE ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32;
    int rc = DLB_OK;

    if (set < 0 || H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_WRITE_FAILED, out->path,
                           "writing the labels or offsets");
    if (set >= 0)
        (void)H5Dclose(set);
    if (space >= 0)
        (void)H5Sclose(space);
    return rc;
}

/* Adds to `to` all rows of `from`, none of which is held. */
static int copy_rows(struct dlb_hdf5_out *to, const struct dlb_hdf5_out *from, struct dlb_err *err)
{
    uint64_t n = from->n_samples, each = from->plan.sample_bytes, block = from->cap_held / each;
    int rc = DLB_OK;

    for (uint64_t first = 0; rc == DLB_OK && first < n; first += block) {
        uint64_t here = n - first < block ? n - first : block;
        dlb_hdf5_enter();
        rc = move(from, first, here, false, err);
        dlb_hdf5_leave();
        for (uint64_t i = 0; rc == DLB_OK && i < here; i++)
            rc = dlb_hdf5_out_add(to, from->held + i * each, each,
                                  from->label ? from->label[first + i] : 0, err);
    }
    return rc;
}

/* Replaces the file by one that was planned for the rows that came. */
static int write_again(struct dlb_hdf5_out *out, struct dlb_err *err)
{
    struct dlb_hdf5_plan plan = out->plan;
    struct dlb_hdf5_out again = {.path = NULL};
    const char *final = out->path;
    char *path = NULL;

    plan.n_samples = out->n_samples;
    if (asprintf(&path, "%s.again", final) < 0)
        return dlb_fail_memory(err, final, strlen(final) + sizeof ".again");
    int rc = dlb_hdf5_out_open(&again, path, &plan, err);
    if (rc == DLB_OK)
        rc = copy_rows(&again, out, err);
    if (rc == DLB_OK)
        rc = flush(&again, err);
    if (rc == DLB_OK && rename(path, final) != 0)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "renaming the file");
    if (rc != DLB_OK) {
        dlb_hdf5_out_close(&again);
        (void)unlink(path);
    } else {
        dlb_hdf5_out_close(out);
        *out = again;
        out->path = final;
    }
    free(path);
    return rc;
}

/* Fewer rows than were planned: convert left samples out. */
static int drop_rows(struct dlb_hdf5_out *out, struct dlb_err *err)
{
    if (out->plan.chunk_samples == 0)
        return write_again(out, err);
    dlb_hdf5_enter();
    int rc = resize(out, out->n_samples, err);
    dlb_hdf5_leave();
    return rc;
}

int dlb_hdf5_out_finish(struct dlb_hdf5_out *out, struct dlb_err *err)
{
    uint64_t n = out->n_samples;
    int rc = flush(out, err);

    if (rc == DLB_OK && n < out->plan.n_samples && out->plan.sample_bytes)
        rc = drop_rows(out, err);
    if (rc != DLB_OK)
        return rc;
    dlb_hdf5_enter();
    if (!out->plan.unlabelled)
        rc = write_list(out, "label", H5T_STD_U32LE, n, out->label, err);
    if (rc == DLB_OK && out->plan.sample_bytes == 0)
        rc = write_list(out, "data_offsets", H5T_STD_U64LE, n + 1, out->offset, err);
    if (H5Dclose(out->set) < 0 && rc == DLB_OK)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_WRITE_FAILED, out->path, "writing samples");
    out->set = -1;
    if (H5Fclose(out->file) < 0 && rc == DLB_OK)
        rc = dlb_hdf5_fail(err, DLB_ERR_HDF5_WRITE_FAILED, out->path, "closing the file");
    out->file = -1;
    dlb_hdf5_leave();
    return rc;
}

void dlb_hdf5_out_close(struct dlb_hdf5_out *out)
{
    if (!out->path)
        return;
    dlb_hdf5_enter();
    if (out->set >= 0)
        (void)H5Dclose(out->set);
    if (out->type >= 0)
        (void)H5Tclose(out->type);
    if (out->file >= 0)
        (void)H5Fclose(out->file);
    dlb_hdf5_leave();
    free(out->held);
    free(out->label);
    free(out->offset);
    *out = (struct dlb_hdf5_out){.path = NULL};
}

#endif
