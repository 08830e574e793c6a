/* Reads the target back, and compares it with what was written.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_CONVERT_BACK_H
#define DLB_FORMATS_CONVERT_BACK_H

#include "formats/convert/range.h"
#include "formats/convert/state.h"

/* Opens the target under its temporary name. Close *ds after success. */
int dlb_convert_reopen(const struct dlb_convert_state *state, struct dlb_dataset *ds,
                       struct dlb_err *err);

/* Adds the samples of the range to state->got. The files of a sample, where they are several,
 * belong to the range that has the first. */
int dlb_convert_read_back(struct dlb_convert_state *state, const struct dlb_dataset *ds,
                          struct dlb_convert_range range, struct dlb_err *err);

/* The samples must be equal, in any order: some formats have an order of their own (files: by
 * class). Counts those that are. */
int dlb_convert_compare(struct dlb_convert_state *state, struct dlb_err *err);

#endif
