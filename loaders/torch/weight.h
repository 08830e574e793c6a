/* How much memory an interpreter and its workers held, at the most.
 *
 * Workers may be gone when a run ends, so a thread of its own reads it while they deliver: at the
 * first batch, the 8th, the 64th and so on. A read takes milliseconds, and the consumer waits for
 * none. */
#ifndef DLB_LOADERS_TORCH_WEIGHT_H
#define DLB_LOADERS_TORCH_WEIGHT_H

#include "core/base/futex.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_weight {
    pid_t group;
    struct dlb_event asked;
    atomic_bool stopping;
    bool runs;
    pthread_t thread;
    uint64_t n_batches, next; /* delivered; the one at which it is read again */
    atomic_uint_fast64_t most_bytes;
};

/* Of a process group. Without a thread nothing is read. */
void dlb_weight_begin(struct dlb_weight *weight, pid_t group);
void dlb_weight_batch(struct dlb_weight *weight); /* one was delivered */
/* Idempotent; waits for a read that is under way. The most that was read, bytes; 0: nothing. */
uint64_t dlb_weight_end(struct dlb_weight *weight);

#endif
