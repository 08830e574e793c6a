/* The header of a .npy file, as numpy.lib.format lays it out: magic, version, length, and a Python
 * dict.
 *
 * Floor 2. Any thread; parses memory. */
#ifndef DLB_FORMATS_NUMPY_NPY_H
#define DLB_FORMATS_NUMPY_NPY_H

#include "core/base/err.h"
#include "formats/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_NPY_MAX_RANK 32 /* as numpy before 2.0 */
/* numpy refuses headers of more than 10,000 characters by default (max_header_size). */
#define DLB_NPY_MAX_HEADER_BYTES (16 << 10)

struct dlb_npy {
    char descr[16];           /* "<u2"; truncated when longer */
    enum dlb_element element; /* NONE: big-endian, or not a plain number */
    bool fortran_order;       /* the first index varies fastest */
    uint32_t rank;
    uint64_t shape[DLB_NPY_MAX_RANK];
    uint64_t n_items; /* product of shape; 1 for rank 0 */
    uint64_t data_at; /* offset of the first item */
};

bool dlb_npy_is(const uint8_t *data, size_t n_bytes); /* has the magic */

/* `data`: the first n_bytes of a file of file_bytes, enough for the header. DLB_E_FORMAT, with the
 * offset, when there is no valid header or the file is too short for its items. `path` is for
 * messages. */
int dlb_npy_parse(const uint8_t *data, size_t n_bytes, uint64_t file_bytes, const char *path,
                  struct dlb_npy *out, struct dlb_err *err);

/* Bytes of all items, also of types that are no enum dlb_element (big-endian, bool, complex, text).
 * DLB_E_FORMAT when items have no fixed size, or the file is too short for them. */
int dlb_npy_data_bytes(const struct dlb_npy *npy, uint64_t file_bytes, const char *path,
                       size_t *out, struct dlb_err *err);

/* Writes a version 1.0 header of an array in C order, padded to 64 bytes as numpy does. n_cap is at
 * least 128, which is enough for two dimensions. Returns its length. `element` is not NONE. */
size_t dlb_npy_header_of(enum dlb_element element, const uint64_t *shape, uint32_t rank,
                         uint8_t *out, size_t n_cap);

/* The same for a 1-D array. */
size_t dlb_npy_header(enum dlb_element element, uint64_t n_items, uint8_t *out, size_t n_cap);

#endif
