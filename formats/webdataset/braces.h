/* Lists of shards in webdataset's notation: `/data/train-{000000..000146}.tar`, several joined by
 * `::`.
 *
 * Floor 2. Control thread. Braces are the shell's (and braceexpand's): {1..9} counts up or down,
 * with leading zeros where either number has them; {a..d} counts in single letters (a follows Z, as
 * in braceexpand); {1..9..2} counts in steps; {x,y} lists names. Braces nest, and several multiply.
 * Other braces are taken literally. */
#ifndef DLB_FORMATS_WEBDATASET_BRACES_H
#define DLB_FORMATS_WEBDATASET_BRACES_H

#include "core/base/err.h"

#include <stdbool.h>

/* More than any training set has, and few enough to list. */
#define DLB_WDS_MAX_PATHS 1000000

/* Whether `path` may stand for several paths. */
bool dlb_wds_is_pattern(const char *path);

/* Visits each path in order; `path` is borrowed until the call returns. Stops at the first visit
 * that does not return DLB_OK, and returns that. DLB_E_CONFIG for more than DLB_WDS_MAX_PATHS, or
 * paths that are too long. */
typedef int dlb_wds_path(void *ctx, const char *path, struct dlb_err *err);
int dlb_wds_expand(const char *pattern, dlb_wds_path *visit, void *ctx, struct dlb_err *err);

#endif
