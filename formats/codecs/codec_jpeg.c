/* JPEG to pixels. A sample that is a PNG or a WebP all the same is decoded as what it is, as PIL
 * does: ImageNet has one. */
#include "formats/codec.h"
#include "formats/codecs/pixels.h"
#include "formats/codecs/photo.h"

static int make(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                struct dlb_err *err)
{
    return dlb_photo_make(DLB_IMAGE_JPEG, (uint64_t)opts->seed, index, (uint64_t)opts->sample_bytes,
                          out, err);
}

static bool is_own(const uint8_t *data, size_t n_bytes)
{
    return dlb_image_kind(data, n_bytes) == DLB_IMAGE_JPEG;
}

static const char *const extensions[] = {"jpg", "jpeg", NULL};

const struct dlb_codec dlb_codec_jpeg = {
    .name = "jpeg",
    .summary = "libjpeg-turbo decode, crop, resize, flip, u8 or normalised f32",
#ifndef DLB_HAVE_JPEG
    .missing = "built without libjpeg-turbo",
#endif
    .extensions = extensions,
    .images = true,
    .crops = true,
    .wider = "image",
    .is_own = is_own,
    .state_bytes = sizeof(struct dlb_image_codec),
    .open = dlb_pixels_open,
    .close = dlb_pixels_close,
    .max_output_bytes = dlb_pixels_max_output_bytes,
    .decode = dlb_pixels_decode,
    .transform = dlb_pixels_transform,
    .augment = dlb_pixels_augment,
    .extension = "jpg",
    .make = make,
};
