/* Reading samples of a data set that a library reads, which a damaged file may crash: in a child
 * process. Others are read here.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_READ_APART_H
#define DLB_FORMATS_READ_APART_H

#include "core/base/apart.h"
#include "formats/format.h"

#define DLB_LOOK_PATIENCE_S 300 /* for some samples that are looked at, as for opening */

/* how: all but `who` and `doing`. Readers belong to the work, which opens and closes them. */
int dlb_read_apart(const struct dlb_shape *shape, struct dlb_apart how, struct dlb_err *err);

#endif
