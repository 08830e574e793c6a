/* Where a result was measured: environment.json, and the `environment` of every summary.
 *
 * Floor 1. Control thread. */
#ifndef DLB_CORE_HOST_ENVIRONMENT_H
#define DLB_CORE_HOST_ENVIRONMENT_H

#include <jansson.h>

/* host, kernel, cpu{model, sockets, cores, threads, quota_cores, governor}, memory{total_bytes,
 * available_bytes, shm_bytes, transparent_hugepages}, clock_source, filesystem{mount, type,
 * options, device, total_bytes, free_bytes} of `data_path` (its nearest existing parent; null
 * when NULL), limits{nofile, memlock_bytes} (null: no limit), versions{libc, compiler, jansson,
 * hwloc; libarchive, libjpeg_turbo, ... are added by the caller}, timestamp (ISO 8601, UTC).
 * What cannot be read or does not exist (no quota, no governor) is null; every key is there. New
 * reference; NULL when memory is short. */
json_t *dlb_environment(const char *data_path);

#endif
