/* PNG through libpng; png.c is the only file that includes it.
 *
 * Floor 2. One thread at a time for each struct. libpng reports errors by a call that does not
 * return; the jump out of it never leaves png.c. */
#ifndef DLB_FORMATS_CODECS_PNG_H
#define DLB_FORMATS_CODECS_PNG_H

#include "core/base/err.h"
#include "formats/codecs/image_data.h"
#include "formats/generator.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_png; /* owned by the caller of dlb_png_new */

struct dlb_png *dlb_png_new(void); /* NULL: no memory, or a build without libpng */
void dlb_png_free(struct dlb_png *png);

/* Reads the header; `data` is borrowed until the decode. DLB_E_FORMAT: damaged, too large, or cut
 * short: its chunks do not reach IEND. Chunks that change no pixel are skipped. */
int dlb_png_start(struct dlb_png *png, const uint8_t *data, size_t n_bytes, uint32_t *width,
                  uint32_t *height, struct dlb_err *err);

/* Decodes at least `want`: its rows in full width, or all of an interlaced image. Grey of 16 bits
 * is cut off at 255, other samples of 16 bits lose their low byte, alpha is dropped: as Pillow
 * does. Called once after dlb_png_start. */
int dlb_png_decode(struct dlb_png *png, const struct dlb_image_rect *want,
                   struct dlb_image_pixels *out, struct dlb_err *err);

/* Appends a PNG of 8-bit RGB at zlib's default level, with libpng's choice of filters. */
int dlb_png_encode(const struct dlb_image_planes *planes, struct dlb_bytes *out,
                   struct dlb_err *err);

#endif
