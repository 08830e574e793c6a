#include "bench/verbs/clips.h"

#include "bench/verbs/ascending.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "core/base/units.h"

#include <stdio.h>
#include <stdlib.h>

void dlb_clips_add(struct dlb_clips *clips, struct dlb_audio *audio, const uint8_t *data,
                   size_t n_bytes)
{
    struct dlb_audio_clip clip;
    struct dlb_err ignored;

    if (!audio || clips->n == DLB_MAX_CLIPS ||
        dlb_audio_start(audio, data, n_bytes, &clip, &ignored) != DLB_OK)
        return;
    clips->rate_hz[clips->n] = clip.rate_hz;
    clips->n_channels[clips->n] = clip.n_channels;
    clips->seconds[clips->n] = (double)clip.n_frames / clip.rate_hz;
    clips->n_frames[clips->n++] = clip.n_frames;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void dlb_clips_sort(struct dlb_clips *clips)
{
    qsort(clips->rate_hz, clips->n, sizeof clips->rate_hz[0], dlb_ascending_u32);
    qsort(clips->n_channels, clips->n, sizeof clips->n_channels[0], dlb_ascending_u32);
    qsort(clips->n_frames, clips->n, sizeof clips->n_frames[0], dlb_ascending_u64);
    qsort(clips->seconds, clips->n, sizeof clips->seconds[0], ascending);
}

void dlb_clips_note(const struct dlb_clips *clips, struct dlb_shape *shape)
{
    if (clips->n > 0 && clips->rate_hz[0] != clips->rate_hz[clips->n - 1])
        dlb_shape_odd(shape,
                      "clips have rates from %u to %u Hz, and none is resampled: what a training "
                      "spends on that comes on top",
                      clips->rate_hz[0], clips->rate_hz[clips->n - 1]);
}

uint64_t dlb_clips_median_frames(const struct dlb_clips *clips)
{
    return clips->n > 0 ? clips->n_frames[clips->n / 2] : 0;
}

uint32_t dlb_clips_channels(const struct dlb_clips *clips)
{
    bool alike = clips->n > 0 && clips->n_channels[0] == clips->n_channels[clips->n - 1];

    return alike ? clips->n_channels[0] : 1;
}

json_t *dlb_clips_json(const struct dlb_clips *clips)
{
    uint32_t n = clips->n;

    if (n == 0)
        return json_null();
    return dlb_json_made(
        json_pack("{s:i, s:[iii], s:[iii], s:[III], s:[fff]}", "samples", (int)n, "rate_hz",
                  (int)clips->rate_hz[0], (int)clips->rate_hz[n / 2], (int)clips->rate_hz[n - 1],
                  "channels", (int)clips->n_channels[0], (int)clips->n_channels[n / 2],
                  (int)clips->n_channels[n - 1], "frames", (json_int_t)clips->n_frames[0],
                  (json_int_t)clips->n_frames[n / 2], (json_int_t)clips->n_frames[n - 1], "seconds",
                  clips->seconds[0], clips->seconds[n / 2], clips->seconds[n - 1]));
}

static const char *range(uint32_t low, uint32_t high, char *text, size_t n_text)
{
    char a[40], b[40];

    (void)dlb_count_text(low, a, sizeof a);
    (void)snprintf(text, n_text, low == high ? "%s" : "%s to %s", a,
                   dlb_count_text(high, b, sizeof b));
    return text;
}

void dlb_clips_print(const struct dlb_clips *clips)
{
    char rates[96], channels[96];
    uint32_t n = clips->n;

    if (n == 0)
        return;
    dlb_say(stdout, "  audio      %s Hz, %s channel%s; %.3g to %.3g s, median %.3g",
            range(clips->rate_hz[0], clips->rate_hz[n - 1], rates, sizeof rates),
            range(clips->n_channels[0], clips->n_channels[n - 1], channels, sizeof channels),
            clips->n_channels[n - 1] == 1 ? "" : "s", clips->seconds[0], clips->seconds[n - 1],
            clips->seconds[n / 2]);
}
