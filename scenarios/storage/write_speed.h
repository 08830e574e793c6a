/* How fast a data set could be written: by the storage, and by the CPUs that make it up.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_STORAGE_WRITE_SPEED_H
#define DLB_SCENARIOS_STORAGE_WRITE_SPEED_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdint.h>

/* Writes into `folder`, or the nearest folder above it that exists, for about a second and at
 * most 1 GiB, with one thread; the file is removed before it returns. */
int dlb_write_speed(const char *folder, double *bytes_per_s, struct dlb_err *err);

/* Bytes of samples that one thread makes in a second, by making some for a moment. NaN where the
 * format makes them itself. */
double dlb_make_speed(const struct dlb_gen *gen);

#endif
