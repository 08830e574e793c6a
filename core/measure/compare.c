#include "core/measure/compare.h"

#include "core/base/mem.h"
#include "core/measure/tail.h"

#include <math.h>
#include <stdlib.h>

/* What the noise pooled over cells weighs beside a cell's own: an eighth of its degrees of freedom,
 * up to three (as in core/measure/gain.c). */
#define POOL_SHARE 0.125
#define POOL_FREEDOM 3.0
#define MANY 1e6 /* degrees of freedom: as good as known */

/* ln(rate) of one cell in one result, or of its pairs. */
struct group {
    double mean, squares; /* squares: sum of the squared residuals */
    uint32_t n;
};

/* One cell. */
struct part {
    double difference;          /* B - A, of ln(rate); NaN: not known */
    double squares, freedom;    /* of the noise */
    double per_mean;            /* variance of the difference, in variances of the noise */
    double between, of_results; /* squares between results of a side, and their freedom */
    double inverse;             /* sum over sides of 1 / number of results */
    double se, t_freedom;
};

const char *dlb_compare_verdict_name(enum dlb_compare_verdict verdict)
{
    static const char *const names[] = {"UNCLEAR", "SAME", "FASTER", "SLOWER"};
    return names[verdict];
}

enum dlb_compare_verdict dlb_compare_judge(double low, double high, double smallest_frac)
{
    if (!isfinite(low) || !isfinite(high))
        return DLB_COMPARE_UNCLEAR;
    if (low > smallest_frac)
        return DLB_COMPARE_FASTER;
    if (high < -smallest_frac)
        return DLB_COMPARE_SLOWER;
    return low > -smallest_frac && high < smallest_frac ? DLB_COMPARE_SAME : DLB_COMPARE_UNCLEAR;
}

static void add(struct group *group, double x)
{
    double from_mean = x - group->mean;
    if (!isfinite(x))
        return;
    group->mean += from_mean / ++group->n;
    group->squares += from_mean * (x - group->mean);
}

static double ln_rate(const struct dlb_compare_reps *reps, uint32_t i)
{
    return reps->rate[i] > 0 ? log(reps->rate[i]) : (double)NAN;
}

/* The results of one side; returns the mean of their means. */
static double add_side(const struct dlb_compare_reps *reps, uint32_t n, struct part *part)
{
    struct group means = {0};
    double each = 0;
    for (uint32_t r = 0; r < n; r++) {
        struct group group = {0};
        for (uint32_t i = 0; i < reps[r].n; i++)
            add(&group, ln_rate(&reps[r], i));
        if (group.n == 0)
            continue;
        add(&means, group.mean);
        part->squares += group.squares;
        part->freedom += group.n - 1;
        each += 1.0 / group.n;
    }
    if (means.n == 0)
        return (double)NAN;
    part->per_mean += each / means.n / means.n;
    part->inverse += 1.0 / means.n;
    part->between += means.squares;
    part->of_results += means.n - 1;
    return means.mean;
}

static void add_pairs(const struct dlb_compare_reps *a, const struct dlb_compare_reps *b,
                      struct part *part)
{
    struct group group = {0};
    for (uint32_t i = 0; i < a->n && i < b->n; i++)
        add(&group, ln_rate(b, i) - ln_rate(a, i));
    part->difference = group.n ? group.mean : (double)NAN;
    part->squares = group.squares;
    part->freedom = group.n ? group.n - 1 : 0;
    part->per_mean = 1.0 / group.n;
}

static void look_at(const struct dlb_compare *in, uint32_t c, struct part *part)
{
    const struct dlb_compare_cell *cell = &in->cells[c];
    *part = (struct part){.se = (double)NAN};
    if (in->paired) {
        add_pairs(cell->a, cell->b, part);
        return;
    }
    double a = add_side(cell->a, in->n_a, part);
    double b = add_side(cell->b, in->n_b, part);
    part->difference = b - a;
}

/* Noise, and what results differ by, over all cells. */
struct pool {
    double variance, freedom;   /* of the noise */
    double between, of_results; /* mean over cells, of one result's mean; and its freedom */
};

static struct pool pool_of(const struct part *parts, uint32_t n)
{
    struct pool pool = {0};
    double squares = 0, between = 0;
    uint32_t n_known = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (!isfinite(parts[c].difference))
            continue;
        squares += parts[c].squares;
        pool.freedom += parts[c].freedom;
        between += parts[c].between;
        pool.of_results = fmax(pool.of_results, parts[c].of_results);
        n_known++;
    }
    pool.variance = pool.freedom > 0 ? squares / pool.freedom : (double)NAN;
    pool.between = pool.of_results > 0 ? between / n_known / pool.of_results : 0;
    return pool;
}

/* The cell's own noise, shrunk towards that of all. */
static double noise_of(const struct pool *pool, const struct part *part, double *freedom)
{
    double weight = fmin(POOL_FREEDOM, POOL_SHARE * pool->freedom);
    if (!(pool->freedom > 0)) { /* one repetition in each result: what results differ by holds it */
        *freedom = MANY;
        return 0;
    }
    *freedom = fmax(part->freedom, fmin(weight + part->freedom, pool->freedom));
    return (weight * pool->variance + part->squares) / (weight + part->freedom);
}

/* A variance with its degrees of freedom. */
struct spread {
    double variance, freedom;
};

