/* /proc/diskstats: bytes read from devices.
 *
 * Floor 1, private to core/host. Any thread; pure but for dlb_diskstats_read. */
#ifndef DLB_CORE_HOST_DISKSTATS_H
#define DLB_CORE_HOST_DISKSTATS_H

#include <stdbool.h>
#include <stdint.h>

struct dlb_diskstats {
    char name[64];       /* "nvme0n1p1", "dm-3" */
    uint64_t read_bytes; /* since the machine started, by all programs; never wraps */
};

/* Finds the line of a device or partition in the file's text
 * (Documentation/admin-guide/iostats.rst). False when there is none, or it is not as described
 * there. */
bool dlb_diskstats_find(const char *text, unsigned major, unsigned minor,
                        struct dlb_diskstats *out);

/* The same, reading /proc/diskstats now; false when it cannot be read. */
bool dlb_diskstats_read(unsigned major, unsigned minor, struct dlb_diskstats *out);

#endif
