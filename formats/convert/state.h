/* What the steps of a conversion hand on to each other.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_CONVERT_STATE_H
#define DLB_FORMATS_CONVERT_STATE_H

#include "formats/convert/check.h"
#include "formats/convert/convert.h"
#include "formats/convert/sums.h"
#include "formats/convert/target.h"

/* Shards whose rest could not be read: their numbers, counted from 1; 0: none. */
struct dlb_convert_cut {
    uint32_t last;
    uint32_t before;    /* cut before the share of this process begins, and not counted */
    struct dlb_err why; /* of `before` */
};

struct dlb_convert_state {
    const struct dlb_convert *how;
    const struct dlb_convert_target *target;
    struct dlb_converted *out;
    struct dlb_convert_check check;
    struct dlb_convert_sums have, got; /* of samples written, and read back */
    bool fields;                       /* some sample has several fields beside its label */
    struct dlb_convert_cut cut;
    uint64_t told_bytes; /* at the last report */
};

void dlb_convert_state_init(struct dlb_convert_state *state, const struct dlb_convert *how,
                            const struct dlb_convert_target *target, struct dlb_converted *out);
void dlb_convert_state_free(struct dlb_convert_state *state);

bool dlb_convert_is_cancelled(const struct dlb_convert *how);
int dlb_convert_fail_cancelled(const struct dlb_convert *how, struct dlb_err *err);

/* Tells the caller's watch, if there is enough to tell since the last time. */
void dlb_convert_report(struct dlb_convert_state *state, enum dlb_convert_phase phase,
                        uint64_t n_done, uint64_t n_total, uint64_t n_bytes);

#endif