/* What is allowed for, weighed with what results of one side differ by. The more these exceed it,
 * the less it says. Degrees of freedom by Satterthwaite. */
static struct spread weighed(struct spread allowed, struct spread own)
{
    double prior = DLB_COMPARE_PRIOR * fmin(1, allowed.variance / own.variance);
    double weight = own.freedom > 0 ? prior / (prior + own.freedom) : 1;
    double of_allowed = weight * allowed.variance;
    double of_own = own.freedom > 0 ? (1 - weight) * own.variance : 0;
    double sum = of_allowed + of_own;
    double inverse = of_allowed * of_allowed / allowed.freedom;
    if (own.freedom > 0)
        inverse += of_own * of_own / own.freedom;
    return (struct spread){sum, fmin(sum * sum / inverse, MANY)};
}

/* What results differ by beside the fixed part, in variances of the noise. */
static double carried(const struct dlb_compare *in)
{
    return DLB_COMPARE_CARRIED + DLB_COMPARE_DISTURBED * in->disturbed_frac;
}

/* The standard error of the cell's difference. Of what is allowed for, the fixed part is known. */
static void weigh(const struct dlb_compare *in, const struct pool *pool, struct part *part)
{
    double freedom, noise = noise_of(pool, part, &freedom);
    if (in->paired) {
        part->se = sqrt(noise * part->per_mean);
        part->t_freedom = freedom;
        return;
    }
    double fixed = in->between_frac * in->between_frac * part->inverse;
    double estimated = noise * (part->per_mean + carried(in) * part->inverse);
    struct spread allowed = {fixed + estimated, DLB_COMPARE_PRIOR};
    if (pool->freedom > 0)
        allowed.freedom = allowed.variance * allowed.variance / (estimated * estimated / freedom);
    struct spread own = {pool->between * part->inverse, pool->of_results};
    struct spread all = weighed(allowed, own);
    part->se = sqrt(all.variance);
    part->t_freedom = all.freedom;
}

static void put_change(double difference, double se, double freedom, double misses,
                       double smallest_frac, struct dlb_change *out)
{
    *out = (struct dlb_change){(double)NAN, (double)NAN, (double)NAN, (double)NAN,
                               DLB_COMPARE_UNCLEAR};
    if (!isfinite(difference))
        return;
    out->change_frac = expm1(difference);
    if (!isfinite(se) || !(freedom > 0))
        return;
    double half = dlb_t_beyond(misses, freedom) * se;
    double more = dlb_t_beyond(2 * (1 - DLB_COMPARE_POWER), freedom) * se;
    out->low = expm1(difference - half);
    out->high = expm1(difference + half);
    out->detectable_frac = expm1(log1p(smallest_frac) + half + more);
    out->verdict = dlb_compare_judge(out->low, out->high, smallest_frac);
}

/* The mean of all cells. Their errors have much in common, and how much is not known: as if it were
 * all, the standard error of the mean is the mean of theirs. */
static void put_mean(const struct part *parts, uint32_t n, double misses, double smallest_frac,
                     struct dlb_change *out)
{
    double difference = 0, se = 0, freedom = MANY, n_known = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (!isfinite(parts[c].difference))
            continue;
        difference += parts[c].difference;
        se += parts[c].se;
        freedom = fmin(freedom, parts[c].t_freedom);
        n_known++;
    }
    bool known = n_known > 0;
    put_change(known ? difference / n_known : (double)NAN, se / n_known, freedom, misses,
               smallest_frac, out);
}

/* A mean that hides that cells changed in different directions says nothing. */
static void check_mean(const struct dlb_change *changes, uint32_t n, struct dlb_change *all)
{
    for (uint32_t c = 0; c < n; c++) {
        enum dlb_compare_verdict v = changes[c].verdict;
        bool differs = v == DLB_COMPARE_FASTER || v == DLB_COMPARE_SLOWER;
        if (differs && v != all->verdict)
            all->verdict = DLB_COMPARE_UNCLEAR;
    }
}

void dlb_compare(const struct dlb_compare *in, struct dlb_change *changes,
                 struct dlb_comparison *out)
{
    struct part *parts = dlb_mem_array(in->n_cells, sizeof(*parts));
    for (uint32_t c = 0; c < in->n_cells; c++)
        look_at(in, c, &parts[c]);
    struct pool pool = pool_of(parts, in->n_cells);
    out->n_intervals = in->n_more + (in->n_cells > 1 ? in->n_cells + 1 : 1);
    out->noise_frac = sqrt(pool.variance);
    double misses = DLB_COMPARE_MISSES / out->n_intervals;
    for (uint32_t c = 0; c < in->n_cells; c++) {
        if (pool.freedom > 0 || pool.of_results > 0)
            weigh(in, &pool, &parts[c]);
        put_change(parts[c].difference, parts[c].se, parts[c].t_freedom, misses, in->smallest_frac,
                   &changes[c]);
    }
    put_mean(parts, in->n_cells, misses, in->smallest_frac, &out->all);
    check_mean(changes, in->n_cells, &out->all);
    double slow = pool.freedom > 0 ? carried(in) * pool.variance : 0;
    struct spread allowed = {in->between_frac * in->between_frac + slow, MANY};
    struct spread own = {pool.between, pool.of_results};
    out->result_frac = in->paired ? 0 : sqrt(weighed(allowed, own).variance);
    free(parts);
}
