/* Undoing HDF5's filters, and lzf both ways: what a worker does with a chunk outside of the
 * library's lock.
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

/* A worker's memory for it; zeroed is ready. */
struct dlb_hdf5_unfilter {
    struct dlb_inflate *inflate;
    uint8_t *between[2]; /* what one filter leaves for the next */
    size_t cap_bytes[2];
};

/* The first filter that is not undone here, or NULL; a name such as "scaleoffset (filter 6)". */
const char *dlb_hdf5_filters_unknown(const struct dlb_hdf5_filter *filter, uint32_t n, char *name,
                                     size_t n_name);

/* src, as stored, becomes exactly n_dst bytes of dst. `mask`: bit i set, filter i was left out.
 * DLB_E_FORMAT, without a path: damaged, or of another size. src and dst do not overlap. */
int dlb_hdf5_unfilter(struct dlb_hdf5_unfilter *state, const struct dlb_hdf5_filter *filter,
                      uint32_t n, uint32_t mask, const uint8_t *src, size_t n_src, uint8_t *dst,
                      size_t n_dst, struct dlb_err *err);
void dlb_hdf5_unfilter_free(struct dlb_hdf5_unfilter *state);

/* n_src bytes of elements of n_element bytes, byte by byte, become elements again. */
void dlb_hdf5_unshuffle(const uint8_t *src, size_t n_src, size_t n_element, uint8_t *dst);
uint32_t dlb_hdf5_fletcher32(const uint8_t *data, size_t n_bytes);

/* Bytes written to dst; 0: no lzf in this build, or they do not fit (or, inflating, are damaged).
 */
bool dlb_hdf5_has_lzf(void);
size_t dlb_hdf5_lzf_pack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst);
size_t dlb_hdf5_lzf_unpack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst);

#endif
