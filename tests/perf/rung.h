/* A rung of the in-memory ladder as one way of a comparison. */
#ifndef DLB_TESTS_PERF_RUNG_H
#define DLB_TESTS_PERF_RUNG_H

#include "scenarios/gap/rungs/rung.h"

#include <stdint.h>

struct rung {
    const struct dlb_gap_params *params;
    const char *name;
    struct dlb_rung_result last; /* of the last run; the caller frees it */
};

/* $DLB_PERF_SAMPLES (default 2097152) rows of 100 float32, to the emulated device. `pages` as
 * gap.pages; batch_size 0: the published share of the rows, which makes 7 batches. */
struct dlb_gap_params rung_params(const char *pages, uint32_t workers, json_int_t batch_size);

/* Seconds of the measured epoch of a run. `rung` is a struct rung. */
double rung_epoch(void *rung);

#endif
