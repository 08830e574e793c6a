/* How many batches a cell takes: of an epoch, of its warm-up, of its window.
 *
 * Floor 4. Pure; any thread. Batches are those of one accelerator. A round is what its workers
 * deliver in a burst (core/measure/pace.h). Warm-up and window are multiples of it. */
#ifndef DLB_SCENARIOS_SPEC_ROUNDS_H
#define DLB_SCENARIOS_SPEC_ROUNDS_H

#include "scenarios/spec/spec.h"

/* n_busy: workers of a loader that have something to read. */
uint32_t dlb_spec_round(const struct dlb_spec *spec, uint32_t n_busy);

/* The warm-up, in whole rounds; as asked for if the epochs hold too few batches for that and a
 * measured round. n_all: batches of all epochs; NaN: not known. */
uint64_t dlb_spec_warmup(const struct dlb_spec *spec, uint32_t round, double n_all);

/* run.max_batches, in whole rounds, and so many that with the warm-up they are more than workers
 * may have made beforehand: a window that ends within these shows how fast they are handed out. 0:
 * no limit. */
uint64_t dlb_spec_max_batches(const struct dlb_spec *spec, uint32_t round);

/* Batches until the window closes, with every worker busy: warm-up, run.max_batches, and the one
 * behind them. NaN without run.max_batches. */
double dlb_spec_wanted(const struct dlb_spec *spec);

/* Batches of an epoch of n_samples, as the sampler divides them among ranks; of iterable data about
 * so many. NaN where it cannot be told (n_samples 0). */
double dlb_spec_epoch_batches(const struct dlb_spec *spec, bool iterable, uint64_t n_samples);

#endif
