#include "scenarios/gap/fit.h"

#include "core/base/units.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/gap/torch/torch_rung.h"

#include <math.h>
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

/* All rungs of C together, and all of PyTorch, in rows of the slowest kind: of the ladder's own
 * figures on two cores (docs/gap.md). PyTorch's check their content in the first repetition, in an
 * epoch more; those of C have warm-up epochs in each. */
enum { C_ROWS = 6, TORCH_ROWS = 4, LEAST_ROWS = 100000 };
#define PROCESS_S 0.05

static size_t count(const char *const *names)
{
    size_t n = 0;
    while (names[n])
        n++;
    return n;
}

double dlb_gap_seconds(const struct dlb_gap_params *params, int64_t repeats,
                       const struct dlb_gap_pace *pace)
{
    bool torch = isfinite(pace->torch_row_s);
    double n_c = (double)count(dlb_gap_rung_names),
           n_torch = torch ? (double)count(dlb_gap_torch_names) : 0;
    double n = (double)repeats, epochs = (double)params->epochs;
    double row_s = n * (n_c + n_torch) * pace->array_row_s +
                   n * (epochs + (double)params->warmup_epochs) * C_ROWS * pace->row_s;

    if (torch)
        row_s += (n * epochs + 1) * TORCH_ROWS * pace->torch_row_s;
    return n * (n_c * PROCESS_S + n_torch * (torch ? pace->import_s : 0)) +
           (double)params->samples * row_s;
}

/* Two digits: 1,300,000. */
static int64_t rounded(double n)
{
    double unit = pow(10, floor(log10(n)) - 1);
    return (int64_t)(floor(n / unit) * unit);
}

void dlb_gap_fit_time(struct dlb_gap_params *params, bool scale_batch, int64_t repeats,
                      const struct dlb_gap_pace *pace, char said[256])
{
    const struct dlb_gap_params asked = *params;
    struct dlb_gap_params none = asked;
    char a[40], b[40];

    none.samples = 0;
    said[0] = '\0';
    double whole_s = dlb_gap_seconds(&asked, repeats, pace);
    double fixed_s = dlb_gap_seconds(&none, repeats, pace);
    if (!(whole_s > DLB_GAP_DEFAULT_S))
        return;
    double fits = (double)asked.samples * (DLB_GAP_DEFAULT_S - fixed_s) / (whole_s - fixed_s);
    int64_t least = scale_batch ? LEAST_ROWS : asked.batch_size * DLB_GAP_MIN_BATCHES;
    int64_t samples = fits > (double)least ? rounded(fits) : least;
    if (samples >= asked.samples)
        return;
    *params = scale_batch ? scaled(&asked, samples) : asked;
    params->samples = samples;
    (void)snprintf(said, 256,
                   "%s of the published %s rows, which take about %.0f minutes here; all would "
                   "take about %.0f: --samples %lld",
                   dlb_count_text((double)samples, a, sizeof(a)),
                   dlb_count_text((double)asked.samples, b, sizeof(b)),
                   fmax(1, dlb_gap_seconds(params, repeats, pace) / 60), whole_s / 60,
                   (long long)asked.samples);
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
