#include "formats/codecs/photo_look.h"

#include <math.h>
#include <stdbool.h>

enum {
    HEADER_BYTES = 620,        /* of a baseline JPEG with the usual tables */
    MIN_BYTES = 2000,          /* below, headers outweigh the image */
    MAX_BYTES = 32000000,      /* above, one image takes gigabytes to draw */
    MAX_WEBP_BYTES = 12000000, /* above, too many images would be larger than readers take */
    MOST_PIXELS = 178000000,   /* of DLB_IMAGE_MAX_PIXELS, with room for rounding */
};

/* Spread of the detail between images (log-normal): file sizes at equal width and height vary by
 * 35%, as those of photographs do. */
static const double detail_sigma = 0.4;

/* That libwebp and libjpeg write, and libpng by default reads. */
static uint32_t longest_side(enum dlb_image_kind kind)
{
    return kind == DLB_IMAGE_WEBP ? 16383 : kind == DLB_IMAGE_JPEG ? 65500 : 1000000;
}

int dlb_photo_check(enum dlb_image_kind kind, uint64_t mean_bytes, struct dlb_err *err)
{
    uint64_t most = kind == DLB_IMAGE_WEBP ? MAX_WEBP_BYTES : MAX_BYTES;

    if (mean_bytes >= MIN_BYTES && mean_bytes <= most)
        return DLB_OK;
    return dlb_fail(
        err, DLB_ERR_GENERATE_SIZE_UNFIT, NULL, DLB_NO_OFFSET,
        "generate.sample_bytes = %llu: %s take %d to %llu", (unsigned long long)mean_bytes,
        kind == DLB_IMAGE_WEBP ? "WebP images" : "images", MIN_BYTES, (unsigned long long)most);
}

/* So that the format can store the image, and readers take it. */
static double largest_scale(double width, double height, uint32_t longest)
{
    return fmin(longest / fmax(width, height), sqrt(MOST_PIXELS / (width * height)));
}

/* Sides for 500 pixels along the long one, as photo sharing sites hand them out; most cameras have
 * 4:3 or 3:2. */
static void choose_size(struct dlb_photo_look *look, double mean_pixels, uint32_t longest,
                        struct dlb_rng *rng)
{
    static const struct {
        double share, width, height;
    } sizes[] = {{0.52, 500, 375}, {0.70, 500, 333}, {0.84, 375, 500},
                 {0.91, 333, 500}, {0.95, 500, 400}, {1, 500, 500}};
    double at = dlb_rng_unit(rng), n_pixels = 0, share = 0;
    size_t i = 0;

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        n_pixels += (sizes[k].share - share) * sizes[k].width * sizes[k].height;
        share = sizes[k].share;
    }
    while (at >= sizes[i].share)
        i++;
    /* One in eight is not from such a site: of any size, from a thumbnail up. */
    double scale = sqrt(mean_pixels / n_pixels), odd = dlb_rng_unit(rng),
           normal = dlb_rng_normal(rng);
    if (odd < 0.125)
        scale *= exp(0.4 * normal - 0.16); /* 2 * 0.4^2 / 2: the mean number of pixels stays */
    scale = fmin(scale, largest_scale(sizes[i].width, sizes[i].height, longest));
    look->width = (uint32_t)fmax(16, nearbyint(sizes[i].width * scale));
    look->height = (uint32_t)fmax(16, nearbyint(sizes[i].height * scale));
}

/* Quality, and what it makes of a pixel: small files are saved at a lower quality, web pictures at
 * a high one. */
static void choose_look(struct dlb_photo_look *look, uint64_t mean_bytes, struct dlb_rng *rng)
{
    static const struct {
        uint64_t up_to;
        int quality;
        double bytes_per_pixel; /* the mean over many images, measured */
    } steps[] = {{8000, 75, 0.134},  {24000, 85, 0.176},  {48000, 90, 0.222},
                 {80000, 95, 0.339}, {300000, 98, 0.517}, {UINT64_MAX, 95, 0.339}};
    size_t i = 0;

    while (mean_bytes > steps[i].up_to)
        i++;
    look->quality = steps[i].quality;
    choose_size(look, ((double)mean_bytes - HEADER_BYTES) / steps[i].bytes_per_pixel,
                longest_side(DLB_IMAGE_JPEG), rng);
    look->detail = exp(detail_sigma * dlb_rng_normal(rng));
}

/* PNG and WebP: the mean over many images, measured at the sizes of photographs. */
static void choose_other_look(struct dlb_photo_look *look, enum dlb_image_kind kind,
                              uint64_t mean_bytes, struct dlb_rng *rng)
{
    bool small = mean_bytes < 50000;
    double bytes_per_pixel = kind == DLB_IMAGE_PNG ? (small ? 1.5 : 1.34) : small ? 0.11 : 0.089;

    look->quality = 80; /* of WebP: Pillow's default */
    choose_size(look, (double)mean_bytes / bytes_per_pixel, longest_side(kind), rng);
    look->detail = exp(detail_sigma * dlb_rng_normal(rng));
}

struct dlb_photo_look dlb_photo_look(enum dlb_image_kind kind, uint64_t mean_bytes,
                                     struct dlb_rng *rng)
{
    struct dlb_photo_look look;

    if (kind == DLB_IMAGE_JPEG)
        choose_look(&look, mean_bytes, rng);
    else
        choose_other_look(&look, kind, mean_bytes, rng);
    return look;
}
