/* JPEG through libjpeg-turbo; jpeg.c is the only file that includes it.
 *
 * Floor 2. One thread at a time for each struct. libjpeg reports errors by longjmp, which never
 * leaves jpeg.c. */
#ifndef DLB_FORMATS_CODECS_JPEG_H
#define DLB_FORMATS_CODECS_JPEG_H

#include "core/base/err.h"
#include "formats/codecs/image_data.h"
#include "formats/generator.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_jpeg; /* a decoder, reused for many images; owned by the caller of dlb_jpeg_new */

struct dlb_jpeg *dlb_jpeg_new(void); /* NULL: no memory */
void dlb_jpeg_free(struct dlb_jpeg *jpeg);

/* Reads the header; `data` is borrowed until the decode. DLB_E_FORMAT: not a JPEG, too large, a
 * colour space that cannot become RGB, or cut short (no end-of-image marker). That marker is
 * checked here, so that the result does not depend on the part that is decoded. */
int dlb_jpeg_start(struct dlb_jpeg *jpeg, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err);

/* Decodes at 1/denom (1, 2, 4, 8), at least `want` of the scaled image (ceil(width / denom) x
 * ceil(height / denom)); out->rect says what was decoded. Grey and CMYK become RGB. Called once
 * after dlb_jpeg_start. DLB_E_FORMAT for data that libjpeg could only guess; stray bytes between
 * two markers are harmless and ignored. */
int dlb_jpeg_decode(struct dlb_jpeg *jpeg, uint32_t denom, const struct dlb_image_rect *want,
                    struct dlb_image_pixels *out, struct dlb_err *err);

/* Appends a baseline JPEG to out. The same bytes on every machine. */
int dlb_jpeg_encode(const struct dlb_image_planes *planes, int quality, struct dlb_bytes *out,
                    struct dlb_err *err);

#endif
