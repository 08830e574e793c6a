/* The end of a single file that convert wrote, by which a later convert knows that it may replace
 * it.
 *
 * Floor 2. Control thread. For formats that read nothing behind the end of their data. The trailer
 * says how long the file is. A program that changes the length, as libhdf5 does whenever it has
 * opened a file for writing, makes the file its own. */
#ifndef DLB_FORMATS_GENERATE_TRAILER_H
#define DLB_FORMATS_GENERATE_TRAILER_H

#include "core/base/err.h"

#include <stdbool.h>

/* Appends it to a file that is complete. */
int dlb_trailer_add(const char *path, struct dlb_err *err);

/* Whether the regular file ends with the trailer that fits it. Links are not followed. */
bool dlb_trailer_fits(const char *path);

#endif
