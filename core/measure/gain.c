#include "core/measure/gain.h"

#include "core/base/mem.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stdlib.h>

#define POOL_FREEDOM 6.0 /* at most */

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
    return fmin(POOL_FREEDOM, pool->freedom);
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

static void fill(const struct input *in, struct dlb_gain *out)
{
    struct pool pool = pool_of(in);
    double misses = in->n_repeated > 1 ? DLB_GAIN_MISSES / pool.n_apart : DLB_GAIN_MISSES_ALONE;
    double t = 0;
    uint32_t t_of = 0; /* cells of one number of repetitions have the same */
    for (uint32_t c = 0; c < in->n_cells; c++) {
        const struct cell *cell = &in->cells[c];
        out[c] = (struct dlb_gain){(double)NAN, (double)NAN, (double)NAN, cell->n};
        if (cell->n > 0)
            out[c].median = exp(cell->mean);
        if (cell->n < 2)
            continue;
        if (t_of != cell->n)
            t = dlb_t_beyond(misses, freedom_of(&pool, cell->n));
        t_of = cell->n;
        double half = t * standard_error(&pool, cell);
        out[c].low = exp(cell->mean - half);
        out[c].high = exp(cell->mean + half);
    }
}

void dlb_gains(const double *ln_gain, uint32_t n_blocks, uint32_t n_cells, struct dlb_gain *out)
{
    struct input in = {ln_gain, n_blocks, n_cells, 0, dlb_mem_array(n_cells, sizeof(*in.cells))};
    for (uint32_t c = 0; c < n_cells; c++)
        look_at(&in, c);
    fill(&in, out);
    free(in.cells);
}
