/* Copies windows of mapped files, many at once.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_TOKENS_WINDOWS_H
#define DLB_FORMATS_TOKENS_WINDOWS_H

#include "core/base/mapguard.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DLB_TOKENS_AT_ONCE = 16 }; /* windows, at most */

struct dlb_tokens_window {
    const struct dlb_map *map;
    uint64_t offset_bytes; /* of a window that lies within the map */
};

/* n windows of n_bytes each, 1 at least, back to back to dst. false: a file is shorter than it was
 * or cannot be read, so that some of what lies at dst may be zeros; dlb_map_copy tells of which. */
bool dlb_tokens_copy(const struct dlb_tokens_window *window, uint32_t n, size_t n_bytes,
                     uint8_t *dst);

#endif
