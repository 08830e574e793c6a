/* Reads samples of a data set whose format's library may crash on a damaged file: in a child
 * process. Other data sets are read in this process.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_READ_APART_H
#define DLB_FORMATS_READ_APART_H

#include "core/base/apart.h"
#include "formats/format.h"

#define DLB_LOOK_PATIENCE_S 300 /* limit for reading some samples; opening has the same */

/* how: all but `who` and `doing`. The work opens and closes its readers. */
int dlb_read_apart(const struct dlb_shape *shape, struct dlb_apart how, struct dlb_err *err);

#endif
