/* The part of an image that is kept: torchvision's geometry.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_CODECS_CROP_H
#define DLB_FORMATS_CODECS_CROP_H

#include "core/base/rng.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_crop_box {
    double x, y, width, height; /* in the whole image's pixels */
    bool flip;
};

/* RandomResizedCrop.get_params with scale (0.08, 1) and ratio (3/4, 4/3): ten tries, then the
 * largest central crop of a permitted ratio. Then draws the flip, whether or not it is used. */
struct dlb_crop_box dlb_crop_random_resized(uint32_t width, uint32_t height, struct dlb_rng *rng);

/* Length of the short side after Resize, for a crop of `size`: size * 256 / 224. */
uint32_t dlb_crop_short_side(uint32_t size);

/* A crop of the resized image, in whole pixels of that. */
struct dlb_crop_resized {
    uint64_t width, height; /* of the resized image */
    uint64_t x, y;
    bool flip;
};

/* Resize, then CenterCrop(size). */
struct dlb_crop_resized dlb_crop_center(uint32_t width, uint32_t height, uint32_t size);

/* Resize, then RandomCrop(size). Then draws the flip, whether or not it is used. */
struct dlb_crop_resized dlb_crop_random(uint32_t width, uint32_t height, uint32_t size,
                                        struct dlb_rng *rng);

#endif
