#include "bench/verbs/seen.h"

#include "core/base/told.h"

#include <math.h>

static bool clips_make_sense(const struct dlb_clips *clips, uint32_t n_looked)
{
    bool sense = clips->n <= DLB_MAX_CLIPS && clips->n <= n_looked;

    for (uint32_t i = 0; sense && i < clips->n; i++)
        sense = clips->rate_hz[i] > 0 && clips->rate_hz[i] <= INT32_MAX &&
                clips->n_channels[i] > 0 && clips->n_channels[i] <= INT32_MAX &&
                clips->n_frames[i] <= INT64_MAX && isfinite(clips->seconds[i]) &&
                clips->seconds[i] >= 0;
    return sense;
}

/* That both are what JSON's and C's whole numbers can hold. */
static bool images_make_sense(const struct dlb_seen *seen)
{
    bool sense = seen->n_images <= seen->n_looked && seen->n_raw_images <= seen->n_looked;

    for (uint32_t i = 0; sense && i < seen->n_images; i++)
        sense = seen->width[i] <= INT32_MAX && seen->height[i] <= INT32_MAX;
    return sense;
}

bool dlb_seen_makes_sense(const struct dlb_seen *seen)
{
    bool sense = seen->n_looked <= DLB_INSPECT_SAMPLES &&
                 seen->n_bad <= DLB_INSPECT_SAMPLES + DLB_INSPECT_SHARDS &&
                 images_make_sense(seen) && clips_make_sense(&seen->clips, seen->n_looked) &&
                 seen->n_fields <= DLB_MAX_FIELDS &&
                 dlb_told_text(seen->first.path, sizeof seen->first.path) &&
                 dlb_told_text(seen->undecoded, sizeof seen->undecoded) &&
                 dlb_told_err(&seen->first_bad) && seen->n_unfit_labels <= seen->n_looked &&
                 dlb_told_text(seen->unfit_label, sizeof seen->unfit_label) &&
                 (seen->n_bad == 0) == (seen->first_bad.status == DLB_OK);

    for (uint32_t i = 0; sense && i < DLB_MAX_FIELDS; i++)
        sense = dlb_told_text(seen->fields[i], sizeof seen->fields[i]);
    return sense;
}

bool dlb_tries_make_sense(const struct dlb_tries *tries)
{
    return tries->n <= DLB_INSPECT_SAMPLES && tries->n_decoded <= tries->n &&
           tries->n_other <= tries->n_decoded && tries->n_broken <= tries->n - tries->n_decoded &&
           dlb_told_err(&tries->first);
}
