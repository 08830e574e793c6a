#include "core/measure/noise.h"

#include "core/base/mem.h"
#include "core/measure/stats.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20 /* of alternating means; a balanced design needs one */
#define CLIP_ROUNDS 3
#define CLIP 3.0 /* robust standard deviations */
#define MAD_TO_SD 1.4826
#define MEDIAN_SE 1.2533 /* of a median, over that of a mean; less for few values */

struct fit {
    double *y, *residual;       /* [n] */
    double *cell, *block, *sum; /* [n_cells], [n_blocks], [either] */
    uint32_t *count, *in_cell, *in_block;
    uint32_t n, n_cells, n_blocks;
};

/* The mean of what the other effect leaves, for each cell or block. */
static void means(struct fit *f, const struct dlb_noise_rep *reps, bool of_cells)
{
    double *effect = of_cells ? f->cell : f->block;
    const double *other = of_cells ? f->block : f->cell;
    uint32_t n = of_cells ? f->n_cells : f->n_blocks;
    memset(f->sum, 0, n * sizeof(*f->sum));
    memset(f->count, 0, n * sizeof(*f->count));
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t own = of_cells ? reps[i].cell : reps[i].block;
        f->sum[own] += f->y[i] - other[of_cells ? reps[i].block : reps[i].cell];
        f->count[own]++;
    }
    for (uint32_t k = 0; k < n; k++)
        effect[k] = f->count[k] ? f->sum[k] / f->count[k] : 0;
}

static void fit(struct fit *f, const struct dlb_noise_rep *reps, bool blocks)
{
    for (int round = 0; round < ROUNDS; round++) {
        means(f, reps, true);
        if (!blocks)
            break;
        means(f, reps, false);
    }
    for (uint32_t i = 0; i < f->n; i++)
        f->residual[i] = f->y[i] - f->cell[reps[i].cell] - f->block[reps[i].block];
}

/* Cells or blocks that have a repetition. */
static uint32_t n_used(struct fit *f, const struct dlb_noise_rep *reps, bool cells)
{
    uint32_t n = 0;
    memset(f->count, 0, (f->n_cells + f->n_blocks) * sizeof(*f->count));
    for (uint32_t i = 0; i < f->n; i++)
        n += f->count[cells ? reps[i].cell : reps[i].block]++ == 0;
    return n;
}

/* Pulls what lies far off towards its fitted value. */
static void clip(struct fit *f, const struct dlb_noise_rep *reps, double freedom)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->sum[i] = fabs(f->residual[i]);
    double sd = MAD_TO_SD * dlb_median(f->sum, f->n) * sqrt(f->n / freedom);
    for (uint32_t i = 0; i < f->n; i++) {
        double kept = fmin(fmax(f->residual[i], -CLIP * sd), CLIP * sd);
        f->y[i] = f->cell[reps[i].cell] + f->block[reps[i].block] + kept;
    }
}

static bool open_fit(struct fit *f, const struct dlb_noise_rep *reps, uint32_t n)
{
    *f = (struct fit){.n = n};
    for (uint32_t i = 0; i < n; i++) {
        f->n_cells = reps[i].cell >= f->n_cells ? reps[i].cell + 1 : f->n_cells;
        f->n_blocks = reps[i].block >= f->n_blocks ? reps[i].block + 1 : f->n_blocks;
    }
    size_t n_effects = (size_t)f->n_cells + f->n_blocks;
    f->y = calloc(3 * (size_t)n + 2 * n_effects, sizeof(*f->y));
    f->count = calloc(n_effects, sizeof(*f->count));
    if (!f->y || !f->count)
        return false;
    f->residual = f->y + n;
    f->cell = f->residual + n;
    f->block = f->cell + f->n_cells;
    f->sum = f->block + f->n_blocks; /* [n + n_effects] */
    for (uint32_t i = 0; i < n; i++)
        f->y[i] = log(reps[i].rate);
    return true;
}

void dlb_noise_of(const struct dlb_noise_rep *reps, uint32_t n, uint32_t n_each,
                  struct dlb_noise *out)
{
    struct fit f = {.n = 0};
    double squares = 0;
    *out = (struct dlb_noise){.sd_frac = (double)NAN, .floor_frac = (double)NAN};
    if (n < 2 || n_each == 0 || !open_fit(&f, reps, n))
        goto out;
    uint32_t n_cells = n_used(&f, reps, true), n_blocks = n_used(&f, reps, false);
    bool blocks = n_cells > 1 && n > n_cells + n_blocks - 1;
    uint32_t taken = n_cells + (blocks ? n_blocks - 1 : 0);
    if (n <= taken)
        goto out;
    out->n_freedom = n - taken;
    fit(&f, reps, blocks);
    for (int round = 0; round < CLIP_ROUNDS; round++) {
        clip(&f, reps, out->n_freedom);
        fit(&f, reps, blocks);
    }
    for (uint32_t i = 0; i < n; i++)
        squares += f.residual[i] * f.residual[i];
    out->sd_frac = sqrt(squares / out->n_freedom);
    double se = out->sd_frac * sqrt(2.0 / n_each) * (n_each > 2 ? MEDIAN_SE : 1);
    out->floor_frac = -expm1(-dlb_t_95(out->n_freedom) * se);
out:
    free(f.y);
    free(f.count);
}

bool dlb_noise_equal(const struct dlb_noise *noise, const double *a, const double *b, uint32_t n,
                     double tolerance)
{
    double edge = -log1p(-tolerance), sum = 0, low, high;
    double *differences = dlb_mem_array(n, sizeof(*differences));
    for (uint32_t i = 0; i < n; i++)
        sum += differences[i] = log(a[i] / b[i]);
    bool known = dlb_mean_interval(differences, n, &low, &high) && noise->n_freedom > 0;
    free(differences);
    if (!known)
        return false;
    double half = dlb_t_95(noise->n_freedom) * noise->sd_frac * sqrt(2.0 / n);
    return low > -edge && high < edge && fabs(sum / n) + half < edge;
}
