#include "core/measure/race_model.h"

#include "core/base/mem.h"
#include "core/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations of ln rate that level effects and deviations may have: each value is as
 * likely as the next before any run. From a fifth of the usual tolerance (smaller makes no
 * difference to it) to what separates a loader that waits from one that does not. */
#define EFFECT_MIN 0.004
#define EFFECT_FACTOR 2.5
#define N_EFFECTS 6 /* to 39% */
#define DEVIATION_MIN 0.003
#define DEVIATION_FACTOR 1.6
#define N_DEVIATIONS 10 /* to 21% */
#define N_GRID (N_EFFECTS * N_DEVIATIONS)

/* Exceptions: chosen by simulation (docs/measurement.md). Rarer ones: where one cell is best, more
 * than 5% of the answers are wrong. More frequent ones: fewer grids are decided. */
#define EXCEPTION_SHARE 0.4
#define EXCEPTION 0.035
#define CERTAIN 0.9 /* probability from which a cell has the wide deviation in the equations */

#define BLOCK_RIDGE 1e-6 /* blocks are known but for a common constant, which this fixes */

/* Of one cell. Its deviation is integrated out of the equations: given the other unknowns it is
 * independent of all others. */
struct member {
    uint32_t cell;
    double weight, y;          /* sums over runs of w, w y */
    double *sums;              /* [n] of w x: x are the run's columns */
    bool is_exception;         /* in the equations: its prior is the wide one */
    double mean, sd;           /* of its deviation, by the equations */
    double exceptional;        /* probability */
    double wide_mean, wide_sd; /* of its deviation, if it is one */
    double share;              /* of a move of the deviation that the effects do not take back */
};

/* The dense unknowns are the effects of blocks, then of every key's levels. */
struct model {
    const struct dlb_race_data *data;
    uint32_t n_blocks, n; /* unknowns */
    struct member *members;
    uint32_t n_members;
    uint32_t *column;          /* [n_cells][n_keys] of the cell's levels */
    double *full, *full_right; /* [n][n], [n]: sums over runs of w x x', w x y */
    double *factor, *half;     /* Cholesky factor; solution of the lower half */
    double *scratch;           /* [n] */
    double square;             /* sum of w y^2 */
};

static void number_columns(struct model *m, const bool *in)
{
    const struct dlb_race_data *data = m->data;
    m->n = m->n_blocks;
    for (uint32_t k = 0; k < data->n_keys; k++) {
        uint32_t n_levels = 0;
        for (uint32_t c = 0; c < data->n_cells; c++) {
            size_t at = (size_t)c * data->n_keys + k;
            if (!in[c])
                continue;
            m->column[at] = m->n + data->levels[at];
            n_levels = data->levels[at] >= n_levels ? data->levels[at] + 1 : n_levels;
        }
        m->n += n_levels;
    }
}

static double middle_of(const struct dlb_race_data *data, const bool *in)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < (size_t)data->n_blocks * data->n_cells; i++)
        if (in[i % data->n_cells] && isfinite(data->ln_rate[i])) {
            sum += data->ln_rate[i];
            n++;
        }
    return n > 0 ? sum / n : 0;
}

static void add_run(struct model *m, struct member *member, uint32_t block, double w, double y)
{
    const uint32_t *column = m->column + (size_t)member->cell * m->data->n_keys;
    member->weight += w;
    member->y += w * y;
    member->sums[block] += w;
    m->square += w * y * y;
    m->full_right[block] += w * y;
    m->full[(size_t)block * m->n + block] += w;
    for (uint32_t k = 0; k < m->data->n_keys; k++) {
        double *row = m->full + (size_t)column[k] * m->n;
        member->sums[column[k]] += w;
        m->full_right[column[k]] += w * y;
        row[block] += w;
        for (uint32_t l = 0; l <= k; l++)
            row[column[l]] += w;
    }
}

static void model_init(struct model *m, const struct dlb_race_data *data,
                       const struct dlb_race_noise *noise, const bool *in)
{
    *m = (struct model){.data = data, .n_blocks = data->n_blocks};
    m->column = dlb_mem_array((size_t)data->n_cells * data->n_keys, sizeof(*m->column));
    m->members = dlb_mem_array(data->n_cells, sizeof(*m->members));
    number_columns(m, in);
    m->full = dlb_mem_array((size_t)m->n * m->n, sizeof(double));
    m->factor = dlb_mem_array((size_t)m->n * m->n, sizeof(double));
    m->full_right = dlb_mem_array(3 * (size_t)m->n, sizeof(double));
    m->half = m->full_right + m->n;
    m->scratch = m->half + m->n;
    double middle = middle_of(data, in);
    for (uint32_t c = 0; c < data->n_cells; c++) {
        if (!in[c])
            continue;
        struct member *member = &m->members[m->n_members++];
        member->cell = c;
        member->sums = dlb_mem_array(m->n, sizeof(double));
        for (uint32_t b = 0; b < data->n_blocks; b++) {
            size_t at = (size_t)b * data->n_cells + c;
            if (noise->weight[at] > 0)
                add_run(m, member, b, noise->weight[at], data->ln_rate[at] - middle);
        }
    }
}

