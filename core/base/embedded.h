/* Files whose bytes are in the program (cmake/embed.cmake), so that the program needs no other
 * files where it runs.
 *
 * Floor 0. Any thread. Tables are constant and end with name == NULL; the floor that embeds files
 * declares its tables. */
#ifndef DLB_CORE_BASE_EMBEDDED_H
#define DLB_CORE_BASE_EMBEDDED_H

#include "core/base/err.h"

#include <stddef.h>

struct dlb_embedded {
    const char *name; /* of the file; without ".toml" */
    const char *bytes;
    size_t n_bytes;
};

/* Writes every file of the table into a folder, under its name. */
int dlb_embedded_write(const struct dlb_embedded *table, const char *folder, struct dlb_err *err);

#endif
