#include "formats/codecs/crop.h"

#include <math.h>

enum { TRIES = 10 };

static double uniform(struct dlb_rng *rng, double low, double high)
{
    return low + (high - low) * dlb_rng_unit(rng);
}

static struct dlb_crop_box fallback(double width, double height)
{
    double ratio = width / height, w = width, h = height;

    if (ratio < 3.0 / 4.0)
        h = nearbyint(width / (3.0 / 4.0));
    else if (ratio > 4.0 / 3.0)
        w = nearbyint(height * (4.0 / 3.0));
    w = w < 1 ? 1 : w;
    h = h < 1 ? 1 : h;
    return (struct dlb_crop_box){floor((width - w) / 2), floor((height - h) / 2), w, h, false};
}

struct dlb_crop_box dlb_crop_random_resized(uint32_t width, uint32_t height, struct dlb_rng *rng)
{
    struct dlb_crop_box box = fallback(width, height);
    const double log_ratio = log(4.0 / 3.0);

    for (int i = 0; i < TRIES; i++) {
        double area = (double)width * height * uniform(rng, 0.08, 1.0);
        double ratio = exp(uniform(rng, -log_ratio, log_ratio));
        double w = nearbyint(sqrt(area * ratio)), h = nearbyint(sqrt(area / ratio));
        if (w < 1 || w > width || h < 1 || h > height)
            continue;
        box.y = (double)dlb_rng_below(rng, (uint64_t)height - (uint64_t)h + 1);
        box.x = (double)dlb_rng_below(rng, (uint64_t)width - (uint64_t)w + 1);
        box.width = w;
        box.height = h;
        break;
    }
    box.flip = dlb_rng_unit(rng) < 0.5;
    return box;
}

uint32_t dlb_crop_short_side(uint32_t size)
{
    return (uint32_t)lround(size * 256.0 / 224.0);
}

/* As torchvision: the long side is cut to whole pixels. */
static struct dlb_crop_resized resize(uint32_t width, uint32_t height, uint32_t size)
{
    double least = width < height ? width : height, side = dlb_crop_short_side(size);
    return (struct dlb_crop_resized){.width = (uint64_t)floor(side * width / least),
                                     .height = (uint64_t)floor(side * height / least)};
}

struct dlb_crop_resized dlb_crop_center(uint32_t width, uint32_t height, uint32_t size)
{
    struct dlb_crop_resized crop = resize(width, height, size);
    crop.x = (uint64_t)nearbyint((double)(crop.width - size) / 2.0);
    crop.y = (uint64_t)nearbyint((double)(crop.height - size) / 2.0);
    return crop;
}

struct dlb_crop_resized dlb_crop_random(uint32_t width, uint32_t height, uint32_t size,
                                        struct dlb_rng *rng)
{
    struct dlb_crop_resized crop = resize(width, height, size);
    crop.y = dlb_rng_below(rng, crop.height - size + 1);
    crop.x = dlb_rng_below(rng, crop.width - size + 1);
    crop.flip = dlb_rng_unit(rng) < 0.5;
    return crop;
}
