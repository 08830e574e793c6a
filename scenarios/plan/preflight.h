/* What a cell takes, computed before it runs, and which cells cannot work.
 *
 * Floor 4. Control thread; pure. A figure that cannot be told beforehand is NaN: so are most
 * figures of a cell whose data set differs from the first cell's, which alone was opened. */
#ifndef DLB_SCENARIOS_PLAN_PREFLIGHT_H
#define DLB_SCENARIOS_PLAN_PREFLIGHT_H

#include "scenarios/scenario.h"

/* Of one repetition. */
struct dlb_need {
    double epoch_batches; /* that an epoch holds, of all accelerators of the process together */
    double n_batches;     /* that it takes, warm-up included */
    double most_batches;  /* that one accelerator can get in all epochs */
    double least_batches; /* without which it measures nothing */
    double slots_bytes;   /* of batches in memory, of all loaders */
    double pinned_bytes;  /* of these */
    double workers_bytes; /* that all workers allocate for themselves */
    double decode_bytes;  /* of the largest samples, as they are stored and unpacked, one for each
                             worker that decodes; the pixels of an image are not in it */
    double each_bytes;    /* of these and of the slots, for one worker; for 0 workers: of all */
    double read_bytes;    /* that it delivers, as they are stored; a mean sample for each */
    double least_s;       /* steps, or planted waiting and computing if these take longer */
    double n_workers;     /* of all loaders */
};
void dlb_preflight_need(const struct dlb_plan *plan, uint32_t cell, struct dlb_need *out);

/* Skips the cells that cannot work, with a code and the reason: too few batches for a window
 * (TOO_FEW_BATCHES), or more memory than there is for the slots of all its loaders and for its
 * workers together (LOADER_SLOTS_MEMORY or LOADER_WORKERS_MEMORY, by which of them takes more). A
 * plan without axes, whose one cell it is, gets the error itself. Uses plan->host. */
int dlb_preflight(struct dlb_plan *plan, struct dlb_err *err);

/* As dlb_preflight checks each, of a cell that need not be the plan's. */
int dlb_preflight_cell(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                       struct dlb_err *err);

#endif
