#include "formats/codecs/webp.h"

#ifdef DLB_HAVE_WEBP

#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/encode.h>

struct dlb_webp {
    const uint8_t *data;
    size_t n_bytes;
    uint32_t width, height;
};

struct dlb_webp *dlb_webp_new(void)
{
    return calloc(1, sizeof(struct dlb_webp));
}

void dlb_webp_free(struct dlb_webp *webp)
{
    free(webp);
}

static int damaged(struct dlb_err *err, const char *what)
{
    return dlb_fail(err, DLB_ERR_WEBP_DAMAGED, NULL, DLB_NO_OFFSET, "WebP: %s", what);
}

static int cut_short(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_WEBP_CUT_SHORT, NULL, DLB_NO_OFFSET,
                    "WebP: cut short: it is smaller than its header says");
}

int dlb_webp_start(struct dlb_webp *webp, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err)
{
    WebPBitstreamFeatures found;

    if (dlb_image_kind(data, n_bytes) != DLB_IMAGE_WEBP)
        return damaged(err, "it is none");
    uint64_t claimed = (uint64_t)data[4] | (uint64_t)data[5] << 8 | (uint64_t)data[6] << 16 |
                       (uint64_t)data[7] << 24;
    if (claimed > n_bytes - 8)
        return cut_short(err);
    VP8StatusCode status = WebPGetFeatures(data, n_bytes, &found);
    if (status == VP8_STATUS_NOT_ENOUGH_DATA)
        return cut_short(err);
    if (status != VP8_STATUS_OK)
        return damaged(err, "its header makes no sense");
    if (found.has_animation)
        return dlb_fail(err, DLB_ERR_WEBP_ANIMATED, NULL, DLB_NO_OFFSET,
                        "WebP: animated, which is not decoded");
    *width = (uint32_t)found.width;
    *height = (uint32_t)found.height;
    if ((uint64_t)*width * *height > DLB_IMAGE_MAX_PIXELS)
        return dlb_fail(err, DLB_ERR_WEBP_TOO_LARGE, NULL, DLB_NO_OFFSET,
                        "WebP: more than 178,956,970 pixels");
    *webp = (struct dlb_webp){data, n_bytes, *width, *height};
    return DLB_OK;
}

/* libwebp interpolates chroma at a part's edges without the neighbours that it cut off, so the part
 * is wider by two pixels on each side; it begins at an even pixel. */
static void widen(uint32_t *start, uint32_t *n, uint32_t most)
{
    uint32_t low = *start < 2 ? 0 : (*start - 2) & ~1u, stop = *start + *n;

    stop = stop < most - 2 && most > 2 ? stop + 2 : most;
    *start = low;
    *n = stop - low;
}

int dlb_webp_decode(struct dlb_webp *webp, const struct dlb_image_rect *want,
                    struct dlb_image_pixels *out, struct dlb_err *err)
{
    struct dlb_image_rect rect = *want;
    WebPDecoderConfig how;

    if (want->width == 0 || want->height == 0 || want->x + want->width > webp->width ||
        want->y + want->height > webp->height)
        DLB_BUG("a part beyond the image");
    widen(&rect.x, &rect.width, webp->width);
    widen(&rect.y, &rect.height, webp->height);
    int rc = dlb_image_reserve(out, &rect, err);
    if (rc != DLB_OK)
        return rc;
    if (!WebPInitDecoderConfig(&how))
        return damaged(err, "libwebp is of another version than its header");
    how.options.use_cropping = rect.width < webp->width || rect.height < webp->height;
    how.options.crop_left = (int)rect.x;
    how.options.crop_top = (int)rect.y;
    how.options.crop_width = (int)rect.width;
    how.options.crop_height = (int)rect.height;
    how.output.colorspace = MODE_RGBA;
    how.output.is_external_memory = 1;
    how.output.u.RGBA.rgba = out->data;
    how.output.u.RGBA.stride = (int)rect.width * 4;
    how.output.u.RGBA.size = (size_t)rect.width * rect.height * 4;
    VP8StatusCode status = WebPDecode(webp->data, webp->n_bytes, &how);
    WebPFreeDecBuffer(&how.output);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        return dlb_fail_memory(err, NULL, (size_t)rect.width * rect.height * 4);
    if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED)
        return cut_short(err);
    return status == VP8_STATUS_OK ? DLB_OK : damaged(err, "libwebp cannot decode it");
}

int dlb_webp_encode(const struct dlb_image_planes *planes, float quality, struct dlb_bytes *out,
                    struct dlb_err *err)
{
    uint8_t *rgb = malloc((size_t)planes->width * planes->height * 3), *coded = NULL;

    if (!rgb)
        return dlb_fail_memory(err, NULL, (size_t)planes->width * planes->height * 3);
    for (uint32_t y = 0; y < planes->height; y++)
        dlb_image_rgb_row(planes, y, rgb + (size_t)y * planes->width * 3);
    size_t n_coded = WebPEncodeRGB(rgb, (int)planes->width, (int)planes->height,
                                   (int)planes->width * 3, quality, &coded);
    free(rgb);
    int rc = n_coded
                 ? dlb_bytes_append(out, coded, n_coded, err)
                 : dlb_fail(err, DLB_ERR_IMAGE_ENCODE_FAILED, NULL, DLB_NO_OFFSET,
                            "libwebp cannot encode %u x %u pixels", planes->width, planes->height);
    WebPFree(coded);
    return rc;
}

#else

#define MISSING "built without libwebp"

struct dlb_webp *dlb_webp_new(void)
{
    return NULL;
}

void dlb_webp_free(struct dlb_webp *webp)
{
    (void)webp;
}

int dlb_webp_start(struct dlb_webp *webp, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err)
{
    (void)webp, (void)data, (void)n_bytes, (void)width, (void)height;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

int dlb_webp_decode(struct dlb_webp *webp, const struct dlb_image_rect *want,
                    struct dlb_image_pixels *out, struct dlb_err *err)
{
    (void)webp, (void)want, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

int dlb_webp_encode(const struct dlb_image_planes *planes, float quality, struct dlb_bytes *out,
                    struct dlb_err *err)
{
    (void)planes, (void)quality, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

#endif
