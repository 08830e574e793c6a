/* Messages between a worker process and who receives from it: small ones, with a descriptor where a
 * batch's memory is new.
 *
 * Floor 4. One thread or process an end. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_CHANNEL_H
#define DLB_SCENARIOS_GAP_RUNGS_CHANNEL_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum dlb_gap_word {
    DLB_GAP_BEGIN,  /* to a worker: value is the epoch */
    DLB_GAP_CREDIT, /* to a worker: one batch more may be under way */
    DLB_GAP_BATCH,  /* from a worker: value is the batch */
    DLB_GAP_DONE,   /* from a worker: its account of the epoch is closed */
};

struct dlb_gap_message {
    uint32_t word; /* enum dlb_gap_word */
    uint64_t value;
};

/* `with_fd`: -1 for none. */
int dlb_gap_send(int channel, const struct dlb_gap_message *message, int with_fd,
                 struct dlb_err *err);

/* Whether there is something to receive, within timeout_ms (-1: however long it takes). */
bool dlb_gap_readable(int channel, int timeout_ms);

/* *fd: the descriptor that came along, the caller's, or -1. */
int dlb_gap_receive(int channel, struct dlb_gap_message *message, int *fd, struct dlb_err *err);

#endif
