#include "core/measure/gain.h"

#include "core/base/mem.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* What the pooled variance weighs: an eighth of its degrees of freedom, up to three. */
#define POOL_SHARE 0.125
#define POOL_FREEDOM 3.0

struct cell {
    double mean, squares; /* of ln gain; squares: sum of the squared residuals */
    uint32_t n;
};

struct input {
    const double *ln_gain;
    uint32_t n_blocks, n_cells, n_repeated; /* n_repeated: cells with two repetitions and more */
    struct cell *cells;
};

struct pool {
    double variance, freedom;
    double n_apart; /* cells, as many as there are without the noise that they share */
};

static void look_at(struct input *in, uint32_t c)
{
    struct cell *cell = &in->cells[c];
    for (uint32_t b = 0; b < in->n_blocks; b++) {
        double x = in->ln_gain[(size_t)b * in->n_cells + c], from_mean = x - cell->mean;
        if (!isfinite(x))
            continue;
        cell->mean += from_mean / ++cell->n;
        cell->squares += from_mean * (x - cell->mean);
    }
    in->n_repeated += cell->n > 1;
}

/* The noise that cells share. */
struct shared {
    double correlation; /* of two cells in a block: estimated by all pairs */
    double n_others;    /* cells in a run's block, beside its own; mean */
};

static struct shared shared_of(const struct input *in)
{
    double squares = 0, products = 0, n = 0, n_pairs = 0;
    for (uint32_t b = 0; b < in->n_blocks; b++) {
        double sum = 0, of_block = 0, before = squares;
        for (uint32_t c = 0; c < in->n_cells; c++) {
            double r = in->ln_gain[(size_t)b * in->n_cells + c] - in->cells[c].mean;
            if (in->cells[c].n < 2 || !isfinite(r))
                continue;
            sum += r;
            squares += r * r;
            of_block++;
        }
        products += sum * sum - (squares - before);
        n += of_block;
        n_pairs += of_block * (of_block - 1);
    }
    double correlation = n_pairs > 0 && squares > 0 ? (products / n_pairs) / (squares / n) : 0;
    return (struct shared){fmin(fmax(correlation, 0), 1), n > 0 ? n_pairs / n : 0};
}

/* Each cell counts alike, however often it ran. What the cells share is measured once, and not once
 * by each. */
static struct pool pool_of(const struct input *in)
{
    struct shared shared = shared_of(in);
    double variances = 0, inverse = 0, n = in->n_repeated;
    double alike = shared.correlation * shared.correlation;
    for (uint32_t c = 0; c < in->n_cells; c++) {
        if (in->cells[c].n < 2)
            continue;
        variances += in->cells[c].squares / (in->cells[c].n - 1);
        inverse += 1 / (in->cells[c].n - 1.0);
    }
    return (struct pool){variances / n, n * n / inverse / (1 + alike * shared.n_others),
                         1 + (n - 1) * (1 - alike)};
}

/* What the pooled variance weighs beside a cell's own, in repetitions. */
static double weight_of(const struct pool *pool)
{
    return fmin(POOL_FREEDOM, POOL_SHARE * pool->freedom);
}

static double freedom_of(const struct pool *pool, uint32_t n)
{
    double own = n - 1.0;
    return fmax(own, fmin(weight_of(pool) + own, pool->freedom));
}

/* Of the cell's mean. */
static double standard_error(const struct pool *pool, const struct cell *cell)
{
    double weight = weight_of(pool);
    double variance = (weight * pool->variance + cell->squares) / (weight + cell->n - 1);
    return sqrt(variance / cell->n);
}

static void put_interval(const struct cell *cell, double half, struct dlb_gain *out)
{
    out->low = exp(cell->mean - half);
    out->high = exp(cell->mean + half);
}

/* Quantiles of t for the cell's mean: of 95%, and for all cells together. */
static double t_alone(const struct pool *pool, const struct cell *cell)
{
    return dlb_t_beyond(0.05, freedom_of(pool, cell->n));
}

static double t_together(const struct pool *pool, const struct cell *cell)
{
    return dlb_t_beyond(DLB_GAIN_MISSES / pool->n_apart, freedom_of(pool, cell->n));
}

static bool is_apart(const struct pool *pool, const struct cell *a, const struct cell *b)
{
    double half_a = t_together(pool, a) * standard_error(pool, a);
    double half_b = t_together(pool, b) * standard_error(pool, b);
    return fabs(a->mean - b->mean) > half_a + half_b;
}

/* Widens the intervals of cells that would contradict each other. */
static void reconcile(const struct input *in, const struct pool *pool, double threshold,
                      struct dlb_gain *out)
{
    bool *wide = dlb_mem_array(in->n_cells, sizeof(*wide));
    for (uint32_t a = 0; a < in->n_cells; a++)
        for (uint32_t b = 0; b < in->n_cells && out[a].low > threshold; b++)
            if (out[b].high < threshold && !is_apart(pool, &in->cells[a], &in->cells[b]))
                wide[a] = wide[b] = true;
    for (uint32_t c = 0; c < in->n_cells; c++) {
        const struct cell *cell = &in->cells[c];
        if (wide[c])
            put_interval(cell, t_together(pool, cell) * standard_error(pool, cell), &out[c]);
    }
    free(wide);
}

static void fill(const struct input *in, double threshold, struct dlb_gain *out)
{
    struct pool pool = pool_of(in);
    for (uint32_t c = 0; c < in->n_cells; c++) {
        const struct cell *cell = &in->cells[c];
        out[c] = (struct dlb_gain){(double)NAN, (double)NAN, (double)NAN, cell->n};
        if (cell->n > 0)
            out[c].median = exp(cell->mean);
        if (cell->n > 1)
            put_interval(cell, t_alone(&pool, cell) * standard_error(&pool, cell), &out[c]);
    }
    reconcile(in, &pool, threshold, out);
}

void dlb_gains(const double *ln_gain, uint32_t n_blocks, uint32_t n_cells, double threshold,
               struct dlb_gain *out)
{
    struct input in = {ln_gain, n_blocks, n_cells, 0, dlb_mem_array(n_cells, sizeof(*in.cells))};
    for (uint32_t c = 0; c < n_cells; c++)
        look_at(&in, c);
    fill(&in, threshold, out);
    free(in.cells);
}
