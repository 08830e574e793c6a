/* What conversions to the same target left when they were killed.
 *
 * Floor 2. Control thread. Known by its name and by what it holds (part.h, owned.h). */
#ifndef DLB_FORMATS_CONVERT_LEFTOVER_H
#define DLB_FORMATS_CONVERT_LEFTOVER_H

#include "core/base/err.h"

enum dlb_convert_left {
    DLB_CONVERT_REMOVED,
    DLB_CONVERT_PUT_BACK, /* the earlier data, which were renamed, have their name again */
    DLB_CONVERT_KEPT,     /* it stays, or some of it */
};
/* `why`: of what is kept, and what of it; else NULL. */
typedef void dlb_convert_left_fn(void *ctx, enum dlb_convert_left what, const char *path,
                                 const struct dlb_err *why);

/* TARGET.old-PID; NULL when memory is short. The caller frees it. */
char *dlb_convert_old_name(const char *target, const char *pid);

/* For the target `name` in the folder `parent`. Removes the temporary folders of processes that are
 * dead. If one was killed while it replaced the target in two steps, the target's earlier data are
 * put back, or removed if the new ones are there. DLB_ERR_TARGET_BUSY if such a process runs, or
 * may run on another machine. `left` may be NULL. */
int dlb_convert_take_leftovers(const char *parent, const char *name, dlb_convert_left_fn *left,
                               void *ctx, struct dlb_err *err);

#endif
