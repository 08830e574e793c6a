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
    struct dlb_noise_rep *reps;     /* [n] */
    double *y, *residual, *scratch; /* [n] */
    double *cell, *block, *sum;     /* effects, and what they are made of: [n_ids] */
    uint32_t *in_cell, *in_block;   /* repetitions: [n_ids] */
    uint32_t n, n_ids;
    uint32_t n_cells, n_blocks; /* that have a repetition */
    bool blocks;                /* have effects */
};

static void count(struct fit *f)
{
    memset(f->in_cell, 0, f->n_ids * sizeof(*f->in_cell));
    memset(f->in_block, 0, f->n_ids * sizeof(*f->in_block));
    f->n_cells = f->n_blocks = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        f->n_cells += f->in_cell[f->reps[i].cell]++ == 0;
        f->n_blocks += f->in_block[f->reps[i].block]++ == 0;
    }
    f->blocks = f->n_cells > 1 && f->n > f->n_cells + f->n_blocks - 1;
}

/* A repetition without another of its cell, or of its block, fits exactly: it tells nothing of
 * noise, and beside it the others would look like outliers. */
static void drop_single(struct fit *f)
{
    uint32_t n;
    do {
        count(f);
        n = f->n;
        f->n = 0;
        for (uint32_t i = 0; i < n; i++)
            if (f->in_cell[f->reps[i].cell] > 1 &&
                (!f->blocks || f->in_block[f->reps[i].block] > 1))
                f->reps[f->n++] = f->reps[i];
    } while (f->n < n);
}

/* The mean of what the other effect leaves, for each cell or block. */
static void means(struct fit *f, bool of_cells)
{
    double *effect = of_cells ? f->cell : f->block;
    const double *other = of_cells ? f->block : f->cell;
    const uint32_t *n_in = of_cells ? f->in_cell : f->in_block;
    memset(f->sum, 0, f->n_ids * sizeof(*f->sum));
    for (uint32_t i = 0; i < f->n; i++) {
        const struct dlb_noise_rep *rep = &f->reps[i];
        f->sum[of_cells ? rep->cell : rep->block] +=
            f->y[i] - other[of_cells ? rep->block : rep->cell];
    }
    for (uint32_t k = 0; k < f->n_ids; k++)
        effect[k] = n_in[k] ? f->sum[k] / n_in[k] : 0;
}

static double fitted(const struct fit *f, uint32_t i)
{
    return f->cell[f->reps[i].cell] + f->block[f->reps[i].block];
}

static void fit(struct fit *f)
{
    for (int round = 0; round < ROUNDS; round++) {
        means(f, true);
        if (!f->blocks)
            break;
        means(f, false);
    }
    for (uint32_t i = 0; i < f->n; i++)
        f->residual[i] = f->y[i] - fitted(f, i);
}

/* Pulls what lies far off towards its fitted value. */
static void clip(struct fit *f, double freedom)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->scratch[i] = fabs(f->residual[i]);
    double sd = MAD_TO_SD * dlb_median(f->scratch, f->n) * sqrt(f->n / freedom);
    for (uint32_t i = 0; i < f->n; i++)
        f->y[i] = fitted(f, i) + fmin(fmax(f->residual[i], -CLIP * sd), CLIP * sd);
}

static void open_fit(struct fit *f, const struct dlb_noise_rep *reps, uint32_t n)
{
    *f = (struct fit){.n = n, .n_ids = 1};
    for (uint32_t i = 0; i < n; i++) {
        f->n_ids = reps[i].cell >= f->n_ids ? reps[i].cell + 1 : f->n_ids;
        f->n_ids = reps[i].block >= f->n_ids ? reps[i].block + 1 : f->n_ids;
    }
    f->reps = dlb_mem_array(n, sizeof(*f->reps));
    f->y = dlb_mem_array(3 * (size_t)n, sizeof(*f->y));
    f->cell = dlb_mem_array(3 * (size_t)f->n_ids, sizeof(*f->cell));
    f->in_cell = dlb_mem_array(2 * (size_t)f->n_ids, sizeof(*f->in_cell));
    f->residual = f->y + n;
    f->scratch = f->residual + n;
    f->block = f->cell + f->n_ids;
    f->sum = f->block + f->n_ids;
    f->in_block = f->in_cell + f->n_ids;
    if (n > 0)
        memcpy(f->reps, reps, n * sizeof(*reps));
    drop_single(f);
    for (uint32_t i = 0; i < f->n; i++)
        f->y[i] = log(f->reps[i].rate);
}

static void close_fit(struct fit *f)
{
    free(f->reps);
    free(f->y);
    free(f->cell);
    free(f->in_cell);
}

void dlb_noise_of(const struct dlb_noise_rep *reps, uint32_t n, uint32_t n_each,
                  struct dlb_noise *out)
{
    struct fit f;
    double squares = 0;
    *out = (struct dlb_noise){.sd_frac = (double)NAN, .floor_frac = (double)NAN};
    open_fit(&f, reps, n);
    uint32_t taken = f.n_cells + (f.blocks ? f.n_blocks - 1 : 0);
    if (f.n > taken && n_each > 0) {
        out->n_freedom = f.n - taken;
        fit(&f);
        for (int round = 0; round < CLIP_ROUNDS; round++) {
            clip(&f, out->n_freedom);
            fit(&f);
        }
        for (uint32_t i = 0; i < f.n; i++)
            squares += f.residual[i] * f.residual[i];
        out->sd_frac = sqrt(squares / out->n_freedom);
        double se = out->sd_frac * sqrt(2.0 / n_each) * (n_each > 2 ? MEDIAN_SE : 1);
        out->floor_frac = -expm1(-dlb_t_95(out->n_freedom) * se);
    }
    close_fit(&f);
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
