/* How much memory of their own a process and its descendants hold, while it works.
 *
 * Floor 1. Control thread; a thread that it starts takes samples, for at most a thousandth of one
 * CPU's time. Counted is anonymous memory (RssAnon in /proc/PID/status): what is shared between
 * processes, and files, are not in it. */
#ifndef DLB_CORE_HOST_MEMWATCH_H
#define DLB_CORE_HOST_MEMWATCH_H

#include <stdint.h>

#define DLB_MEMWATCH_MAX                                                                           \
    512 /* samples that are kept; of a longer run every second one, and so on */

struct dlb_memwatch;

/* NULL when it cannot be started: then nothing is measured. Call it after the fork server was
 * started, because it starts a thread. */
struct dlb_memwatch *dlb_memwatch_start(void);

/* Stops and frees it. Copies the samples in their order, equally far apart, and returns how many.
 * 0 for NULL. */
uint32_t dlb_memwatch_stop(struct dlb_memwatch *watch, double bytes[DLB_MEMWATCH_MAX]);

/* One sample: of this process and all its descendants. NaN if it cannot be read. */
double dlb_memwatch_now(void);

#endif
