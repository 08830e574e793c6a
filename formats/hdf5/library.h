/* libhdf5: only formats/hdf5/library*.c call it.
 *
 * Floor 2. Any thread. libhdf5's global lock, or ours where it was built without one, keeps two
 * calls from running at once. Handles belong to the process that opened them and must not be used
 * after a fork. libhdf5 crashes on hostile files, so a file is opened in a child process first
 * (formats/hdf5/look.h). */
#ifndef DLB_FORMATS_HDF5_LIBRARY_H
#define DLB_FORMATS_HDF5_LIBRARY_H

#include "core/base/err.h"
#include "formats/element.h"
#include "formats/hdf5/about.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A data set, open for reading. hid_t is an int64_t. */
struct dlb_hdf5_handle {
    const char *path; /* borrowed, for messages */
    int64_t file, set, type, space, memory;
    uint32_t rank;
    uint64_t first[DLB_HDF5_MAX_RANK], count[DLB_HDF5_MAX_RANK];
};

/* Looks at a file and fills *facts (free it in any case). With `chunks` also their places.
 * DLB_E_FORMAT or DLB_E_CONFIG, with libhdf5's reason. */
int dlb_hdf5_library_about(const char *path, const struct dlb_hdf5_opts *opts, bool chunks,
                           struct dlb_hdf5_facts *facts, struct dlb_err *err);

/* Opens about->dataset for reading. Close it in any case. */
int dlb_hdf5_library_open(struct dlb_hdf5_handle *handle, const char *path,
                          const struct dlb_hdf5_about *about, bool allow_external,
                          struct dlb_err *err);
void dlb_hdf5_library_close(struct dlb_hdf5_handle *handle);

/* Reads rows [first, first + count) of the first dimension by H5Dread, without converting types. */
int dlb_hdf5_library_read(struct dlb_hdf5_handle *handle, uint64_t first, uint64_t count,
                          uint8_t *dst, struct dlb_err *err);

/* Reads a chunk as it is stored, by H5Dread_chunk, into *dst (malloced, *cap bytes), which grows to
 * hold it. *n_bytes 0: the chunk is not stored. `at`: its first element. */
int dlb_hdf5_library_chunk(struct dlb_hdf5_handle *handle, const uint64_t *at, uint8_t **dst,
                           size_t *cap, uint32_t *n_bytes, uint32_t *mask, struct dlb_err *err);

/* A file being written. Samples of one size are rows of its data set `data`. Others lie back to
 * back in `data`, and `data_offsets` says where each begins. `label` holds a number for each,
 * unless the samples have no labels. */
enum dlb_hdf5_pack {
    DLB_HDF5_PACK_NONE, /* same order as hdf5.filter's choices */
    DLB_HDF5_PACK_DEFLATE,
    DLB_HDF5_PACK_SHUFFLE_DEFLATE,
    DLB_HDF5_PACK_LZF,
    DLB_HDF5_PACK_SHUFFLE_LZF,
};
struct dlb_hdf5_plan {
    uint64_t n_samples;       /* the most that are added */
    uint64_t sample_bytes;    /* 0: ragged */
    enum dlb_element element; /* NONE: bytes */
    uint64_t chunk_samples;   /* 0: contiguous; ragged sets are always chunked */
    enum dlb_hdf5_pack pack;
    bool unlabelled; /* there is no `label` */
};
struct dlb_hdf5_out {
    const char *path; /* borrowed */
    int64_t file, set, type;
    struct dlb_hdf5_plan plan;
    uint64_t n_samples, n_bytes; /* added so far */
    uint8_t *held;               /* added and not yet written */
    size_t n_held, cap_held;
    uint64_t *offset; /* [n_samples + 1]; ragged only */
    uint32_t *label;  /* [n_samples]; NULL: unlabelled */
};
int dlb_hdf5_out_open(struct dlb_hdf5_out *out, const char *path, const struct dlb_hdf5_plan *plan,
                      struct dlb_err *err);
int dlb_hdf5_out_add(struct dlb_hdf5_out *out, const uint8_t *data, size_t n_bytes, uint32_t label,
                     struct dlb_err *err);
/* Fewer samples than planned make a smaller data set. Where it has no chunks, its rows are copied
 * to a file beside `path`, of which then both are on the disk for a while. The caller knows whether
 * fewer are right. */
int dlb_hdf5_out_finish(struct dlb_hdf5_out *out, struct dlb_err *err);
void dlb_hdf5_out_close(struct dlb_hdf5_out *out); /* also after a failure of any of them */

/* Shared by formats/hdf5/library*.c. Every call of libhdf5 lies between these two. */
void dlb_hdf5_enter(void); /* starts libhdf5 if necessary, and keeps it from printing */
void dlb_hdf5_leave(void);
/* Fails with the innermost reason that libhdf5 gives: `code`, or what errno calls for where a
 * system call failed. Between enter and leave, before any other call. */
int dlb_hdf5_fail(struct dlb_err *err, enum dlb_code code, const char *path, const char *doing);
/* H5Fopen and H5Dopen, without following the file to other files, locks or plugins. */
int dlb_hdf5_open_file(const char *path, int64_t *file, struct dlb_err *err);
int dlb_hdf5_open_set(int64_t file, const char *path, const char *name, bool allow_external,
                      int64_t *set, struct dlb_err *err);
/* Fills about->dataset and what belongs to its choice. */
int dlb_hdf5_find(int64_t file, const char *path, const struct dlb_hdf5_opts *opts,
                  struct dlb_hdf5_about *about, struct dlb_err *err);
/* Whether the file has an object of this path, which begins with "/". It may not lead through links
 * to other files that must not be opened. */
bool dlb_hdf5_is_there(int64_t file, const char *name);
/* After hdf5.dataset could not be opened: makes *err HDF5_NO_SUCH_DATASET, with the names of some
 * that are there, if that is why. Returns its status. */
int dlb_hdf5_explain_missing(int64_t file, const char *path, const struct dlb_hdf5_opts *opts,
                             const char *name, struct dlb_err *err);
/* Whether elements have one size and no references, so that their bytes mean something elsewhere.
 */
bool dlb_hdf5_fixed_size(int64_t type);
/* Fill facts->label and facts->offset if the file has such data sets. Between enter and leave. */
int dlb_hdf5_library_labels(int64_t file, const char *path, const struct dlb_hdf5_opts *opts,
                            struct dlb_hdf5_facts *facts, uint64_t n_samples, struct dlb_err *err);
int dlb_hdf5_library_offsets(int64_t file, const char *path, struct dlb_hdf5_facts *facts,
                             struct dlb_err *err);

#endif
