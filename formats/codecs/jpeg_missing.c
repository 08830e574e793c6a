/* jpeg.h in a build without libjpeg: there is no decoder. */
#include "formats/codecs/jpeg.h"

#ifndef DLB_HAVE_JPEG

#define MISSING "built without libjpeg"

struct dlb_jpeg *dlb_jpeg_new(void)
{
    return NULL;
}

void dlb_jpeg_free(struct dlb_jpeg *jpeg)
{
    (void)jpeg;
}

int dlb_jpeg_start(struct dlb_jpeg *jpeg, const uint8_t *data, size_t n_bytes, uint32_t *width,
                   uint32_t *height, struct dlb_err *err)
{
    (void)jpeg, (void)data, (void)n_bytes, (void)width, (void)height;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

int dlb_jpeg_decode(struct dlb_jpeg *jpeg, uint32_t denom, const struct dlb_image_rect *want,
                    struct dlb_image_pixels *out, struct dlb_err *err)
{
    (void)jpeg, (void)denom, (void)want, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

int dlb_jpeg_encode(const struct dlb_image_planes *planes, int quality, struct dlb_bytes *out,
                    struct dlb_err *err)
{
    (void)planes, (void)quality, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, MISSING);
}

#endif
