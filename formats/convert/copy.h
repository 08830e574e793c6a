/* Writes samples of the source in the target's format, under the target's temporary name.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_CONVERT_COPY_H
#define DLB_FORMATS_CONVERT_COPY_H

#include "formats/convert/range.h"
#include "formats/convert/state.h"

/* Also syncs what it wrote. `aside`: this is one process's share (struct dlb_write), else all. */
int dlb_convert_copy(struct dlb_convert_state *state, struct dlb_convert_range range,
                     const char *aside, struct dlb_err *err);

/* That every announced sample was read: the source's list of its samples may be wrong. */
int dlb_convert_check_number(const struct dlb_convert *how, const struct dlb_converted *out,
                             struct dlb_err *err);

#endif
