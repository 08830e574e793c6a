/* The account of one accelerator's training loop: where its thread's time goes.
 *
 * Floor 3, private to loaders/train. The consumer's thread. Stages follow each other without a gap:
 * each begins where the one before it ended. The time that they do not cover is reported as
 * unaccounted. */
#ifndef DLB_LOADERS_TRAIN_ACCOUNT_H
#define DLB_LOADERS_TRAIN_ACCOUNT_H

#include "core/measure/meters.h"
#include "core/measure/trace.h"
#include "loaders/train/consumer.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_account {
    struct dlb_hist *stage;      /* [DLB_CS_COUNT] borrowed */
    struct dlb_trace_ring *loop; /* NULL: no timeline is recorded */
    bool open, closed;
    uint64_t start_ns, covered_ns;
};

void dlb_account_begin(struct dlb_account *account, uint64_t now_ns);

/* Fills wall_ns and unaccounted_ns of the share. */
void dlb_account_end(struct dlb_account *account, uint64_t now_ns, struct dlb_share *share);

/* Counts the stage if the account is open; the timeline has it in any case. */
void dlb_account_spend(struct dlb_account *account, enum dlb_consumer_stage stage,
                       uint64_t start_ns, uint64_t end_ns);

#endif
