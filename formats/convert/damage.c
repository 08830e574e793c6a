#include "formats/convert/damage.h"

#include "formats/codec.h"
#include "formats/codecs/audio.h"
#include "formats/codecs/image.h"

#include <string.h>

void dlb_convert_damage_init(struct dlb_convert_damage *damage)
{
    damage->image = dlb_image_new();
    damage->audio = dlb_audio_new();
}

void dlb_convert_damage_free(struct dlb_convert_damage *damage)
{
    dlb_image_free(damage->image);
    dlb_audio_free(damage->audio);
    *damage = (struct dlb_convert_damage){0};
}

/* "jpg", or "camera.left.jpg". */
static bool is_named(const struct dlb_field *field, const char *codec)
{
    const char *dot = strrchr(field->name, '.');
    return dlb_codec_takes(dlb_codec_by_name(codec), dot ? dot + 1 : field->name);
}

/* A kind whose library this build lacks is not judged. */
static bool is_damaged_image(struct dlb_image *image, const struct dlb_field *field,
                             struct dlb_err *why)
{
    enum dlb_image_kind kind = dlb_image_kind(field->data, field->len_bytes);
    uint32_t width, height;

    if (!image || (kind == DLB_IMAGE_UNKNOWN && !is_named(field, "image")))
        return false;
    return dlb_image_start(image, field->data, field->len_bytes, is_named(field, "jpeg"), &width,
                           &height, why) == DLB_E_FORMAT &&
           (kind == DLB_IMAGE_UNKNOWN || why->code != DLB_ERR_IMAGE_UNKNOWN);
}

static bool is_damaged_audio(struct dlb_audio *audio, const struct dlb_field *field,
                             struct dlb_err *why)
{
    struct dlb_audio_clip clip;
    bool looks = dlb_audio_kind(field->data, field->len_bytes) != DLB_AUDIO_UNKNOWN;

    return audio && (looks || is_named(field, "audio")) &&
           dlb_audio_start(audio, field->data, field->len_bytes, &clip, why) == DLB_E_FORMAT;
}

bool dlb_convert_damaged(const struct dlb_convert_damage *damage, const struct dlb_sample *sample,
                         struct dlb_err *why)
{
    for (uint32_t f = 0; f < sample->n_fields; f++) {
        const struct dlb_field *field = &sample->field[f];
        if (is_damaged_image(damage->image, field, why) ||
            is_damaged_audio(damage->audio, field, why)) {
            why->offset_bytes = sample->offset_bytes;
            (void)dlb_fail_at_path(why, sample->path);
            return true;
        }
    }
    return false;
}
