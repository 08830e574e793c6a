#include "scenarios/storage/worst.h"

#include "core/base/mem.h"
#include "core/measure/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Equal ranks have a lowest one that is taken for a starved one in so many repetitions. */
#define BY_CHANCE 1e-3
#define LEAST_SCATTER 0.005 /* ranks are not known to be more alike */
/* Ranks that differ more do not differ by chance. Of two, no third one tells whether one is starved
 * or both differ. */
#define MOST_SCATTER 0.1
#define MOST_SCATTER_OF_TWO 0.05
#define NORMAL_MAD 1.4826 /* standard deviation over median distance of normal values */
#define LOWEST_SD 0.8     /* at most, of the lowest of normal values */
#define LEAST_AU 1e-3

static const double *row_of(const struct dlb_worst *w, uint32_t rep)
{
    return w->au + (size_t)rep * w->n_ranks;
}

static double lowest(const struct dlb_worst *w, uint32_t rep)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < w->n_ranks; i++)
        least = fmin(least, row_of(w, rep)[i]);
    return least;
}

/* A normal value exceeds that many standard deviations with this probability, of 0.5 at most. */
static double normal_beyond(double probability)
{
    double low = 0, high = 10;
    for (int i = 0; i < 40; i++) {
        double middle = (low + high) / 2;
        if (erfc(middle * M_SQRT1_2) / 2 > probability)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* -1: no repetition of that half missed the gate. `middle`: [n_reps] of the ranks' utilisations,
 * NaN where none missed it; `shares`: [n_reps] for its own use. */
static int64_t worst_of(const struct dlb_worst *w, uint8_t half, const double *middle,
                        double *shares)
{
    int64_t worst = -1;
    double least = INFINITY;
    for (uint32_t rank = 0; rank < w->n_ranks; rank++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < w->n_reps; i++)
            if (w->half[i] == half && !isnan(middle[i]))
                shares[n++] = row_of(w, i)[rank] / fmax(middle[i], 1e-9);
        double share = dlb_median(shares, n);
        if (share < least) {
            least = share;
            worst = rank;
        }
    }
    return worst;
}

/* How far, in ln, each rank is below the middle one, [n_reps][n_ranks]; of repetitions in which
 * some rank missed the gate. */
static void read_below(const struct dlb_worst *w, const double *middle, double *below_middle)
{
    for (uint32_t i = 0; i < w->n_reps; i++)
        for (uint32_t rank = 0; rank < w->n_ranks && !isnan(middle[i]); rank++)
            below_middle[(size_t)i * w->n_ranks + rank] =
                log(fmax(middle[i], LEAST_AU) / fmax(row_of(w, i)[rank], LEAST_AU));
}

/* The same without a sign, [n_ranks]. NaN: the nearest, which is the middle one itself, or half of
 * the middle pair. */
static void read_distances(const struct dlb_worst *w, const double *below_middle, double *distance)
{
    uint32_t nearest = 0;
    for (uint32_t i = 0; i < w->n_ranks; i++) {
        distance[i] = fabs(below_middle[i]);
        if (distance[i] < distance[nearest])
            nearest = i;
    }
    distance[nearest] = (double)NAN;
}

/* How much ranks differ by chance in each repetition, [n_reps]: by their usual distance in all
 * repetitions, or in that one, whichever is larger, because ranks differ less below a knee than
 * above it. NaN where none missed the gate. */
static void read_scatter(const struct dlb_worst *w, const double *middle,
                         const double *below_middle, double *scatter)
{
    double *distances = dlb_mem_array((size_t)w->n_reps * w->n_ranks, sizeof(*distances));
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_reps; i++)
        if (!isnan(middle[i]))
            read_distances(w, below_middle + (size_t)i * w->n_ranks,
                           distances + (size_t)w->n_ranks * n++);
    double usual = dlb_median(distances, n * w->n_ranks);
    double most = w->n_ranks > 2 ? MOST_SCATTER : MOST_SCATTER_OF_TWO;
    n = 0;
    for (uint32_t i = 0; i < w->n_reps; i++) {
        scatter[i] = (double)NAN;
        if (isnan(middle[i]))
            continue;
        double own = dlb_median(distances + (size_t)w->n_ranks * n++, w->n_ranks);
        scatter[i] = fmin(fmax(NORMAL_MAD * fmax(usual, own), LEAST_SCATTER), most);
    }
    free(distances);
}

