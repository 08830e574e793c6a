/* Images of any kind that this build decodes, told apart by their first bytes: JPEG, PNG, WebP.
 *
 * Floor 2. One thread at a time for each struct. Every kind gives the pixels of Pillow's
 * convert("RGB"): alpha is dropped, 16 bits become 8. */
#ifndef DLB_FORMATS_CODECS_IMAGE_H
#define DLB_FORMATS_CODECS_IMAGE_H

#include "core/base/err.h"
#include "formats/codecs/image_data.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_image; /* decoders of all kinds, reused for many images; owned by who made it */

struct dlb_image *dlb_image_new(void); /* NULL: no memory, or this build decodes no image */
void dlb_image_free(struct dlb_image *image);

/* Reads the header; `data` is borrowed until the decode. DLB_E_FORMAT: none of these kinds, too
 * large, or cut short. What begins as no image is reported as no JPEG if `jpeg_expected`. */
int dlb_image_start(struct dlb_image *image, const uint8_t *data, size_t n_bytes,
                    bool jpeg_expected, uint32_t *width, uint32_t *height, struct dlb_err *err);

/* Whether the started image can be decoded at 1/2, 1/4, 1/8. */
bool dlb_image_scales(const struct dlb_image *image);

/* Decodes at 1/denom (1 unless it scales) at least `want` of the scaled image; out->rect says what
 * was decoded. Called once after dlb_image_start. DLB_E_FORMAT for damaged data. */
int dlb_image_decode(struct dlb_image *image, uint32_t denom, const struct dlb_image_rect *want,
                     struct dlb_image_pixels *out, struct dlb_err *err);

#endif
