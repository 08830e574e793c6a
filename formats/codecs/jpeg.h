/* JPEG through libjpeg-turbo: the only file that knows it.
 *
 * Floor 2. One thread at a time for each struct. libjpeg leaves by longjmp on errors; it never gets
 * out of jpeg.c. */
#ifndef DLB_FORMATS_CODECS_JPEG_H
#define DLB_FORMATS_CODECS_JPEG_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stddef.h>
#include <stdint.h>

/* As Pillow refuses beyond twice its MAX_IMAGE_PIXELS: a few bytes that claim more would only take
 * memory. */
#define DLB_JPEG_MAX_PIXELS UINT64_C(178956970)

struct dlb_jpeg; /* a decoder, reused for image after image; owned by whoever called dlb_jpeg_new */

struct dlb_jpeg_rect {
    uint32_t x, y, width, height;
};

/* Decoded pixels, 4 bytes each: red, green, blue, unused. After the last lie DLB_JPEG_SLACK_BYTES
 * that may be read. */
#define DLB_JPEG_SLACK_BYTES 16
struct dlb_jpeg_pixels {
    uint8_t *data; /* owned by whoever holds the struct: free() */
    size_t cap_bytes;
    struct dlb_jpeg_rect rect; /* which part of the (scaled) image */
};

struct dlb_jpeg *dlb_jpeg_new(void); /* NULL: no memory */
void dlb_jpeg_free(struct dlb_jpeg *jpeg);

/* Reads the header; `data` is borrowed until the decode. DLB_E_FORMAT: no JPEG, too large, a kind
 * that cannot become RGB, or cut short (no end-of-image marker), which is looked for here so that
 * it does not depend on what part is decoded. */
int dlb_jpeg_start(struct dlb_jpeg *jpeg, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err);

/* Decodes at 1/denom (1, 2, 4, 8), at least `want` of the scaled image (ceil(width / denom) x
 * ceil(height / denom)); what really was decoded is in out->rect. Grey and CMYK become RGB. After
 * dlb_jpeg_start, once. DLB_E_FORMAT for data that libjpeg could only guess at; bytes that belong
 * to nothing between two markers are harmless and let pass. */
int dlb_jpeg_decode(struct dlb_jpeg *jpeg, uint32_t denom, const struct dlb_jpeg_rect *want,
                    struct dlb_jpeg_pixels *out, struct dlb_err *err);

/* 4:2:0 planes, as a camera's: luma of width x height in rows of `stride`, chroma of half that
 * (rounded up) in rows of stride / 2. Strides are multiples of 32, rows are there up to the next
 * multiple of 16 (chroma: of 8). */
struct dlb_jpeg_planes {
    const uint8_t *y, *cb, *cr;
    uint32_t width, height;
    size_t stride;
};

/* Appends a baseline JPEG to out. The same bytes on every machine. */
int dlb_jpeg_encode(const struct dlb_jpeg_planes *planes, int quality, struct dlb_bytes *out,
                    struct dlb_err *err);

#endif
