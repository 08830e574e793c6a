/* loader.io = "auto": a worker loads its first batches through io_uring and sample by sample, by
 * turns, and goes on in the way that was faster. Through io_uring many reads of a batch wait at
 * once. Bytes that lie in the page cache wait for nothing, and cost more that way.
 *
 * Floor 3, private to loaders/worker. Pure. */
#ifndef DLB_LOADERS_WORKER_IO_TRIAL_H
#define DLB_LOADERS_WORKER_IO_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Batches of each way. The first of each also pays for files and memory that are new, and is left
 * out. */
#define DLB_IO_TRIAL_BATCHES 5

/* Zeroed before its first batch. A worker that starts again goes on with it. */
struct dlb_io_trial {
    uint32_t n;                              /* batches so far */
    double each_ns[2][DLB_IO_TRIAL_BATCHES]; /* of a sample: one by one, through io_uring */
    bool over, uring;                        /* uring: what was chosen; once it is over */
};

/* Whether the next batch is to be read through io_uring. */
bool dlb_io_trial_uring(const struct dlb_io_trial *trial);

/* A batch was loaded as dlb_io_trial_uring said. Returns whether this ends the trial. */
bool dlb_io_trial_add(struct dlb_io_trial *trial, uint64_t ns, uint32_t n_samples);

/* What the choice was made by. */
void dlb_io_trial_text(const struct dlb_io_trial *trial, char *text, size_t n_text);

#endif
