/* Which part of an image is kept: torchvision's geometry.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_CROP_H
#define DLB_FORMATS_CROP_H

#include "bench/base/rng.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_crop_box {
    double x, y, width, height; /* in the whole image's pixels */
    bool flip;
};

/* RandomResizedCrop.get_params with scale (0.08, 1) and ratio (3/4, 4/3): ten tries, then the
 * largest central crop of a permitted ratio. Draws the flip after it, whether or not it is used. */
struct dlb_crop_box dlb_crop_random_resized(uint32_t width, uint32_t height, struct dlb_rng *rng);

/* Resize of the short side to size * 256 / 224, then CenterCrop(size), as one box. */
struct dlb_crop_box dlb_crop_center(uint32_t width, uint32_t height, uint32_t size);

#endif
