/* What inspect says of clips of audio: rate, channels and length.
 *
 * Floor 5. Control thread, or the child process that looks; only dlb_clips_print prints. */
#ifndef DLB_BENCH_VERBS_CLIPS_H
#define DLB_BENCH_VERBS_CLIPS_H

#include "formats/codecs/audio.h"
#include "formats/reader.h"

#include <jansson.h>
#include <stdint.h>

#define DLB_MAX_CLIPS 64

struct dlb_clips {
    uint32_t n;
    uint32_t rate_hz[DLB_MAX_CLIPS], n_channels[DLB_MAX_CLIPS]; /* [n] ascending, once sorted */
    uint64_t n_frames[DLB_MAX_CLIPS];
    double seconds[DLB_MAX_CLIPS];
};

/* Adds the clip that the bytes hold, if they do. `audio` may be NULL. */
void dlb_clips_add(struct dlb_clips *clips, struct dlb_audio *audio, const uint8_t *data,
                   size_t n_bytes);

void dlb_clips_sort(struct dlb_clips *clips);

/* The rest is of sorted clips. Adds to shape->odd that clips of several rates are not resampled. */
void dlb_clips_note(const struct dlb_clips *clips, struct dlb_shape *shape);

/* The length that half of the clips have, in frames; 0: no clips. */
uint64_t dlb_clips_median_frames(const struct dlb_clips *clips);

/* The channels that all of the clips have; 1 where they differ, or there are none. */
uint32_t dlb_clips_channels(const struct dlb_clips *clips);

/* An object, each of rate_hz, channels, frames and seconds as [least, median, most]; null without
 * clips. New reference. */
json_t *dlb_clips_json(const struct dlb_clips *clips);

void dlb_clips_print(const struct dlb_clips *clips);

#endif
