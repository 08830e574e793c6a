/* Which shared libraries this process runs with.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_CLI_LIBRARIES_H
#define DLB_BENCH_CLI_LIBRARIES_H

#include <jansson.h>

/* Adds environment.versions.libraries, the file names of all loaded shared objects with links
 * followed ("libjpeg.so.62.3.0"), those that a bundle's program has linked in ("libarchive 3.6.2"),
 * and versions.jansson. */
void dlb_libraries_add(json_t *environment);

#endif
