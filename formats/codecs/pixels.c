#include "formats/codecs/pixels.h"

#include "formats/undecoded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A batch of whole images has to be sized before they are decoded. Below one bit a pixel a
 * photograph shows blocks, and no training set of JPEGs has such images, so the 24 bits of a pixel
 * are at most this many times its share of the file. Of other kinds the size is estimated from some
 * of the samples. */
enum { NONE_MAX_EXPANSION = 24 };

/* Which pixels of the whole image become which of the output. */
struct view {
    struct dlb_axis_over across, down;
    bool flip;
};

/* A device crops the resized image, flips and normalises. It is given a square of the resized
 * image, because all samples of a batch have one shape. RandomResizedCrop resizes after the crop,
 * so it leaves no crop to the device. */
static struct dlb_augment augment_of(const struct dlb_transform_opts *opts)
{
    uint32_t size = (uint32_t)opts->size;
    return dlb_augment_image(
        opts->crop == DLB_CROP_RANDOM_RESIZED ? size : dlb_crop_short_side(size), size);
}

int dlb_pixels_augment(const struct dlb_transform_opts *opts, const struct dlb_shape *shape,
                       struct dlb_augment *out, struct dlb_err *err)
{
    (void)shape;
    if (opts->crop == DLB_CROP_NONE || opts->pixels != DLB_PIXELS_F32)
        return dlb_fail(err, DLB_ERR_TRANSFORM_WHERE_UNFIT, NULL, DLB_NO_OFFSET,
                        "transform.where = \"gpu\" normalises images of one size on the device: it "
                        "needs transform.pixels = \"f32\" and a crop");
    *out = augment_of(opts);
    return DLB_OK;
}

int dlb_pixels_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    struct dlb_image_codec *codec = cd;

    codec->opts = *opts;
    codec->side = (uint32_t)opts->size;
    if (opts->where == DLB_WHERE_GPU) {
        struct dlb_augment augment = augment_of(opts);
        codec->side = augment.side;
        codec->place_at = augment.place_at;
    }
    codec->image = dlb_image_new();
    if (!codec->image)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "out of memory for a decoder of images");
    dlb_augment_imagenet(codec->scale, codec->shift);
    return DLB_OK;
}

void dlb_pixels_close(void *cd)
{
    struct dlb_image_codec *codec = cd;
    dlb_image_free(codec->image);
    free(codec->pixels.data);
    dlb_axis_free(&codec->across);
    dlb_axis_free(&codec->down);
    dlb_resample_free(&codec->scratch);
    codec->image = NULL;
    codec->pixels = (struct dlb_image_pixels){0};
}

static uint64_t pixel_bytes(const struct dlb_transform_opts *opts)
{
    return opts->pixels == DLB_PIXELS_F32 ? 3 * sizeof(float) : 3;
}

uint64_t dlb_pixels_max_output_bytes(const struct dlb_transform_opts *opts,
                                     const struct dlb_shape *shape)
{
    if (opts->crop == DLB_CROP_NONE && opts->max_decoded_bytes > 0)
        return (uint64_t)opts->max_decoded_bytes;
    if (opts->crop == DLB_CROP_NONE && shape->max_decoded_bytes > 0)
        return shape->max_decoded_bytes;
    if (opts->crop == DLB_CROP_NONE)
        return shape->max_sample_bytes * NONE_MAX_EXPANSION * (pixel_bytes(opts) / 3);
    if (opts->where == DLB_WHERE_GPU)
        return augment_of(opts).in_bytes;
    return (uint64_t)opts->size * (uint64_t)opts->size * pixel_bytes(opts);
}

/* The smallest image that libjpeg decodes quickly and that still has a pixel for each pixel of the
 * output. Ratios such as 5/8 exist, but take longer than full decoding: their transforms are not
 * vectorised. */
