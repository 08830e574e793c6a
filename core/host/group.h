/* What the kernel accounts to the processes of a process group.
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_GROUP_H
#define DLB_CORE_HOST_GROUP_H

#include "core/host/osacct.h"

#include <stdint.h>
#include <sys/types.h>

/* CPU time and faults of the group's processes and of those that these have waited for, in clock
 * ticks of sysconf(_SC_CLK_TCK); bytes read by its processes that still live, DLB_NOT_MEASURED
 * where the kernel does not tell them of one. *pss_bytes: the memory that these hold now, shared
 * pages in parts; 0 if none can be read. Switches are not measured. */
void dlb_os_group(pid_t group, struct dlb_os_process *out, uint64_t *pss_bytes);

#endif
