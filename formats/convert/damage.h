/* Images and clips of audio that a conversion copies although they are damaged: the copy is as good
 * as the source.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_CONVERT_DAMAGE_H
#define DLB_FORMATS_CONVERT_DAMAGE_H

#include "core/base/err.h"
#include "formats/reader.h"

#include <stdbool.h>

struct dlb_convert_damage {
    struct dlb_image *image; /* each NULL: this build cannot tell */
    struct dlb_audio *audio;
};

void dlb_convert_damage_init(struct dlb_convert_damage *damage);
void dlb_convert_damage_free(struct dlb_convert_damage *damage);

/* Whether a field is an image or a clip, by its name or its first bytes, that has no readable
 * header, or no end where the header or the chunks tell: then *why names the sample. Nothing is
 * decoded. */
bool dlb_convert_damaged(const struct dlb_convert_damage *damage, const struct dlb_sample *sample,
                         struct dlb_err *why);

#endif
