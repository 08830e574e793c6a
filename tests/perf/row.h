/* A comparison that was made, as a line of JSON for scripts/perf. */
#ifndef DLB_TESTS_PERF_ROW_H
#define DLB_TESTS_PERF_ROW_H

#include "core/measure/stats.h"

#include <stdint.h>

/* What one way took, all threads of the process together. First a sum over calls, in a row for one
 * unit of work. */
struct perf_usage {
    double user_ns, system_ns; /* CPU time */
    double faults;             /* of pages, without reading from a disk */
    double sleeps, preempted;  /* switches that a thread asked for, and those that it did not */
};

/* Adds what the process took since `before`, which the caller took by perf_usage_now. */
struct perf_usage perf_usage_now(void);
void perf_usage_add(struct perf_usage *sum, const struct perf_usage *before);

struct perf_row_side {
    const char *name;
    double per_s;            /* units a second, the median of rounds */
    struct perf_usage usage; /* of all rounds */
};
struct perf_row {
    const char *name, *unit;
    double units;        /* of all rounds of a side */
    double should_reach; /* 0: there is no such figure */
    uint32_t rounds;
    struct dlb_estimate ratio; /* of rates, ours / base */
    struct perf_row_side ours, base;
};

/* Appends the line to the file that $DLB_PERF_JSON names; does nothing without it. */
void perf_row_write(const struct perf_row *row);

#endif
