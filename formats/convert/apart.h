/* Runs a conversion in a child process, for sources that a library reads (read_apart.h). The
 * child's reports are passed on to the caller's watch as they arrive.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_CONVERT_APART_H
#define DLB_FORMATS_CONVERT_APART_H

#include "formats/convert/convert.h"
#include "formats/convert/target.h"

/* Writes and checks the data, under the target's temporary name. */
typedef int dlb_convert_work(const struct dlb_convert *how, const struct dlb_convert_target *target,
                             struct dlb_converted *out, struct dlb_err *err);

/* Returns the work's own error, or DLB_E_FORMAT with the source's path and the signal that ended
 * the child. DLB_E_CANCELLED at once, even while the library hangs. */
int dlb_convert_apart(dlb_convert_work *work, const struct dlb_convert *how,
                      const struct dlb_convert_target *target, struct dlb_converted *out,
                      struct dlb_err *err);

#endif
