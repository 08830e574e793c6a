#include "formats/codecs/image_data.h"

#include <stdlib.h>
#include <string.h>

enum dlb_image_kind dlb_image_kind(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes >= 2 && data[0] == 0xFF && data[1] == 0xD8)
        return DLB_IMAGE_JPEG;
    if (n_bytes >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
        return DLB_IMAGE_PNG;
    if (n_bytes >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0)
        return DLB_IMAGE_WEBP;
    return DLB_IMAGE_UNKNOWN;
}

int dlb_image_reserve(struct dlb_image_pixels *out, const struct dlb_image_rect *rect,
                      struct dlb_err *err)
{
    size_t n_pixels = (size_t)rect->width * rect->height * 4;
    size_t n_bytes = n_pixels + DLB_IMAGE_SLACK_BYTES;

    if (n_bytes > out->cap_bytes) {
        free(out->data);
        out->data = aligned_alloc(64, (n_bytes + 63) & ~(size_t)63);
        out->cap_bytes = out->data ? n_bytes : 0;
    }
    if (!out->data)
        return dlb_fail_memory(err, NULL, n_bytes);
    out->rect = *rect;
    memset(out->data + n_pixels, 0, DLB_IMAGE_SLACK_BYTES);
    return DLB_OK;
}

static uint8_t clip(int value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* BT.601 in 1/65536, as libjpeg has it. */
void dlb_image_rgb_row(const struct dlb_image_planes *planes, uint32_t y, uint8_t *rgb)
{
    const uint8_t *luma = planes->y + (size_t)y * planes->stride;
    const uint8_t *cb = planes->cb + (size_t)(y / 2) * (planes->stride / 2);
    const uint8_t *cr = planes->cr + (size_t)(y / 2) * (planes->stride / 2);

    for (uint32_t x = 0; x < planes->width; x++, rgb += 3) {
        int u = cb[x / 2] - 128, v = cr[x / 2] - 128, l = luma[x] * 65536 + 32768;
        rgb[0] = clip((l + 91881 * v) / 65536);
        rgb[1] = clip((l - 22554 * u - 46802 * v) / 65536);
        rgb[2] = clip((l + 116130 * u) / 65536);
    }
}
