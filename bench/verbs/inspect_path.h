/* Which format reads what lies at a path.
 *
 * Floor 5. Control thread; does not print. */
#ifndef DLB_BENCH_VERBS_INSPECT_PATH_H
#define DLB_BENCH_VERBS_INSPECT_PATH_H

#include "core/base/err.h"
#include "formats/format.h"

/* The format whose probe is surest of what is at `path`. NULL and *err: DLB_E_IO if nothing is
 * there, DLB_E_FORMAT if no format recognises it. */
const struct dlb_format *dlb_inspect_format(const char *path, struct dlb_err *err);

#endif
