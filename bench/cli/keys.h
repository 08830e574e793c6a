/* `dlbench help keys [SECTION]`: every key of configurations, with help, default and range.
 *
 * Floor 5. Control thread; prints. */
#ifndef DLB_BENCH_CLI_KEYS_H
#define DLB_BENCH_CLI_KEYS_H

#include "core/base/err.h"
#include "core/base/opt.h"

#include <stdio.h>

/* All sections, or the one of that name; NULL: all. A name without a section:
 * DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, with the nearest one. */
int dlb_keys_print(FILE *out, const char *section, struct dlb_err *err);

/* The option of that dotted key, or NULL. */
const struct dlb_opt *dlb_key_find(const struct dlb_opt_group *const *groups, const char *key);

#endif
