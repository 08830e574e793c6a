/* Images of several kinds to pixels, each decoded as what its first bytes say: JPEG, PNG, WebP. */
#include "formats/codec.h"
#include "formats/codecs/pixels.h"
#include "formats/codecs/photo.h"

/* generate.image: enum dlb_image_kind, or DLB_IMAGE_UNKNOWN for one of each in turn. */
static enum dlb_image_kind kind_of(const struct dlb_generate_opts *opts, uint64_t index)
{
    return opts->image == DLB_IMAGE_UNKNOWN ? (enum dlb_image_kind)(index % DLB_IMAGE_UNKNOWN)
                                            : (enum dlb_image_kind)opts->image;
}

static int make(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                struct dlb_err *err)
{
    return dlb_photo_make(kind_of(opts, index), (uint64_t)opts->seed, index,
                          (uint64_t)opts->sample_bytes, out, err);
}

static const char *extension_of(const struct dlb_generate_opts *opts, uint64_t index)
{
    static const char *const names[] = {"jpg", "png", "webp"};
    return names[kind_of(opts, index)];
}

static int codec_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    struct dlb_image_codec *codec = cd;
    int rc = dlb_pixels_open(cd, opts, err);
    codec->any_kind = true;
    return rc;
}

static bool estimates(const struct dlb_transform_opts *opts)
{
    return opts->crop == DLB_CROP_NONE;
}

static const char *const extensions[] = {"jpg", "jpeg", "png", "webp", NULL};

const struct dlb_codec dlb_codec_image = {
    .name = "image",
    .summary = "PNG"
#ifdef DLB_HAVE_JPEG
               ", JPEG"
#endif
#ifdef DLB_HAVE_WEBP
               ", WebP"
#endif
               " by content; crop, resize, flip, u8 or normalised f32",
#ifndef DLB_HAVE_PNG
    .missing = "built without libpng",
#endif
    .extensions = extensions,
    .images = true,
    .crops = true,
    .state_bytes = sizeof(struct dlb_image_codec),
    .open = codec_open,
    .close = dlb_pixels_close,
    .max_output_bytes = dlb_pixels_max_output_bytes,
    .decode = dlb_pixels_decode,
    .estimates = estimates,
    .decoded_bytes = dlb_pixels_decoded_bytes,
    .transform = dlb_pixels_transform,
    .augment = dlb_pixels_augment,
    .extension = "png",
    .extension_of = extension_of,
    .make = make,
};
