/* Which libraries this process really runs with.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_CLI_LIBRARIES_H
#define DLB_BENCH_CLI_LIBRARIES_H

#include <jansson.h>
#include <stdbool.h>

/* Adds environment.versions.libraries: the file names, links followed, of every shared object that
 * is loaded
 * ("libjpeg.so.62.3.0"), and versions.jansson. False when memory is short. */
bool dlb_libraries_add(json_t *environment);

#endif
