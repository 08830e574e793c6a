/* Where a cell meets the cells of other ranks: memory that it shares with the process that speaks
 * for its rank (scenarios/ranks/speaker.h). A cell asks; once the cells of all ranks have asked,
 * each is answered: a cold one before and after it drops its data, each before its loop, then, with
 * accelerators.barrier, at each step; without it, once it has measured its run.max_batches.
 *
 * Floor 3. One cell at a time, and its control thread alone; one speaker. Times are of this
 * machine's clock: speakers exchange the nanoseconds still to pass. */
#ifndef DLB_LOADERS_MEET_H
#define DLB_LOADERS_MEET_H

#include "core/base/futex.h"
#include "core/measure/hist.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_meet {
    struct dlb_event bell;  /* for the speaker: a cell asked, or its runner sent something */
    struct dlb_event ready; /* for the cell: it is answered, or a batch is ready */
    _Atomic uint32_t n_asked, n_answered;
    /* When the step ends that this rank waits for, and how long it waited for its batch: the
     * cell's when it asks, those of the rank that ends last when it is answered. */
    uint64_t end_ns, input_ns;
    bool alone;           /* an answer's: the cell of some rank has ended */
    atomic_bool measured; /* what the cell asks is whether all have measured: it trains on */
    /* Of one cell: its loop, and what its steps took by themselves. Ended: it asks no more. */
    uint64_t started_ns;
    uint64_t measured_ns; /* when it had measured, and trained on; 0: it did not ask */
    _Atomic uint64_t ended_ns;
    bool ended_well; /* the loop was neither interrupted nor did it fail */
    bool together;   /* it loaded until all had measured, and none ended before it */
    uint64_t n_rounds, wait_ns, own_input_ns;
    /* By the speaker, for one command: calls of MPI, bytes that they carried from or to this rank,
     * and the CPU time that it took. */
    uint64_t n_calls, n_bytes, cpu_ns;
    struct dlb_hist cost;     /* what a round cost the rank that came last */
    _Atomic uint64_t n_signs; /* incremented by the runner while it watches the cell */
    atomic_bool cancelled;    /* by the speaker: the command is to end */
};

/* Before a cell starts; no other process uses it. */
void dlb_meet_reset(struct dlb_meet *meet);

/* The cell: does not block. The answer to the question before was taken. */
void dlb_meet_ask(struct dlb_meet *meet, uint64_t end_ns, uint64_t input_ns);
void dlb_meet_ask_measured(struct dlb_meet *meet);
bool dlb_meet_is_answered(const struct dlb_meet *meet);

/* Whether the cell does nothing until it is answered. */
bool dlb_meet_waits(const struct dlb_meet *meet);

/* Sleeps until the answer is there. False: it was cancelled. */
bool dlb_meet_wait(struct dlb_meet *meet, const atomic_bool *cancel);

/* The cell: what was answered was not the beginning of its loop, which the next answer is. */
void dlb_meet_again(struct dlb_meet *meet);

/* The cell: its loop has ended, and how. It does not hold up others while it is taken down. */
void dlb_meet_end(struct dlb_meet *meet, bool well);

/* The speaker. */
void dlb_meet_answer(struct dlb_meet *meet, uint64_t end_ns, uint64_t input_ns, bool alone);

#endif
