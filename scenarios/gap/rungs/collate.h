/* Fetches samples one by one, each into an allocation of its own, and then stacks them: what a
 * DataLoader's fetch and default_collate do, without the interpreter.
 *
 * Floor 4. One thread or worker process; parts are added to its account. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_COLLATE_H
#define DLB_SCENARIOS_GAP_RUNGS_COLLATE_H

#include "core/base/err.h"
#include "scenarios/gap/rungs/ledger.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_gap_collate {
    uint8_t **sample; /* [batch_size] pointers; owned */
    uint64_t batch_size, row_bytes, n_held;
    const uint8_t *array;
    const atomic_bool *cancel; /* may be NULL */
};

int dlb_gap_collate_open(struct dlb_gap_collate *collate, const void *array, uint64_t batch_size,
                         uint64_t row_bytes, struct dlb_err *err);
void dlb_gap_collate_close(struct dlb_gap_collate *collate);

/* Parts index, stack and free. During stack the batch is in memory twice. */
int dlb_gap_collate_fetch(struct dlb_gap_collate *collate, struct dlb_gap_account *account,
                          const uint32_t *index, uint64_t n_rows, struct dlb_err *err);
int dlb_gap_collate_stack(struct dlb_gap_collate *collate, struct dlb_gap_account *account,
                          uint8_t *dest, struct dlb_err *err);
void dlb_gap_collate_drop(struct dlb_gap_collate *collate, struct dlb_gap_account *account);

/* Memory for a batch's samples, with malloc's overhead. */
uint64_t dlb_gap_collate_bytes(uint64_t batch_size, uint64_t row_bytes);

#endif
