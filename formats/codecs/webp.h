/* WebP through libwebp; webp.c is the only file that includes it.
 *
 * Floor 2. One thread at a time for each struct. */
#ifndef DLB_FORMATS_CODECS_WEBP_H
#define DLB_FORMATS_CODECS_WEBP_H

#include "core/base/err.h"
#include "formats/codecs/image_data.h"
#include "formats/generator.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_webp; /* owned by the caller of dlb_webp_new */

struct dlb_webp *dlb_webp_new(void); /* NULL: no memory, or a build without libwebp */
void dlb_webp_free(struct dlb_webp *webp);

/* Reads the header; `data` is borrowed until the decode. DLB_E_FORMAT: damaged, animated, too
 * large, or shorter than its header says. */
int dlb_webp_start(struct dlb_webp *webp, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err);

/* Decodes at least `want`; alpha is dropped. Called once after dlb_webp_start. */
int dlb_webp_decode(struct dlb_webp *webp, const struct dlb_image_rect *want,
                    struct dlb_image_pixels *out, struct dlb_err *err);

/* Appends a lossy WebP of this quality, 0 to 100. */
int dlb_webp_encode(const struct dlb_image_planes *planes, float quality, struct dlb_bytes *out,
                    struct dlb_err *err);

#endif
