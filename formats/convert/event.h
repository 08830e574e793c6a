/* Whether what a process that converts tells of its work can be: a hostile source may have taken it
 * over.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_CONVERT_EVENT_H
#define DLB_FORMATS_CONVERT_EVENT_H

#include "formats/convert/convert.h"

/* The part that all such messages have. */
struct dlb_convert_told {
    enum dlb_convert_phase phase;
    uint64_t n_done, n_total;  /* n_total 0: nothing is counted */
    int rc;                    /* of the work, in the last message */
    const struct dlb_err *err; /* of it, or of a sample */
};

/* That the phase exists, no more is done than there is, a failure has an error, and that error's
 * status and code exist and its texts end. */
bool dlb_convert_told_makes_sense(const struct dlb_convert_told *told);

/* That of the samples written no more are counted than there are. */
bool dlb_converted_makes_sense(const struct dlb_converted *converted);

#endif
