/* What the codecs of images do: torchvision's decode, crop, resize, flip and normalise, but only
 * for the pixels that the crop needs. Each function is the one of struct dlb_codec with its name.
 *
 * Floor 2. A state is private to one worker. */
#ifndef DLB_FORMATS_CODECS_PIXELS_H
#define DLB_FORMATS_CODECS_PIXELS_H

#include "formats/codec.h"
#include "formats/codecs/crop.h"
#include "formats/codecs/image.h"
#include "formats/codecs/resample.h"

struct dlb_image_codec {
    struct dlb_transform_opts opts;
    struct dlb_image *image;
    bool any_kind; /* else what is no image is called no JPEG; set after dlb_pixels_open */
    struct dlb_image_pixels pixels;
    struct dlb_axis across, down;
    struct dlb_resample_scratch scratch;
    const char
        *path; /* of the decoded sample: borrowed as its fields are, for messages of transform */
    float scale[3], shift[3];       /* see dlb_augment_imagenet */
    uint32_t side;                  /* width and height of transform's output, in pixels */
    size_t place_at;                /* offset of `place` in the output; 0: no work for a device */
    struct dlb_augment_place place; /* the device's crop and flip */
};

int dlb_pixels_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err);
void dlb_pixels_close(void *cd);
uint64_t dlb_pixels_max_output_bytes(const struct dlb_transform_opts *opts,
                                     const struct dlb_shape *shape);
int dlb_pixels_decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng,
                      struct dlb_err *err);
uint64_t dlb_pixels_decoded_bytes(const void *cd); /* of transform.crop = "none" */
int dlb_pixels_transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                         struct dlb_err *err);
int dlb_pixels_augment(const struct dlb_transform_opts *opts, const struct dlb_shape *shape,
                       struct dlb_augment *out, struct dlb_err *err);

#endif
