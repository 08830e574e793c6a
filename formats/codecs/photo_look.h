/* How large a made-up photograph is, and how much of it is detail: drawn before its pixels.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_CODECS_PHOTO_LOOK_H
#define DLB_FORMATS_CODECS_PHOTO_LOOK_H

#include "core/base/err.h"
#include "core/base/rng.h"
#include "formats/codecs/image_data.h"

#include <stdint.h>

struct dlb_photo_look {
    uint32_t width, height; /* pixels; at most what `kind` can store and DLB_IMAGE_MAX_PIXELS */
    int quality;            /* of the encoder, 0 to 100 */
    double detail;          /* 1: the mean */
};

/* DLB_ERR_GENERATE_SIZE_UNFIT unless images of this kind can have this mean size in bytes. */
int dlb_photo_check(enum dlb_image_kind kind, uint64_t mean_bytes, struct dlb_err *err);

/* The mean has passed dlb_photo_check. */
struct dlb_photo_look dlb_photo_look(enum dlb_image_kind kind, uint64_t mean_bytes,
                                     struct dlb_rng *rng);

#endif
