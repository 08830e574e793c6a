/* Messages between a worker process and the thread that receives its batches. A message is small
 * and carries a descriptor when a batch's memory is new.
 *
 * Floor 4. One thread or process at each end. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_CHANNEL_H
#define DLB_SCENARIOS_GAP_RUNGS_CHANNEL_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum dlb_gap_word {
    DLB_GAP_BEGIN,  /* to a worker: value is the epoch */
    DLB_GAP_CREDIT, /* to a worker: it may make one more batch */
    DLB_GAP_BATCH,  /* from a worker: value is the batch */
    DLB_GAP_DONE,   /* from a worker: it has closed its account of the epoch */
};

struct dlb_gap_message {
    uint64_t word; /* enum dlb_gap_word; as wide as the value, so that nothing unset is sent */
    uint64_t value;
};

/* `with_fd`: -1 for none. */
int dlb_gap_send(int channel, const struct dlb_gap_message *message, int with_fd,
                 struct dlb_err *err);

/* Waits for a message, at most timeout_ms (-1: without a limit). */
bool dlb_gap_readable(int channel, int timeout_ms);

/* *fd: the descriptor of the message, owned by the caller, or -1. */
int dlb_gap_receive(int channel, struct dlb_gap_message *message, int *fd, struct dlb_err *err);

#endif