static void model_free(struct model *m)
{
    for (uint32_t i = 0; i < m->n_members; i++)
        free(m->members[i].sums);
    free(m->members);
    free(m->column);
    free(m->full);
    free(m->factor);
    free(m->full_right);
}

/* The lower triangle in place. Returns the sum of the logarithms of the factor's diagonal. */
static double factorise(double *a, uint32_t n)
{
    double logs = 0;
    for (uint32_t i = 0; i < n; i++) {
        double *row = a + (size_t)i * n;
        for (uint32_t j = 0; j <= i; j++) {
            const double *other = a + (size_t)j * n;
            double sum = row[j];
            for (uint32_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = i == j ? sqrt(fmax(sum, BLOCK_RIDGE)) : sum / other[j];
        }
        logs += log(row[i]);
    }
    return logs;
}

static void solve_lower(const struct model *m, double *x)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const double *row = m->factor + (size_t)i * m->n;
        double sum = x[i];
        for (uint32_t k = 0; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum / row[i];
    }
}

static void solve_upper(const struct model *m, double *x)
{
    for (uint32_t i = m->n; i-- > 0;) {
        const double *row = m->factor + (size_t)i * m->n;
        x[i] /= row[i];
        for (uint32_t k = 0; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}

static void absorb(struct model *m, const struct member *member, double total)
{
    for (uint32_t r = 0; r < m->n; r++) {
        if (member->sums[r] == 0)
            continue;
        double part = member->sums[r] / total, *row = m->factor + (size_t)r * m->n;
        m->half[r] -= part * member->y;
        for (uint32_t s = 0; s <= r; s++)
            row[s] -= part * member->sums[s];
    }
}

static double precision_of(const struct member *member, double deviation)
{
    double wide = member->is_exception ? EXCEPTION * EXCEPTION : 0;
    return 1 / (deviation * deviation + wide);
}

/* For given standard deviations and exceptions. Returns the logarithm of the marginal likelihood,
 * but for a constant. */
static double solve(struct model *m, double effect, double deviation)
{
    double ridge = 1 / (effect * effect);
    double logs = 0, square = m->square;
    memcpy(m->factor, m->full, (size_t)m->n * m->n * sizeof(double));
    memcpy(m->half, m->full_right, m->n * sizeof(double));
    for (uint32_t i = 0; i < m->n_members; i++) {
        const struct member *member = &m->members[i];
        double precision = precision_of(member, deviation), total = member->weight + precision;
        logs += log(total / precision);
        square -= member->y * member->y / total;
        absorb(m, member, total);
    }
    for (uint32_t r = 0; r < m->n; r++)
        m->factor[(size_t)r * m->n + r] += r < m->n_blocks ? BLOCK_RIDGE : ridge;
    logs += 2 * factorise(m->factor, m->n) - (m->n - m->n_blocks) * log(ridge);
    solve_lower(m, m->half);
    for (uint32_t r = 0; r < m->n; r++)
        square -= m->half[r] * m->half[r];
    return -0.5 * (logs + square);
}

/* What the cell's own runs say of its deviation is compared with both priors, the usual and the
 * wide one, where the equations have the usual one. Returns the logarithm of the factor that this
 * gives the likelihood. */
static double weigh_exception(struct member *member, double deviation)
{
    if (member->is_exception) {
        member->exceptional = 1;
        member->wide_mean = member->mean;
        member->wide_sd = member->sd;
        return log(EXCEPTION_SHARE);
    }
    double usual = deviation * deviation, wide = usual + EXCEPTION * EXCEPTION;
    double variance = member->sd * member->sd;
    double own = fmax(1 / variance - 1 / usual, 1e-6 / usual); /* precision of its own runs */
    double seen = member->mean / variance / own;
    double v_usual = 1 / own + usual, v_wide = 1 / own + wide;
    double log_factor = 0.5 * (log(v_usual / v_wide) + seen * seen * (1 / v_usual - 1 / v_wide));
    double odds = EXCEPTION_SHARE / (1 - EXCEPTION_SHARE) * exp(fmin(log_factor, 600));
    double precision = own + 1 / wide;
    member->exceptional = odds / (1 + odds);
    member->wide_mean = own * seen / precision;
    member->wide_sd = 1 / sqrt(precision);
    return log((1 - EXCEPTION_SHARE) * (1 + odds));
}

/* After solve(): every cell's deviation, and whether it is an exception. */
static double weigh_exceptions(struct model *m, double deviation)
{
    double logs = 0, *x = dlb_mem_array(m->n, sizeof(*x));
    memcpy(x, m->half, m->n * sizeof(double));
    solve_upper(m, x);
    for (uint32_t i = 0; i < m->n_members; i++) {
        struct member *member = &m->members[i];
        double total = member->weight + precision_of(member, deviation);
        double rest = member->y, spread = 0;
        memcpy(m->scratch, member->sums, m->n * sizeof(double));
        solve_lower(m, m->scratch);
        for (uint32_t r = 0; r < m->n; r++) {
            rest -= member->sums[r] * x[r];
            spread += m->scratch[r] * m->scratch[r];
        }
        member->mean = rest / total;
        member->sd = sqrt(1 / total + spread / (total * total));
        member->share = 1 - spread * total / (member->weight * (total + spread));
        logs += weigh_exception(member, deviation);
    }
    free(x);
    return logs;
}

/* Log likelihood at a point of the grid. What is almost certainly an exception is solved as one. */
static double solve_at(struct model *m, uint32_t point, double *deviation)
{
    uint32_t row = point / N_DEVIATIONS, column = point % N_DEVIATIONS;
    double effect = EFFECT_MIN * pow(EFFECT_FACTOR, row);
    *deviation = DEVIATION_MIN * pow(DEVIATION_FACTOR, column);
    uint32_t n_exceptions = 0;
    for (uint32_t i = 0; i < m->n_members; i++)
        m->members[i].is_exception = false;
    double like = solve(m, effect, *deviation) + weigh_exceptions(m, *deviation);
    for (uint32_t i = 0; i < m->n_members; i++) {
        m->members[i].is_exception = m->members[i].exceptional > CERTAIN;
        n_exceptions += m->members[i].is_exception;
    }
    if (n_exceptions == 0)
        return like;
    return solve(m, effect, *deviation) + weigh_exceptions(m, *deviation);
}

/* Draw number d: effects of blocks and levels, then each deviation given these. The draw of an
 * exception is the usual one, moved and stretched. Where its runs say more of the sum of effects
 * and deviation than of either, the effects take most of the move back. */
static void draw(const struct model *m, double deviation, struct dlb_rng *rng,
                 const struct dlb_race_draws *draws, uint32_t d)
{
    double *x = m->scratch;
    size_t from = (size_t)d * m->data->n_cells;
    for (uint32_t r = 0; r < m->n; r++)
        x[r] = m->half[r] + dlb_rng_normal(rng);
    solve_upper(m, x);
    for (size_t at = from; at < from + m->data->n_cells; at++)
        draws->rate[at] = draws->usual[at] = draws->exceptional[at] = NAN;
    for (uint32_t i = 0; i < m->n_members; i++) {
        const struct member *member = &m->members[i];
        const uint32_t *column = m->column + (size_t)member->cell * m->data->n_keys;
        double total = member->weight + precision_of(member, deviation);
        double rest = member->y, effects = 0;
        for (uint32_t r = 0; r < m->n; r++)
            rest -= member->sums[r] * x[r];
        for (uint32_t k = 0; k < m->data->n_keys; k++)
            effects += x[column[k]];
        double own = rest / total + dlb_rng_normal(rng) / sqrt(total);
        double moved = own + member->share * (member->wide_mean - own +
                                              member->wide_sd * (own - member->mean) / member->sd);
        size_t at = from + member->cell;
        bool is_exception = dlb_rng_unit(rng) < member->exceptional;
        draws->usual[at] = effects + own;
        draws->exceptional[at] = effects + moved;
        draws->rate[at] = is_exception ? draws->exceptional[at] : draws->usual[at];
    }
}

/* Likelihoods of the grid's points become their shares. */
static void normalise(double *like)
{
    double most = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < N_GRID; i++)
        most = fmax(most, like[i]);
    for (uint32_t i = 0; i < N_GRID; i++)
        sum += like[i] = exp(like[i] - most);
    for (uint32_t i = 0; i < N_GRID; i++)
        like[i] /= sum;
}

struct dlb_race_draws dlb_race_draws_of(const struct dlb_race_data *data,
                                        const struct dlb_race_noise *noise, const bool *in,
                                        uint32_t n_draws, uint64_t seed)
{
    struct model m;
    struct dlb_rng rng = dlb_rng_seed(seed, data->n_cells, data->n_blocks);
    double share[N_GRID], deviation, taken = 0;
    uint32_t done = 0;
    model_init(&m, data, noise, in);
    for (uint32_t i = 0; i < N_GRID; i++)
        share[i] = solve_at(&m, i, &deviation);
    normalise(share);
    size_t n = (size_t)n_draws * data->n_cells;
    struct dlb_race_draws draws = {.rate = dlb_mem_array(3 * n, sizeof(double))};
    draws.usual = draws.rate + n;
    draws.exceptional = draws.usual + n;
    for (uint32_t i = 0; i < N_GRID; i++) {
        taken += share[i];
        uint32_t until = i + 1 == N_GRID ? n_draws : (uint32_t)(taken * n_draws);
        if (until > done)
            (void)solve_at(&m, i, &deviation);
        for (; done < until; done++)
            draw(&m, deviation, &rng, &draws, done);
    }
    model_free(&m);
    return draws;
}

void dlb_race_draws_free(struct dlb_race_draws *draws)
{
    free(draws->rate);
    *draws = (struct dlb_race_draws){0};
}
