/* Where the chunks of an HDF5 data set lie, read from the file's bytes: superblock, object header,
 * and version-1 B-tree, as the HDF5 File Format Specification (version 3.0) lays them out.
 *
 * Floor 2. Control thread. libhdf5 is not used here: it would walk the index anew for each chunk.
 */
#ifndef DLB_FORMATS_HDF5_BTREE_H
#define DLB_FORMATS_HDF5_BTREE_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/hdf5/about.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_hdf5_bytes {
    const struct dlb_io *io;
    int64_t handle;
    const char *path;
    uint64_t file_bytes;
    uint64_t base;               /* offset of the superblock, from which addresses count */
    uint32_t n_offset, n_length; /* bytes of an address and of a length */
};

/* The data set's layout message. */
struct dlb_hdf5_layout_message {
    int layout;  /* enum dlb_hdf5_layout */
    bool known;  /* the fields below were read; false: a kind of index that only libhdf5 reads */
    uint64_t at; /* offset of the data, or of the B-tree's root; DLB_NO_OFFSET: none */
    uint64_t n_data; /* bytes of data; contiguous and compact */
    uint32_t rank;   /* chunked */
    uint32_t element_bytes;
    uint64_t chunk[DLB_HDF5_MAX_RANK];
};

/* Finds the signature at 0, 512, 1024, ... and fills base, n_offset and n_length. DLB_E_FORMAT when
 * there is none, or the superblock makes no sense. */
int dlb_hdf5_superblock(struct dlb_hdf5_bytes *file, struct dlb_err *err);

/* `header_at` counts from base, as libhdf5 gives it. */
int dlb_hdf5_layout_read(const struct dlb_hdf5_bytes *file, uint64_t header_at,
                         struct dlb_hdf5_layout_message *out, struct dlb_err *err);

/* Fills table[n_grid], zeroed by the caller, with the chunks of the tree whose root is at `root`,
 * in row-major order of the grid of chunks. Each of them lies inside the file. */
int dlb_hdf5_btree_read(const struct dlb_hdf5_bytes *file, uint64_t root,
                        const struct dlb_hdf5_about *about, struct dlb_hdf5_chunk *table,
                        uint64_t n_grid, struct dlb_err *err);

#endif