static uint32_t choose_denom(const struct dlb_image_codec *codec, const struct view *view)
{
    if (!codec->opts.scaled_decode || codec->opts.whole_decode || !dlb_image_scales(codec->image))
        return 1;
    for (uint32_t denom = 8; denom > 1; denom /= 2)
        if (view->across.scale >= denom && view->down.scale >= denom)
            return denom;
    return 1;
}

/* A crop that is cut out before it is resized: pixels beyond it must not contribute. */
static struct view view_of_box(const struct dlb_crop_box *box, uint32_t size)
{
    return (struct view){.across = {.start = box->x,
                                    .scale = box->width / size,
                                    .low = (uint32_t)box->x,
                                    .end = (uint32_t)ceil(box->x + box->width)},
                         .down = {.start = box->y,
                                  .scale = box->height / size,
                                  .low = (uint32_t)box->y,
                                  .end = (uint32_t)ceil(box->y + box->height)},
                         .flip = box->flip};
}

/* A crop out of the resized image. */
static struct view view_of_resized(const struct dlb_crop_resized *crop, uint32_t width,
                                   uint32_t height)
{
    return (struct view){
        .across = {.scale = (double)width / (double)crop->width, .skip = crop->x, .end = width},
        .down = {.scale = (double)height / (double)crop->height, .skip = crop->y, .end = height},
        .flip = crop->flip};
}

static uint64_t hold(uint64_t value, uint64_t less, uint64_t most)
{
    uint64_t held = value < less ? 0 : value - less;
    return held > most ? most : held;
}

/* Notes the crop and flip for the device. The view becomes the square that holds the crop. */
static void leave_to_device(struct dlb_image_codec *codec, const struct dlb_crop_resized *crop,
                            struct view *view)
{
    codec->place = (struct dlb_augment_place){.flip = view->flip};
    view->flip = false;
    if (codec->opts.crop == DLB_CROP_RANDOM_RESIZED)
        return;
    uint32_t margin = (codec->side - (uint32_t)codec->opts.size) / 2;
    view->across.skip = hold(crop->x, margin, crop->width - codec->side);
    view->down.skip = hold(crop->y, margin, crop->height - codec->side);
    codec->place.x = (uint16_t)(crop->x - view->across.skip);
    codec->place.y = (uint16_t)(crop->y - view->down.skip);
}

/* Draws which part of the image is kept. */
static struct view choose_view(struct dlb_image_codec *codec, uint32_t width, uint32_t height,
                               struct dlb_rng *rng)
{
    uint32_t size = (uint32_t)codec->opts.size;
    struct dlb_crop_resized crop = {0};
    struct view view;

    if (codec->opts.crop == DLB_CROP_RANDOM_RESIZED) {
        struct dlb_crop_box box = dlb_crop_random_resized(width, height, rng);
        view = view_of_box(&box, size);
    } else {
        crop = codec->opts.crop == DLB_CROP_RANDOM ? dlb_crop_random(width, height, size, rng)
                                                   : dlb_crop_center(width, height, size);
        view = view_of_resized(&crop, width, height);
    }
    view.flip &= codec->opts.flip;
    if (codec->place_at > 0)
        leave_to_device(codec, &crop, &view);
    return view;
}

static uint32_t ceil_div(uint32_t value, uint32_t by)
{
    return (value + by - 1) / by;
}

/* In pixels of the image at 1/denom. */
static struct dlb_axis_over scale_down(const struct dlb_axis_over *over, uint32_t denom)
{
    return (struct dlb_axis_over){.start = over->start / denom,
                                  .scale = over->scale / denom,
                                  .skip = over->skip,
                                  .low = over->low / denom,
                                  .end = ceil_div(over->end, denom)};
}

/* Makes the axes of both directions; the pixels that they use have to be decoded. */
static int lay_axes(struct dlb_image_codec *codec, const struct view *view, uint32_t denom)
{
    struct dlb_axis_over across = scale_down(&view->across, denom),
                         down = scale_down(&view->down, denom);

    if (dlb_axis_make(&codec->across, codec->side, &across, view->flip, DLB_AXIS_ACROSS) != 0)
        return -1;
    return dlb_axis_make(&codec->down, codec->side, &down, false, DLB_AXIS_DOWN);
}

