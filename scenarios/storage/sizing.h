/* How large a data set must be before a storage measurement means anything, and what writing it
 * takes.
 *
 * Floor 4. Pure. MLPerf Storage's rules: at least five times the host's memory, so that the page
 * cache cannot hold what is read again, and at least 500 steps an epoch. */
#ifndef DLB_SCENARIOS_STORAGE_SIZING_H
#define DLB_SCENARIOS_STORAGE_SIZING_H

#include <stdbool.h>
#include <stdint.h>

#define DLB_SIZING_RAM_MULTIPLE 5
#define DLB_SIZING_STEPS 500

struct dlb_sizing {
    /* In: */
    uint64_t n_samples, n_bytes;         /* of the data set */
    uint64_t batch_size, n_accelerators; /* of all ranks */
    uint64_t ram_bytes;                  /* of all hosts; 0: not known */
    double write_bytes_per_s;            /* NaN: not known */
    /* Out: */
    uint64_t steps_per_epoch;              /* of each accelerator */
    double ram_multiple;                   /* NaN: not known */
    uint64_t needed_samples, needed_bytes; /* for both rules */
    bool covers_ram, covers_steps;         /* the host's memory is not known: not covered */
    double write_s;                        /* of the data set as it is; NaN */
};

void dlb_sizing_fill(struct dlb_sizing *sizing);

#endif
