/* The model behind the race (core/measure/race.h): what repeated runs say about true rates.
 *
 * Floor 1. Control thread: allocates with core/base/mem.h. Pure: draws come from the given seed.
 *
 *   ln rate of a run = its block + effect of each key's level + the cell's deviation + noise
 *
 * Blocks are fixed effects; drift between blocks falls out. Effects of levels are normal with one
 * standard deviation, deviations with another; both deviations are unknown and integrated over a
 * grid, weighted with the marginal likelihood. A cell may be an exception whose deviation is wider:
 * without that, one cell that is better than all others would be shrunk to them. Which ones is
 * judged with each as a usual one; those that are almost certain are then exceptions in the
 * equations, so that they pull no effects of keys along.
 *
 * Noise is Student's t with few degrees of freedom: a run that was hit weighs little. Each cell
 * has a scatter of its own, shrunk to the pooled one.
 *
 * Sources: the equations for mixed models are Henderson's (Biometrics 31, 1975), with the
 * deviations absorbed; EM for Student's t is Lange, Little and Taylor (JASA 84, 1989); the
 * information of an M-estimator is Huber's (Ann. Math. Stat. 35, 1964); exceptions are a
 * spike and slab (Mitchell and Beauchamp, JASA 83, 1988). */
#ifndef DLB_CORE_MEASURE_RACE_MODEL_H
#define DLB_CORE_MEASURE_RACE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* All borrowed. */
struct dlb_race_data {
    uint32_t n_cells, n_keys, n_blocks;
    const uint32_t *levels; /* [n_cells][n_keys] which value of the key the cell has, from 0 */
    const double *ln_rate;  /* [n_blocks][n_cells]; NaN: not measured */
};

struct dlb_race_noise {
    double *weight; /* [n_blocks][n_cells] 1 / variance of the run, as far as it counts; 0: no run;
                       owned */
    double scatter; /* standard deviation of one run's ln rate; pooled, robust */
};

struct dlb_race_noise dlb_race_noise_of(const struct dlb_race_data *data);
void dlb_race_noise_free(struct dlb_race_noise *noise);

/* Draws of true ln rates, but for a constant of each draw: [n_draws][n_cells]. */
struct dlb_race_draws {
    double *rate;        /* from the posterior; owned, and the others are parts of it */
    double *usual;       /* if the cell is no exception, or with the wide prior if it almost
                            certainly is one */
    double *exceptional; /* if it is one */
};

/* Of the cells with in[c]: at least one, each measured. NaN for other cells. */
struct dlb_race_draws dlb_race_draws_of(const struct dlb_race_data *data,
                                        const struct dlb_race_noise *noise, const bool *in,
                                        uint32_t n_draws, uint64_t seed);
void dlb_race_draws_free(struct dlb_race_draws *draws);

#endif
