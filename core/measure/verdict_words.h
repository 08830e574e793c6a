/* The verdict's sentences; the rule is in verdict.c.
 *
 * Floor 1, private to core/measure. Pure functions, any thread. */
#ifndef DLB_CORE_MEASURE_VERDICT_WORDS_H
#define DLB_CORE_MEASURE_VERDICT_WORDS_H

#include "core/measure/verdict.h"

/* Where the gain's interval lies, seen from DLB_GAIN_CLEAR. */
enum dlb_gain_side {
    DLB_GAIN_UNKNOWN, /* no ceiling, or one that shows nothing */
    DLB_GAIN_BELOW,
    DLB_GAIN_ACROSS,
    DLB_GAIN_ABOVE,
};

/* What the rule found. Fractions are finite and within [0, 1]. */
struct dlb_finding {
    enum dlb_verdict_class klass;
    enum dlb_cause cause;
    double compute_frac, input_frac, h2d_frac, residual_frac, epoch_frac, oversleep_frac;
    double late_frac; /* exposed copies of late batches; not part of h2d_frac */
    double unaccounted_frac, unaccounted_max_frac, account_frac;
    double harness_frac, headroom; /* 0: not measured */
    double runqueue_frac;          /* of the workers' working time */
    double blocked_frac;           /* of the workers' time: waiting for a credit or a slot */
    bool cpus_taken;               /* each CPU has a worker */
    double lost_frac;              /* of the samples */
    int stage;         /* the largest of read, decode, transform, collate; -1: none was timed */
    double stage_frac; /* its share of the four */
    double ceiling_idle_frac; /* 0: not measured */
    bool starved; /* the device of the ceiling was idle, too, so that the ceiling shows nothing */
    bool input_refuted; /* input had the largest share, but the gain is below the threshold */
    enum dlb_gain_side side;
    double gain_low, gain_high; /* unless the side is unknown */
};

/* Writes sentences: what was found, by how much, why, and what to try next. */
void dlb_verdict_words(const struct dlb_evidence *evidence, const struct dlb_finding *finding,
                       char *text, size_t n_text);

#endif
