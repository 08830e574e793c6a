#include "formats/codecs/image.h"

#include "formats/codecs/jpeg.h"
#include "formats/codecs/png.h"
#include "formats/codecs/webp.h"

#include <stdlib.h>

struct dlb_image {
    struct dlb_jpeg *jpeg; /* each NULL in a build without its library */
    struct dlb_png *png;
    struct dlb_webp *webp;
    enum dlb_image_kind kind; /* of the started image */
};

struct dlb_image *dlb_image_new(void)
{
    struct dlb_image *image = calloc(1, sizeof *image);

    if (!image)
        return NULL;
    image->jpeg = dlb_jpeg_new();
    image->png = dlb_png_new();
    image->webp = dlb_webp_new();
    if (image->jpeg || image->png || image->webp)
        return image;
    free(image);
    return NULL;
}

void dlb_image_free(struct dlb_image *image)
{
    if (!image)
        return;
    dlb_jpeg_free(image->jpeg);
    dlb_png_free(image->png);
    dlb_webp_free(image->webp);
    free(image);
}

static int unknown(size_t n_bytes, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_IMAGE_UNKNOWN, NULL, DLB_NO_OFFSET,
                    n_bytes ? "not an image: it begins as no JPEG, PNG or WebP"
                            : "not an image: it is empty");
}

static int not_built(struct dlb_err *err, const char *kind, const char *library)
{
    return dlb_fail(err, DLB_ERR_IMAGE_UNKNOWN, NULL, DLB_NO_OFFSET,
                    "%s, and this program was built without %s", kind, library);
}

int dlb_image_start(struct dlb_image *image, const uint8_t *data, size_t n_bytes,
                    bool jpeg_expected, uint32_t *width, uint32_t *height, struct dlb_err *err)
{
    image->kind = dlb_image_kind(data, n_bytes);
    if (image->kind == DLB_IMAGE_PNG)
        return image->png ? dlb_png_start(image->png, data, n_bytes, width, height, err)
                          : not_built(err, "a PNG", "libpng");
    if (image->kind == DLB_IMAGE_WEBP)
        return image->webp ? dlb_webp_start(image->webp, data, n_bytes, width, height, err)
                           : not_built(err, "a WebP", "libwebp");
    if (image->kind == DLB_IMAGE_UNKNOWN && !jpeg_expected)
        return unknown(n_bytes, err);
    return image->jpeg ? dlb_jpeg_start(image->jpeg, data, n_bytes, width, height, err)
                       : not_built(err, "a JPEG", "libjpeg-turbo");
}

bool dlb_image_scales(const struct dlb_image *image)
{
    return image->kind == DLB_IMAGE_JPEG;
}

int dlb_image_decode(struct dlb_image *image, uint32_t denom, const struct dlb_image_rect *want,
                     struct dlb_image_pixels *out, struct dlb_err *err)
{
    if (image->kind == DLB_IMAGE_PNG)
        return dlb_png_decode(image->png, want, out, err);
    if (image->kind == DLB_IMAGE_WEBP)
        return dlb_webp_decode(image->webp, want, out, err);
    return dlb_jpeg_decode(image->jpeg, denom, want, out, err);
}
