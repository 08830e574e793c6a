/* What opening found out about an HDF5 data set: plain memory, no library handles.
 *
 * Floor 2. Filled on the control thread, read-only afterwards. */
#ifndef DLB_FORMATS_HDF5_ABOUT_H
#define DLB_FORMATS_HDF5_ABOUT_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DLB_HDF5_MAX_RANK = 32,        /* H5S_MAX_RANK */
    DLB_HDF5_MAX_FILTERS = 32,     /* H5Z_MAX_NFILTERS */
    DLB_HDF5_MAX_FILL_BYTES = 256, /* of one element; with a larger one libhdf5 reads */
    DLB_HDF5_MAX_SAMPLED = 8,
};

/* The most chunks whose places libhdf5 is asked for. It walks its index for each one, so that
 * the time grows with the square of their number (138 us each at this number, by 1.10.8). */
#define DLB_HDF5_MAX_LISTED 20000

/* The most labels, or offsets of samples, that are read. */
#define DLB_HDF5_MAX_LIST (UINT64_C(0xffffffff) - 1)

/* Where the search for the largest data set ends. What an option can name may lie deeper. */
enum {
    DLB_HDF5_MAX_OBJECTS = 100000,
    DLB_HDF5_MAX_DEPTH = 2048,     /* groups in groups */
    DLB_HDF5_PATH_CAP = 32 * 1024, /* of a path within the file */
};

/* The `hdf5` section. */
struct dlb_hdf5_opts {
    char dataset[DLB_OPT_STRING_CAP]; /* its path in the file; "": the largest */
    char label[DLB_OPT_STRING_CAP];   /* "": `label` or `labels` beside it, if it fits; "none" */
    bool allow_external;
    int64_t chunk_samples; /* writing; 0: no chunks */
    int filter;            /* writing; index into its choices */
};

enum dlb_hdf5_layout {
    DLB_HDF5_CONTIGUOUS,
    DLB_HDF5_CHUNKED,
    DLB_HDF5_COMPACT,   /* inside the object's header */
    DLB_HDF5_ELSEWHERE, /* in other files: external storage, virtual data sets */
};

/* The kinds of index of chunks, as layout messages number them. The oldest one has no number there.
 */
enum dlb_hdf5_index {
    DLB_HDF5_BTREE_1,
    DLB_HDF5_SINGLE_CHUNK,
    DLB_HDF5_IMPLICIT,
    DLB_HDF5_FIXED_ARRAY,
    DLB_HDF5_EXTENSIBLE_ARRAY,
    DLB_HDF5_BTREE_2,
};

/* Filters, as files number them. */
enum {
    DLB_HDF5_DEFLATE = 1,
    DLB_HDF5_SHUFFLE = 2,
    DLB_HDF5_FLETCHER32 = 3,
    DLB_HDF5_LZF = 32000, /* registered by h5py */
};

struct dlb_hdf5_filter {
    uint32_t id;
    uint32_t value; /* the first of its client data: shuffle's element size */
};

struct dlb_hdf5_chunk {
    uint64_t at_bytes; /* in the file */
    uint32_t n_bytes;  /* as stored; 0: it is not stored, and reads as the fill value */
    uint32_t mask;     /* bit i: filter i was not applied */
};

/* A chunk as libhdf5 reports it. `number` counts the grid of chunks in row-major order. */
struct dlb_hdf5_listed {
    uint64_t number;
    struct dlb_hdf5_chunk chunk;
};

struct dlb_hdf5_about {
    char dataset[DLB_HDF5_PATH_CAP]; /* the chosen one's path in the file */
    uint32_t n_candidates;           /* the number of datasets from which it was chosen */
    bool search_ended;               /* at its limits: there may be others */
    int layout;                      /* enum dlb_hdf5_layout */
    uint32_t rank;
    uint64_t dims[DLB_HDF5_MAX_RANK], chunk[DLB_HDF5_MAX_RANK];
    int element; /* enum dlb_element; NONE: any other type, including big-endian numbers */
    uint32_t element_bytes;
    bool other_numbers; /* element is NONE, and they are neither text nor opaque */
    uint32_t n_filters;
    struct dlb_hdf5_filter filter[DLB_HDF5_MAX_FILTERS];
    bool fills; /* missing chunks read as `fill`; otherwise their content is undefined: zeros */
    bool fill_too_large;
    uint8_t fill[DLB_HDF5_MAX_FILL_BYTES];
    bool plain_edges;      /* chunks that reach beyond the data set are stored without filters */
    int index;             /* enum dlb_hdf5_index; chunked */
    uint64_t data_at;      /* contiguous: offset in the file; DLB_NO_OFFSET: nothing is stored */
    uint64_t header_at;    /* of the object's header, counted from the superblock */
    uint64_t stored_bytes; /* of all chunks, as stored */
    bool label_refused;    /* there are labels in its group that do not fit */
    bool more_labels;      /* both label and labels are in its group, and the first is read */
    bool offsets_unused;   /* there are offsets of it, and its rows have one size */
    uint64_t n_labels, n_offsets, n_listed; /* n_listed: all stored chunks, or 0 */
    uint64_t n_chunks;                      /* stored ones; set where libhdf5 was asked */
    uint32_t n_sampled;
    struct dlb_hdf5_listed sampled[DLB_HDF5_MAX_SAMPLED]; /* n_bytes 0: not stored */
};

/* Whether all of it can be: a damaged file can make libhdf5 report anything, and a hostile one may
 * have taken over the process that asks it. */
bool dlb_hdf5_about_makes_sense(const struct dlb_hdf5_about *about);

/* The same, with the arrays that belong to it; owned. */
struct dlb_hdf5_facts {
    struct dlb_hdf5_about about;
    uint32_t *label;  /* [n_labels] */
    uint64_t *offset; /* [n_offsets]: sample i of a ragged set is bytes [i] to [i + 1] */
    struct dlb_hdf5_listed *listed; /* [n_listed] */
};
void dlb_hdf5_facts_free(struct dlb_hdf5_facts *facts);

/* Chunks along this dimension. */
static inline uint64_t dlb_hdf5_grid(const struct dlb_hdf5_about *about, uint32_t dim)
{
    return about->dims[dim] / about->chunk[dim] + (about->dims[dim] % about->chunk[dim] != 0);
}

#endif
