/* Whether a conversion's target overlaps its source, so that replacing the target would remove
 * what is read.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_CONVERT_OVERLAP_H
#define DLB_FORMATS_CONVERT_OVERLAP_H

#include "core/base/err.h"
#include "formats/convert/convert.h"

#include <stdbool.h>

/* Whether `path` is `folder` or lies in it; both resolved. */
bool dlb_convert_is_within(const char *path, const char *folder);

/* DLB_ERR_TARGET_OVERLAPS if the target is the source, lies in it, or holds the source or one of
 * the files that its samples are read from. `to`: the target's resolved path, which need not
 * exist. */
int dlb_convert_check_overlap(const struct dlb_convert *how, const char *to, struct dlb_err *err);

#endif
