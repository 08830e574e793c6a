/* Data that only the user's own Python code reads.
 *
 * Floor 2. Plain data. */
#ifndef DLB_FORMATS_PYTHON_PYTHON_H
#define DLB_FORMATS_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* What the format is told of the data instead of looking at them: its dlb_open.opts. */
struct dlb_python_shape {
    int64_t samples;      /* of an epoch */
    int64_t sample_bytes; /* in a batch, on average; 0: not known */
    bool iterable;        /* how many samples an epoch delivers cannot be checked */
};

#endif
