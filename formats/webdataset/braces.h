/* Lists of shards as webdataset writes them: `/data/train-{000000..000146}.tar`, several joined by
 * `::`.
 *
 * Floor 2. Control thread. Braces are the shell's (and braceexpand's): {1..9} counts up or down,
 * with zeros in front where either number has them, {a..d} does so in single letters (with a after
 * Z, as in braceexpand), {1..9..2} in steps, {x,y} names; they nest, and several multiply. Anything
 * else in braces is taken as it stands. */
#ifndef DLB_FORMATS_WEBDATASET_BRACES_H
#define DLB_FORMATS_WEBDATASET_BRACES_H

#include "core/base/err.h"

#include <stdbool.h>

/* More than any training set has, and little enough to list. */
#define DLB_WDS_MAX_PATHS 1000000

/* Whether `path` could be anything but one path. */
bool dlb_wds_is_pattern(const char *path);

/* Each path in its order; `path` is borrowed until the call returns. Stops at the first that is not
 * DLB_OK. DLB_E_CONFIG for more than DLB_WDS_MAX_PATHS, or paths that are too long. */
typedef int dlb_wds_path(void *ctx, const char *path, struct dlb_err *err);
int dlb_wds_expand(const char *pattern, dlb_wds_path *visit, void *ctx, struct dlb_err *err);

#endif
