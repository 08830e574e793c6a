/* Images that behave like photographs when they are compressed and decoded.
 *
 * Floor 2. Any thread. Integer arithmetic alone makes the pixels, so that they are the same on
 * every machine. */
#ifndef DLB_FORMATS_CODECS_PHOTO_H
#define DLB_FORMATS_CODECS_PHOTO_H

#include "core/base/err.h"
#include "formats/codecs/image_data.h"
#include "formats/generator.h"

#include <stdint.h>

/* Appends photograph `index` of the series (seed, mean size), stored as `kind`. Sizes in bytes vary
 * around the mean, which has limits (photo_look.h). */
int dlb_photo_make(enum dlb_image_kind kind, uint64_t seed, uint64_t index, uint64_t mean_bytes,
                   struct dlb_bytes *out, struct dlb_err *err);

#endif