/* Fields that are only decoded when a sample has no other. */
static bool is_beside(const char *field)
{
    return strcmp(field, "cls") == 0 || strcmp(field, "json") == 0;
}

/* What is no image may be something that no codec decodes. */
static int name_other(const struct dlb_sample *in, struct dlb_err *err)
{
    const struct dlb_field *field = &in->field[0];
    const char *kind = dlb_image_kind(field->data, field->len_bytes) == DLB_IMAGE_UNKNOWN
                           ? dlb_undecoded_kind(field->name, field->data, field->len_bytes)
                           : NULL;
    return kind ? dlb_undecoded_fail(err, NULL, kind) : DLB_E_FORMAT;
}

int dlb_pixels_decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng,
                      struct dlb_err *err)
{
    struct dlb_image_codec *codec = cd;
    uint32_t width, height, denom = 1;
    struct dlb_image_rect want;

    codec->path = in->path;
    int rc = dlb_image_start(codec->image, in->field[0].data, in->field[0].len_bytes,
                             !codec->any_kind, &width, &height, err);
    if (rc != DLB_OK)
        goto out;
    if (codec->opts.crop != DLB_CROP_NONE) {
        struct view view = choose_view(codec, width, height, &rng);
        denom = choose_denom(codec, &view);
        if (lay_axes(codec, &view, denom) != 0) {
            rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                          "out of memory to resize an image");
            goto out;
        }
    }
    if (codec->opts.crop == DLB_CROP_NONE || codec->opts.whole_decode)
        want = (struct dlb_image_rect){0, 0, width, height};
    else
        want = (struct dlb_image_rect){codec->across.low, codec->down.low,
                                       codec->across.end - codec->across.low,
                                       codec->down.end - codec->down.low};
    rc = dlb_image_decode(codec->image, denom, &want, &codec->pixels, err);
out:
    if (rc == DLB_E_FORMAT && is_beside(in->field[0].name))
        rc = dlb_fail(err, DLB_ERR_SAMPLE_NO_IMAGE, NULL, DLB_NO_OFFSET,
                      "the sample that starts here has no image field, only \"%s\"",
                      in->field[0].name);
    else if (rc == DLB_E_FORMAT &&
             (err->code == DLB_ERR_JPEG_NOT_A_JPEG || err->code == DLB_ERR_IMAGE_UNKNOWN))
        rc = name_other(in, err);
    if (rc != DLB_OK) {
        err->offset_bytes = in->offset_bytes;
        return dlb_fail_at_path(err, in->path);
    }
    return DLB_OK;
}

/* Stores four bytes for each pixel of three: the next pixel overwrites the fourth. */
static void store_u8(uint8_t *dst, const uint16_t *row, uint32_t n)
{
    uint8_t last[4];

    for (uint32_t x = 0; x < n; x++) {
        uint8_t pixel[4];
        for (uint32_t c = 0; c < 4; c++)
            pixel[c] = (uint8_t)((uint16_t)(row[4 * x + c] + 128) >> 8);
        if (x + 1 < n)
            memcpy(dst + (size_t)3 * x, pixel, 4);
        else
            memcpy(last, pixel, 4);
    }
    memcpy(dst + (size_t)3 * (n - 1), last, 3);
}

/* Rounded to bytes first, as ToTensor's input is. */
static void store_f32(const struct dlb_image_codec *codec, float *restrict dst,
                      const uint16_t *restrict row, uint32_t n, size_t plane)
{
    for (uint32_t c = 0; c < 3; c++) {
        float scale = codec->scale[c], shift = codec->shift[c];
        float *to = dst + c * plane;
        for (uint32_t x = 0; x < n; x++)
            to[x] = dlb_normalise((uint8_t)((uint16_t)(row[4 * x + c] + 128) >> 8), scale, shift);
    }
}

