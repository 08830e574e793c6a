/* The functions of osacct.h with a folder that stands for "/", so that tests can use a made-up
 * one.
 *
 * Floor 1, private to core/host and its tests. Any thread. `root` is "" for the machine itself. */
#ifndef DLB_CORE_HOST_OSACCT_PARSE_H
#define DLB_CORE_HOST_OSACCT_PARSE_H

#include "core/host/osacct.h"

#include <stdbool.h>

void dlb_os_io_at(const char *root, struct dlb_os_process *out);
void dlb_os_schedstat_at(const char *path, struct dlb_os_thread *out);

/* Proportional set size of this process: /proc/self/smaps_rollup, else its resident set.
 * DLB_NOT_MEASURED when neither can be read. */
uint64_t dlb_os_pss_bytes_at(const char *root);
uint64_t dlb_os_peak_pss_bytes_at(const char *root);
uint64_t dlb_os_mem_available_bytes_at(const char *root);

/* Cores by cgroup quota: the smallest of the group and its parents; 0.0 for none. */
double dlb_cgroup_quota_cores(const char *root);

/* Bytes that the group and its parents leave: limit - usage + file pages that can be dropped,
 * the least of them; UINT64_MAX for no limit. */
uint64_t dlb_cgroup_mem_left_bytes(const char *root);

/* Tasks that the group and its parents still allow: pids.max - pids.current, the least of them;
 * UINT64_MAX for no limit. */
uint64_t dlb_cgroup_tasks_left(const char *root);

/* Time that the CPU quotas of the group and its parents kept tasks from running, summed over
 * groups and CPUs; DLB_NOT_MEASURED if no group counts it. */
uint64_t dlb_cgroup_throttled_ns(const char *root);

#endif
