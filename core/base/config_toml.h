/* Parses TOML into JSON that keeps line numbers: the C interface of the one C++ file.
 *
 * Floor 0. Any thread. toml11 throws and recurses, so size and nesting are checked before it
 * parses. */
#ifndef DLB_CORE_BASE_CONFIG_TOML_H
#define DLB_CORE_BASE_CONFIG_TOML_H

#include "core/base/err.h"

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLB_TOML_MAX_BYTES (1 << 20)
#define DLB_TOML_MAX_DEPTH 32
#define DLB_TOML_MAX_ITEMS                                                                         \
    2000 /* values and tables; the time of toml11 3.7 grows with the square of their number */

/* Parses `text` (n_bytes, not terminated). *out: [{"key": "loader.num_workers", "value": 4,
 * "line": 12}, ...] in the file's order, tables flattened into dotted keys, arrays kept as
 * arrays of scalars; new reference. `path` is for messages. Dates, arrays of tables and nested
 * arrays are refused with their line; so are strings of several lines, whose end only a full
 * parser can find. */
int dlb_toml_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                   struct dlb_err *err);

#ifdef __cplusplus
}
#endif
#endif