static void store_whole(const struct dlb_image_codec *codec, uint8_t *dst)
{
    const struct dlb_image_rect *rect = &codec->pixels.rect;
    size_t n = (size_t)rect->width * rect->height;
    const uint8_t *src = codec->pixels.data;

    if (codec->opts.pixels == DLB_PIXELS_U8) {
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < 3; c++)
                dst[3 * i + c] = src[4 * i + c];
        return;
    }
    float *floats = (float *)(void *)dst;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++)
            floats[c * n + i] = dlb_normalise(src[4 * i + c], codec->scale[c], codec->shift[c]);
}

uint64_t dlb_pixels_decoded_bytes(const void *cd)
{
    const struct dlb_image_codec *codec = cd;
    const struct dlb_image_rect *rect = &codec->pixels.rect;
    return (uint64_t)rect->width * rect->height * pixel_bytes(&codec->opts);
}

static int transform_whole(struct dlb_image_codec *codec, uint8_t *dst, size_t cap_bytes,
                           size_t *len_bytes, struct dlb_err *err)
{
    const struct dlb_image_rect *rect = &codec->pixels.rect;

    *len_bytes = (size_t)dlb_pixels_decoded_bytes(codec);
    if (*len_bytes > cap_bytes && codec->any_kind)
        return dlb_fail(err, DLB_ERR_SAMPLE_EXCEEDS_SLOT, codec->path, DLB_NO_OFFSET,
                        "%zu bytes of pixels do not fit the slot's %zu: set "
                        "transform.max_decoded_bytes to the largest sample",
                        *len_bytes, cap_bytes);
    if (*len_bytes > cap_bytes)
        return dlb_fail(err, DLB_ERR_SAMPLE_EXCEEDS_SLOT, codec->path, DLB_NO_OFFSET,
                        "an image of %u x %u pixels stored in less than a bit a pixel does not fit "
                        "its slot: set transform.crop to something else than \"none\"",
                        rect->width, rect->height);
    store_whole(codec, dst);
    return DLB_OK;
}

int dlb_pixels_transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                         struct dlb_err *err)
{
    struct dlb_image_codec *codec = cd;
    const struct dlb_image_rect *rect = &codec->pixels.rect;
    uint32_t size = codec->side;
    bool for_device = codec->place_at > 0;
    bool floats = codec->opts.pixels == DLB_PIXELS_F32 && !for_device;

    if (codec->opts.crop == DLB_CROP_NONE)
        return transform_whole(codec, dst, cap_bytes, len_bytes, err);
    *len_bytes = for_device ? codec->place_at + sizeof codec->place
                            : (size_t)size * size * pixel_bytes(&codec->opts);
    if (*len_bytes > cap_bytes)
        return dlb_fail(err, DLB_ERR_SAMPLE_EXCEEDS_SLOT, codec->path, DLB_NO_OFFSET,
                        "%zu bytes of pixels do not fit the slot's %zu", *len_bytes, cap_bytes);
    for (uint32_t y = 0; y < size; y++) {
        const uint16_t *row =
            dlb_resample_row(&codec->scratch, &codec->across, &codec->down, y, codec->pixels.data,
                             (size_t)rect->width * 4, rect->x, rect->y, rect->width);
        if (!row)
            return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                            "out of memory to resize an image");
        if (floats)
            store_f32(codec, (float *)(void *)dst + (size_t)y * size, row, size,
                      (size_t)size * size);
        else
            store_u8(dst + (size_t)y * size * 3, row, size);
    }
    if (for_device) { /* the gap before `place` is part of the checksum */
        size_t n_pixels = (size_t)size * size * 3;
        memset(dst + n_pixels, 0, codec->place_at - n_pixels);
        memcpy(dst + codec->place_at, &codec->place, sizeof codec->place);
    }
    return DLB_OK;
}
