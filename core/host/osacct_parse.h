/* The readers of osacct.h below a folder that stands for "/": tests give them one of their own.
 *
 * Floor 1, private to core/host and its tests. Any thread. `root` is "" for the machine itself. */
#ifndef DLB_CORE_HOST_OSACCT_PARSE_H
#define DLB_CORE_HOST_OSACCT_PARSE_H

#include "core/host/osacct.h"

#include <stdbool.h>

void dlb_os_io_at(const char *root, struct dlb_os_process *out);
void dlb_os_schedstat_at(const char *path, struct dlb_os_thread *out);
uint64_t dlb_os_pss_bytes_at(const char *root);
uint64_t dlb_os_peak_pss_bytes_at(const char *root);
uint64_t dlb_os_mem_available_bytes_at(const char *root);

/* Cores by cgroup quota, the smallest on the way up; 0.0 for none. */
double dlb_cgroup_quota_cores(const char *root);

/* Bytes that the cgroups on the way up leave to us: limit - usage + file pages that can be dropped;
 * UINT64_MAX for no limit. */
uint64_t dlb_cgroup_mem_left_bytes(const char *root);

/* Tasks that the cgroups on the way up still allow: pids.max - pids.current; UINT64_MAX for no
 * limit. */
uint64_t dlb_cgroup_tasks_left(const char *root);

#endif
