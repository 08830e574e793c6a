/* Undoing HDF5's filters: workers do so without libhdf5, and so outside of its lock. Also lzf, in
 * both directions.
 *
 * Floor 2. One thread at a time for each struct. */
#ifndef DLB_FORMATS_HDF5_FILTERS_H
#define DLB_FORMATS_HDF5_FILTERS_H

#include "core/base/err.h"
#include "formats/codecs/inflate.h"
#include "formats/hdf5/about.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A worker's scratch memory; ready when zeroed. */
struct dlb_hdf5_unfilter {
    struct dlb_inflate *inflate;
    uint8_t *between[2]; /* one filter's output, which is the next one's input */
    size_t cap_bytes[2];
};

/* The first filter that this file cannot undo, such as "scaleoffset (filter 6)", or NULL. */
const char *dlb_hdf5_filters_unknown(const struct dlb_hdf5_filter *filter, uint32_t n, char *name,
                                     size_t n_name);

/* Turns a stored chunk into exactly n_dst bytes at dst. Bit i of `mask`: filter i was not applied.
 * DLB_E_FORMAT, without a path, when the chunk is damaged or has another size. src and dst do not
 * overlap. */
int dlb_hdf5_unfilter(struct dlb_hdf5_unfilter *state, const struct dlb_hdf5_filter *filter,
                      uint32_t n, uint32_t mask, const uint8_t *src, size_t n_src, uint8_t *dst,
                      size_t n_dst, struct dlb_err *err);
void dlb_hdf5_unfilter_free(struct dlb_hdf5_unfilter *state);

bool dlb_hdf5_has_lzf(void);
/* Both return the bytes written to dst. 0: this build has no lzf, dst is too small, or (unpacking)
 * src is damaged. */
size_t dlb_hdf5_lzf_pack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst);
size_t dlb_hdf5_lzf_unpack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst);

#endif
