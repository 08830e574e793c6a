/* Deflate through zlib; inflate.c is the only file that includes it.
 *
 * Floor 2. One thread at a time for each struct. In a build without zlib dlb_inflate_missing says
 * so, and functions fail with DLB_E_MISSING. */
#ifndef DLB_FORMATS_CODECS_INFLATE_H
#define DLB_FORMATS_CODECS_INFLATE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_deflated {
    DLB_DEFLATED_ZLIB, /* RFC 1950: a header before, Adler-32 after it; HDF5's chunks */
    DLB_DEFLATED_RAW,  /* RFC 1951: the bits alone; ZIP's members */
};

extern const char *const dlb_inflate_missing; /* NULL, or why this build lacks deflate */

struct dlb_inflate; /* a stream's state and window, reused for many buffers */

struct dlb_inflate *dlb_inflate_new(enum dlb_deflated kind); /* NULL: out of memory, or missing */
void dlb_inflate_free(struct dlb_inflate *inflate);          /* does nothing for NULL */

/* Inflates one whole stream into dst; *n_out <= n_dst: how many bytes. Bytes behind the stream in
 * src are ignored. DLB_E_FORMAT, without a path and with the offset in src of the error: damaged,
 * cut short, or more than n_dst. */
int dlb_inflate(struct dlb_inflate *inflate, const uint8_t *src, size_t n_src, uint8_t *dst,
                size_t n_dst, size_t *n_out, struct dlb_err *err);

/* Appends src, deflated as one stream, to out; level 1..9. For writing: allocates its state for
 * each call. */
int dlb_deflate(enum dlb_deflated kind, int level, const uint8_t *src, size_t n_src,
                struct dlb_bytes *out, struct dlb_err *err);

/* ZIP's CRC-32 of src, continued from `crc` (0 at the start). 0 where zlib is missing. */
uint32_t dlb_crc32(uint32_t crc, const uint8_t *src, size_t n_src);

#endif
