#include "core/measure/race_model.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>

#define T_FREEDOM 4.0      /* of Student's t: 95% efficient for normal noise, and t3 is near it */
#define POOL_FREEDOM 8.0   /* what the pooled scatter weighs beside a cell's own, in runs */
#define N_STARTS 4         /* rounds of least squares; */
#define N_ROUNDS 200       /* then of EM, at most: where many runs were hit it begins far off */
#define CONVERGED 1e-3     /* change of every scatter from which no digit that is shown changes */
#define SCATTER_MIN 1e-4   /* of ln rate: no clock and no machine repeats better than 0.01% */
#define INFORMATION_MAX 10 /* few residuals can be alike by chance */

struct fit {
    const struct dlb_race_data *data;
    double *cell, *block; /* effects */
    double *scatter;      /* [n_cells] */
    double *weight;       /* [n_blocks][n_cells] of Student's t; 0: no run */
    double *n_runs;       /* [n_cells] */
    double n_obs, n_free;
};

static double residual(const struct fit *f, uint32_t b, uint32_t c)
{
    return f->data->ln_rate[(size_t)b * f->data->n_cells + c] - f->block[b] - f->cell[c];
}

/* Weighted least squares of one effect, the others given. */
static void fit_one(struct fit *f, double *effect, uint32_t i, bool of_cell)
{
    uint32_t n_over = of_cell ? f->data->n_blocks : f->data->n_cells;
    double sum = 0, total = 0;
    for (uint32_t j = 0; j < n_over; j++) {
        uint32_t b = of_cell ? j : i, c = of_cell ? i : j;
        double w = f->weight[(size_t)b * f->data->n_cells + c];
        if (w == 0)
            continue;
        w /= f->scatter[c] * f->scatter[c];
        sum += w * (residual(f, b, c) + effect[i]);
        total += w;
    }
    if (total > 0)
        effect[i] = sum / total;
}

static void fit_effects(struct fit *f)
{
    for (uint32_t c = 0; c < f->data->n_cells; c++)
        fit_one(f, f->cell, c, true);
    for (uint32_t b = 0; b < f->data->n_blocks; b++)
        fit_one(f, f->block, b, false);
}

/* A step of EM for Student's t: weights of the residuals, then scatters. Returns by which part one
 * of these changed at most. */
static double fit_scatter(struct fit *f, double *sums)
{
    uint32_t n_cells = f->data->n_cells;
    double all = 0, share = f->n_free / f->n_obs, changed = 0;
    for (uint32_t c = 0; c < n_cells; c++) {
        sums[c] = 0;
        for (uint32_t b = 0; b < f->data->n_blocks; b++) {
            double *weight = &f->weight[(size_t)b * n_cells + c];
            if (*weight == 0)
                continue;
            double r = residual(f, b, c), t = r / f->scatter[c];
            *weight = (T_FREEDOM + 1) / (T_FREEDOM + t * t);
            sums[c] += *weight * r * r;
        }
        all += sums[c];
    }
    for (uint32_t c = 0; c < n_cells; c++) {
        double variance =
            (POOL_FREEDOM * all / f->n_free + sums[c]) / (POOL_FREEDOM + share * f->n_runs[c]);
        double scatter = fmax(sqrt(variance), SCATTER_MIN);
        changed = fmax(changed, fabs(scatter / f->scatter[c] - 1));
        f->scatter[c] = scatter;
    }
    return changed;
}

/* Of an estimate of location by these weights, for a run with weight and scatter 1:
 * (mean slope of psi)^2 / mean psi^2 / mean weight. */
static double information(const struct fit *f)
{
    double squares = 0, slopes = 0, weights = 0;
    for (uint32_t b = 0; b < f->data->n_blocks; b++)
        for (uint32_t c = 0; c < f->data->n_cells; c++) {
            if (f->weight[(size_t)b * f->data->n_cells + c] == 0)
                continue;
            double t = residual(f, b, c) / f->scatter[c], sum = T_FREEDOM + t * t;
            double weight = (T_FREEDOM + 1) / sum;
            squares += weight * t * weight * t;
            slopes += (T_FREEDOM + 1) * (T_FREEDOM - t * t) / (sum * sum);
            weights += weight;
        }
    double most = INFORMATION_MAX;
    if (squares <= 0)
        return most;
    return fmin(slopes * slopes * f->n_free / (f->n_obs * squares * weights), most);
}

/* Counts runs; the first scatter is that of all residuals. */
static void start(struct fit *f)
{
    uint32_t n_cells = f->data->n_cells, n_blocks = f->data->n_blocks;
    double n_effects = 0, sum = 0;
    for (uint32_t b = 0; b < n_blocks; b++) {
        bool any = false;
        for (uint32_t c = 0; c < n_cells; c++) {
            bool is = isfinite(f->data->ln_rate[(size_t)b * n_cells + c]);
            n_effects += is && f->n_runs[c] == 0;
            f->n_runs[c] += is;
            f->n_obs += is;
            f->weight[(size_t)b * n_cells + c] = is;
            f->scatter[c] = 1;
            any = any || is;
        }
        n_effects += any;
    }
    f->n_free = fmax(f->n_obs - n_effects + 1, 1);
    for (int round = 0; round < N_STARTS; round++)
        fit_effects(f);
    for (size_t i = 0; i < (size_t)n_blocks * n_cells; i++)
        if (f->weight[i] > 0)
            sum += pow(residual(f, (uint32_t)(i / n_cells), (uint32_t)(i % n_cells)), 2);
    for (uint32_t c = 0; c < n_cells; c++)
        f->scatter[c] = fmax(sqrt(sum / f->n_free), SCATTER_MIN);
}

struct dlb_race_noise dlb_race_noise_of(const struct dlb_race_data *data)
{
    uint32_t n_cells = data->n_cells;
    double *memory = dlb_mem_array(4 * (size_t)n_cells + data->n_blocks, sizeof(double));
    struct fit f = {.data = data,
                    .cell = memory,
                    .scatter = memory + n_cells,
                    .n_runs = memory + 2 * (size_t)n_cells,
                    .block = memory + 4 * (size_t)n_cells,
                    .weight = dlb_mem_array((size_t)n_cells * data->n_blocks, sizeof(double))};
    start(&f);
    double changed = INFINITY;
    for (int round = 0; round < N_ROUNDS && changed > CONVERGED; round++) {
        changed = fit_scatter(&f, memory + 3 * (size_t)n_cells);
        fit_effects(&f);
    }
    double each = information(&f), variance = 0;
    for (uint32_t c = 0; c < n_cells; c++) {
        double square = f.scatter[c] * f.scatter[c] / each;
        variance += f.n_runs[c] * square;
        for (uint32_t b = 0; b < data->n_blocks; b++)
            f.weight[(size_t)b * n_cells + c] /= square;
    }
    struct dlb_race_noise noise = {.weight = f.weight, .scatter = sqrt(variance / f.n_obs)};
    free(memory);
    return noise;
}

void dlb_race_noise_free(struct dlb_race_noise *noise)
{
    free(noise->weight);
    noise->weight = NULL;
}
