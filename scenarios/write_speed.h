/* How fast a storage takes what gen writes to it.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_WRITE_SPEED_H
#define DLB_SCENARIOS_WRITE_SPEED_H

#include "bench/base/err.h"

/* Writes into `folder`, or the nearest folder above it that exists, for about a second and at most
 * 1 GiB, with one thread; what was written is gone when it returns. */
int dlb_write_speed(const char *folder, double *bytes_per_s, struct dlb_err *err);

#endif