/* How far below the middle one each rank usually is, [n_ranks]. */
static void read_usual(const struct dlb_worst *w, const double *middle, const double *below_middle,
                       double *shares, double *usual)
{
    for (uint32_t rank = 0; rank < w->n_ranks; rank++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < w->n_reps; i++)
            if (!isnan(middle[i]))
                shares[n++] = below_middle[(size_t)i * w->n_ranks + rank];
        usual[rank] = dlb_median(shares, n);
    }
}

/* Whether now one rank and now another gets less than chance explains: the mean distance of the
 * lowest one, of what each rank usually gets. A distance counts up to `most`, so that a single
 * moment that was slow is none. */
static bool starves_at_random(const struct dlb_worst *w, const double *middle,
                              const double *below_middle, const double *scatter,
                              const double *usual, double most)
{
    double sum = 0, expected = normal_beyond(0.625 / (w->n_ranks + 0.25)); /* Blom */
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_reps; i++) {
        double farthest = 0;
        if (isnan(middle[i]))
            continue;
        for (uint32_t rank = 0; rank < w->n_ranks; rank++)
            farthest = fmax(farthest, below_middle[(size_t)i * w->n_ranks + rank] - usual[rank]);
        sum += fmin(farthest / scatter[i], most);
        n++;
    }
    return n > 0 && sum / n > expected + 3 * LOWEST_SD / sqrt(n);
}

/* Whether each repetition's value is that of its lowest rank because that one was starved,
 * [n_reps]. */
static void find_starved(const struct dlb_worst *w, const double *middle, double *shares,
                         bool *starved)
{
    double *below_middle = dlb_mem_array((size_t)w->n_reps * w->n_ranks, sizeof(*below_middle));
    double *scatter = dlb_mem_array(w->n_reps, sizeof(*scatter));
    double *usual = dlb_mem_array(w->n_ranks, sizeof(*usual));
    double most = normal_beyond(BY_CHANCE / w->n_ranks);
    read_below(w, middle, below_middle);
    read_scatter(w, middle, below_middle, scatter);
    read_usual(w, middle, below_middle, shares, usual);
    bool at_random = starves_at_random(w, middle, below_middle, scatter, usual, most);
    for (uint32_t i = 0; i < w->n_reps; i++) {
        double farthest = 0;
        for (uint32_t rank = 0; rank < w->n_ranks && !isnan(middle[i]); rank++)
            farthest = fmax(farthest, below_middle[(size_t)i * w->n_ranks + rank]);
        starved[i] = at_random || farthest > most * scatter[i];
    }
    free(below_middle);
    free(scatter);
    free(usual);
}

void dlb_worst_values(const struct dlb_worst *w, double *values)
{
    double *middle = dlb_mem_array(w->n_reps, sizeof(*middle));
    double *shares = dlb_mem_array(w->n_reps, sizeof(*shares));
    bool *starved = dlb_mem_array(w->n_reps, sizeof(*starved));
    for (uint32_t i = 0; i < w->n_reps; i++)
        middle[i] = lowest(w, i) < w->gate ? dlb_median(row_of(w, i), w->n_ranks) : (double)NAN;
    const int64_t worst[2] = {worst_of(w, 0, middle, shares), worst_of(w, 1, middle, shares)};
    find_starved(w, middle, shares, starved);
    for (uint32_t i = 0; i < w->n_reps; i++) {
        int64_t rank = worst[!w->half[i]];
        values[i] = rank >= 0 && !starved[i] ? row_of(w, i)[rank] : lowest(w, i);
    }
    free(middle);
    free(shares);
    free(starved);
}
