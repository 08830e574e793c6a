/* Runs a conversion, or a share of one, in a child process: a library that reads the source may
 * crash or hang. What the child reports is passed on to a watch of this process as it arrives.
 *
 * Floor 2. Control thread, with no other thread running. */
#ifndef DLB_FORMATS_CONVERT_APART_H
#define DLB_FORMATS_CONVERT_APART_H

#include "core/base/apart.h"
#include "formats/convert/convert.h"

#include <sys/types.h>

struct dlb_convert_apart {
    /* Runs in the child, with a watch of its own. */
    int (*work)(void *ctx, const struct dlb_convert_watch *watch, struct dlb_converted *out,
                struct dlb_err *err);
    void *ctx;
    const struct dlb_convert_watch *watch; /* its `cancel` is the child's, too */
    void (*waiting)(void *ctx);            /* called after every second of silence; may be NULL */
    pid_t pid;                             /* out: the child's, from its first report on */
};

/* how: path, cancel, who and doing; the last two are set here for a `source`, NULL: for none.
 * Returns the work's own error, with *out in any case, or that of a child that crashed
 * (core/base/apart.h). DLB_E_CANCELLED at once, even while a library hangs. */
int dlb_convert_apart(struct dlb_convert_apart *c, struct dlb_apart how,
                      const struct dlb_shape *source, struct dlb_converted *out,
                      struct dlb_err *err);

#endif
