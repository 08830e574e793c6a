/* A file whose bytes are in the program (cmake/embed.cmake), so that the program needs no other
 * files where it runs.
 *
 * Floor 0. Constant; any thread. Tables of these end with name == NULL; the floor that embeds files
 * declares its tables. */
#ifndef DLB_CORE_BASE_EMBEDDED_H
#define DLB_CORE_BASE_EMBEDDED_H

#include <stddef.h>

struct dlb_embedded {
    const char *name; /* of the file; without ".toml" */
    const char *bytes;
    size_t n_bytes;
};

#endif
