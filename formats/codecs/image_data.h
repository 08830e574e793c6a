/* What the decoders and encoders of images work on: parts of images, their pixels, planes.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_CODECS_IMAGE_DATA_H
#define DLB_FORMATS_CODECS_IMAGE_DATA_H

#include "core/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Twice Pillow's MAX_IMAGE_PIXELS, beyond which Pillow refuses too: a small file that claims more
 * would only take memory. */
#define DLB_IMAGE_MAX_PIXELS UINT64_C(178956970)

struct dlb_image_rect {
    uint32_t x, y, width, height;
};

/* Decoded pixels, 4 bytes each: red, green, blue, unused. DLB_IMAGE_SLACK_BYTES behind the last
 * pixel may be read, and are 0. */
#define DLB_IMAGE_SLACK_BYTES 16
struct dlb_image_pixels {
    uint8_t *data; /* owned by the holder of the struct: free() */
    size_t cap_bytes;
    struct dlb_image_rect rect; /* which part of the (scaled) image */
};

enum dlb_image_kind { DLB_IMAGE_JPEG, DLB_IMAGE_PNG, DLB_IMAGE_WEBP, DLB_IMAGE_UNKNOWN };

/* By the first bytes alone, whether or not this build decodes it. */
enum dlb_image_kind dlb_image_kind(const uint8_t *data, size_t n_bytes);

/* Room for so many rows of so many pixels, and the slack behind them, which is cleared. Sets
 * out->rect. DLB_E_NOMEM. For the decoders. */
int dlb_image_reserve(struct dlb_image_pixels *out, const struct dlb_image_rect *rect,
                      struct dlb_err *err);

/* 4:2:0 planes, as of a camera: luma of width x height in rows of `stride`, chroma of half that
 * (rounded up) in rows of stride / 2. Strides are multiples of 32; the number of rows is rounded up
 * to a multiple of 16 (chroma: of 8). */
struct dlb_image_planes {
    const uint8_t *y, *cb, *cr;
    uint32_t width, height;
    size_t stride;
};

/* Row y of the planes as 3 x width bytes. Integer arithmetic: the same on every machine. */
void dlb_image_rgb_row(const struct dlb_image_planes *planes, uint32_t y, uint8_t *rgb);

#endif
