/* A conversion by several processes: what the first one does beside its own share.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_CONVERT_SHARE_H
#define DLB_FORMATS_CONVERT_SHARE_H

#include "formats/convert/convert.h"
#include "formats/convert/target.h"

/* Has all processes write their shares, joins what they found, has them read all of it back, and
 * compares, under the target's temporary name. */
int dlb_convert_together(const struct dlb_convert *how, const struct dlb_convert_target *target,
                         struct dlb_converted *out, struct dlb_err *err);

#endif
