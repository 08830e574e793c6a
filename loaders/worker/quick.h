/* Quick samples share a time stamp.
 *
 * Reading the clock takes 20 to 50 ns, and waits for the copies that are in flight: with a stamp
 * each, samples of 4 KiB lose up to 4% of their rate. So samples that are read in less than half of
 * DLB_QUICK_NS share one: as many as take no longer than that time together, DLB_QUICK_MOST at
 * most.
 *
 * Sums and counts are exact. Samples that share a stamp count with their mean. If they took more
 * than DLB_QUICK_SLOW_NS, one of them counts as the slow one and the others as those before did:
 * its time is off by DLB_QUICK_NS at most, unless there were several slow ones, which count as one.
 * The next sample has a stamp of its own.
 *
 * Floor 3. One worker's own; its thread or process. */
#ifndef DLB_LOADERS_WORKER_QUICK_H
#define DLB_LOADERS_WORKER_QUICK_H

#include "core/measure/hist.h"

#include <stdint.h>

#define DLB_QUICK_NS 20000      /* enough that a stamp is under 1% of it */
#define DLB_QUICK_SLOW_NS 40000 /* twice as much: not for a sample that takes a little longer */
#define DLB_QUICK_MOST 16

struct dlb_quick {
    uint32_t n;                 /* samples that share the next stamp; 1 at least */
    uint32_t n_usual, usual_ns; /* the last that were not slow: how many, and their time */
};

/* n samples, 1 at least, took ns together: adds them, and sets how many share the next stamp. */
void dlb_quick_count(struct dlb_quick *quick, struct dlb_hist *hist, uint64_t ns, uint32_t n);

#endif
