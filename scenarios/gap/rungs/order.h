/* The shuffled order made by one thread: the loader's own sampler, in memory that forked workers
 * see.
 *
 * Floor 4. The loop's thread shuffles; any process reads batches. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_ORDER_H
#define DLB_SCENARIOS_GAP_RUNGS_ORDER_H

#include "loaders/sampler.h"
#include "scenarios/gap/rungs/ledger.h"
#include "scenarios/gap/rungs/params.h"

#include <stdint.h>

struct dlb_gap_order {
    struct dlb_sampler sampler;
};

static inline uint64_t dlb_gap_order_bytes(const struct dlb_gap_params *params)
{
    return (uint64_t)params->samples * sizeof(uint32_t);
}

static inline int dlb_gap_order_open(struct dlb_gap_order *order,
                                     const struct dlb_gap_params *params, struct dlb_err *err)
{
    struct dlb_shape shape = {.n_samples = (uint64_t)params->samples};
    struct dlb_sampler_opts opts = {.seed = (uint64_t)params->seed,
                                    .world = 1,
                                    .batch_size = (uint32_t)params->batch_size,
                                    .shuffle = true};
    return dlb_sampler_open(&order->sampler, &shape, &opts, true, err);
}

static inline void dlb_gap_order_close(struct dlb_gap_order *order)
{
    dlb_sampler_close(&order->sampler);
}

/* Part permutation. */
static inline void dlb_gap_order_shuffle(struct dlb_gap_order *order,
                                         struct dlb_gap_account *account, uint64_t epoch)
{
    dlb_gap_begin(account);
    dlb_sampler_begin_epoch(&order->sampler, epoch);
    dlb_gap_end(account, DLB_GAP_PART_permutation);
}

/* Sample numbers have 32 bits: gap.samples is limited to that. */
static inline const uint32_t *dlb_gap_order_batch(const struct dlb_gap_order *order, uint64_t batch)
{
    return (const uint32_t *)order->sampler.order + batch * order->sampler.opts.batch_size;
}

#endif
