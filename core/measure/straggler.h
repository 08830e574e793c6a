/* Which rank holds up the others, by TraceML's rule (its diagnostics/step_time, version 0.5).
 *
 * Floor 1. Pure; any thread. Of synchronous training: the rank that waits least for the others is
 * the one that they wait for. It is compared with the (upper) median rank. What the median rank
 * waits longer is the cost. From DLB_STRAGGLER_WARN of the step on there is a straggler. If one of
 * its own parts is longer by DLB_STRAGGLER_COVERED of the cost, that part is the cause.
 *
 * TraceML takes the backward pass for the wait, because gradients are exchanged in it, and the
 * forward pass for the computing. Here both are measured by themselves. */
#ifndef DLB_CORE_MEASURE_STRAGGLER_H
#define DLB_CORE_MEASURE_STRAGGLER_H

#include <stdint.h>

#define DLB_STRAGGLER_WARN 0.10
#define DLB_STRAGGLER_COVERED 0.80

/* A mean step of one rank. wait_ms: for the others; the other parts are its own. NaN: unknown. */
struct dlb_rank_step {
    double step_ms, wait_ms, input_ms, h2d_ms, compute_ms;
};

/* For ranks that do not wait for each other: as if they did, for the slowest, at each step. */
void dlb_rank_steps_join(struct dlb_rank_step *steps, uint32_t n);

enum dlb_straggler_kind {
    DLB_STRAGGLER_NONE,
    DLB_STRAGGLER_INPUT,
    DLB_STRAGGLER_H2D,
    DLB_STRAGGLER_COMPUTE,
    DLB_STRAGGLER_OTHER, /* no part explains it */
};

struct dlb_straggler {
    enum dlb_straggler_kind kind;
    uint32_t culprit, victim;     /* ranks; victim: the median one */
    double cost_ms, score;        /* score: of the median rank's step */
    double culprit_ms, victim_ms; /* of the part that is the cause; else of the wait */
};

/* A step or a wait that is not finite makes DLB_STRAGGLER_NONE, and so do fewer than two ranks.
 * What is found is finite: such a part is no cause. */
void dlb_straggler_find(const struct dlb_rank_step *steps, uint32_t n, struct dlb_straggler *out);

/* "INPUT STRAGGLER", "H2D STRAGGLER", "COMPUTE STRAGGLER", "STRAGGLER"; NULL: there is none. */
const char *dlb_straggler_name(enum dlb_straggler_kind kind);

#endif
