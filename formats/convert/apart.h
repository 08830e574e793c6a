/* The work of a conversion in a child process, for sources that a library reads (read_apart.h).
 * What the child reports is told here as it comes.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_CONVERT_APART_H
#define DLB_FORMATS_CONVERT_APART_H

#include "formats/convert/convert.h"
#include "formats/convert/target.h"

/* Writes and checks all that is converted, under the target's temporary name. */
typedef int dlb_convert_work(const struct dlb_convert *how, const struct dlb_convert_target *target,
                             struct dlb_converted *out, struct dlb_err *err);

/* The work's own error, or DLB_E_FORMAT with the source's path and a signal; DLB_E_CANCELLED at
 * once, whatever the library does. */
int dlb_convert_apart(dlb_convert_work *work, const struct dlb_convert *how,
                      const struct dlb_convert_target *target, struct dlb_converted *out,
                      struct dlb_err *err);

#endif
