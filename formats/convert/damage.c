#include "formats/convert/damage.h"

#include "formats/codec.h"
#include "formats/codecs/jpeg.h"

#include <string.h>

void dlb_convert_damage_init(struct dlb_convert_damage *damage)
{
    damage->jpeg = dlb_jpeg_new();
}

void dlb_convert_damage_free(struct dlb_convert_damage *damage)
{
    dlb_jpeg_free(damage->jpeg);
    damage->jpeg = NULL;
}

/* "jpg", or "camera.left.jpg". */
static bool is_jpeg(const struct dlb_field *field)
{
    static const uint8_t start[] = {0xff, 0xd8, 0xff};
    const char *dot = strrchr(field->name, '.');
    return dlb_codec_takes(dlb_codec_by_name("jpeg"), dot ? dot + 1 : field->name) ||
           (field->len_bytes >= sizeof start && memcmp(field->data, start, sizeof start) == 0);
}

bool dlb_convert_damaged(const struct dlb_convert_damage *damage, const struct dlb_sample *sample,
                         struct dlb_err *why)
{
    uint32_t width, height;
    for (uint32_t f = 0; damage->jpeg && f < sample->n_fields; f++) {
        const struct dlb_field *field = &sample->field[f];
        if (is_jpeg(field) && dlb_jpeg_start(damage->jpeg, field->data, field->len_bytes, &width,
                                             &height, why) == DLB_E_FORMAT) {
            why->offset_bytes = sample->offset_bytes;
            (void)dlb_fail_at_path(why, sample->path);
            return true;
        }
    }
    return false;
}
