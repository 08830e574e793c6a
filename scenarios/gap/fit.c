#include "scenarios/gap/fit.h"

#include "core/base/units.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/gap/torch/torch_rung.h"

#include <stdio.h>

#define USABLE_FRAC 0.8 /* of the available memory; the rest is left to the machine */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t needed(const struct dlb_gap_params *params, bool torch)
{
    uint64_t most = 0;
    for (const char *const *name = dlb_gap_rung_names; *name; name++)
        most = max_u64(most, dlb_gap_rung_bytes(params, *name));
    for (const char *const *name = dlb_gap_torch_names; torch && *name; name++)
        most = max_u64(most, dlb_gap_torch_bytes(params, *name));
    return most;
}

/* The same case with n samples: the batch shrinks likewise, so that there are enough batches. */
static struct dlb_gap_params scaled(const struct dlb_gap_params *asked, int64_t samples)
{
    struct dlb_gap_params p = *asked;
    p.samples = samples;
    p.batch_size =
        (int64_t)((double)asked->batch_size * ((double)samples / (double)asked->samples) + 0.5);
    if (p.batch_size > (samples - 1) / (DLB_GAP_MIN_BATCHES - 1))
        p.batch_size = (samples - 1) / (DLB_GAP_MIN_BATCHES - 1);
    if (p.batch_size < 1)
        p.batch_size = 1;
    return p;
}

static void say(const struct dlb_gap_params *asked, const struct dlb_gap_params *params,
                uint64_t n_bytes, uint64_t available_bytes, char said[256])
{
    char a[40], b[40], c[40], d[40], e[24], f[24];
    (void)snprintf(said, 256,
                   "reduced to %s samples in batches of %s: %s samples in batches of %s would "
                   "need up to %s of memory, and %s are available",
                   dlb_count_text((double)params->samples, a, sizeof(a)),
                   dlb_count_text((double)params->batch_size, b, sizeof(b)),
                   dlb_count_text((double)asked->samples, c, sizeof(c)),
                   dlb_count_text((double)asked->batch_size, d, sizeof(d)),
                   dlb_bytes_text(n_bytes, e, sizeof(e)),
                   dlb_bytes_text(available_bytes, f, sizeof(f)));
}

int dlb_gap_shrink(struct dlb_gap_params *params, uint64_t available_bytes, bool torch,
                   char said[256], struct dlb_err *err)
{
    const struct dlb_gap_params asked = *params;
    uint64_t limit = (uint64_t)((double)available_bytes * USABLE_FRAC);
    uint64_t n_bytes = needed(&asked, torch);
    char least[24], have[24];
    said[0] = '\0';
    if (n_bytes <= limit)
        return DLB_OK;
    int64_t fits = DLB_GAP_MIN_BATCHES, beyond = asked.samples;
    struct dlb_gap_params smallest = scaled(&asked, fits);
    if (fits > asked.samples || needed(&smallest, torch) > limit)
        return dlb_fail(err, DLB_ERR_GAP_TOO_LARGE, NULL, DLB_NO_OFFSET,
                        "gap: %d rows need %s of memory; gap uses at most %.0f%% of the %s that "
                        "are available: lower gap.features or gap.workers",
                        DLB_GAP_MIN_BATCHES,
                        dlb_bytes_text(needed(&smallest, torch), least, sizeof(least)),
                        USABLE_FRAC * 100, dlb_bytes_text(available_bytes, have, sizeof(have)));
    while (beyond - fits > 1) {
        int64_t samples = fits + (beyond - fits) / 2;
        struct dlb_gap_params p = scaled(&asked, samples);
        if (needed(&p, torch) <= limit)
            fits = samples;
        else
            beyond = samples;
    }
    if (fits > 100000) /* a round number */
        fits -= fits % 10000;
    *params = scaled(&asked, fits);
    say(&asked, params, n_bytes, available_bytes, said);
    return DLB_OK;
}
