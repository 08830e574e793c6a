/* The machine's cores and NUMA nodes, and binding threads to them.
 *
 * Floor 1. dlb_topo_open and _close on the control thread; binding from the thread that is
 * bound. The only file that includes hwloc is topo.c. */
#ifndef DLB_CORE_HOST_TOPO_H
#define DLB_CORE_HOST_TOPO_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_topo; /* owned by the caller of dlb_topo_open; not changed afterwards */

enum dlb_bind { DLB_BIND_NONE, DLB_BIND_CORE, DLB_BIND_NUMA };

/* Reads once which CPUs this process may use, by affinity and cpusets. Built without hwloc it
 * succeeds, too: each usable CPU counts as a core, and binding fails with DLB_E_MISSING. */
int dlb_topo_open(struct dlb_topo **out, struct dlb_err *err);
void dlb_topo_close(struct dlb_topo *topo);

uint32_t dlb_topo_n_cores(const struct dlb_topo *topo); /* physical, that this process may use */
uint32_t
dlb_topo_n_pus(const struct dlb_topo *topo); /* hardware threads, that this process may use */
uint32_t dlb_topo_n_numa(const struct dlb_topo *topo);

/* Binds the calling thread: CORE to the (nth mod cores)-th core, NUMA to all PUs of the (nth mod
 * nodes)-th node; NONE does nothing. */
int dlb_topo_bind_self(const struct dlb_topo *topo, enum dlb_bind how, uint32_t nth,
                       struct dlb_err *err);

/* Moves memory to the node of this number (the kernel's); pages that are faulted in later come
 * from there, too. *bound: false when the machine has one node, and nothing was done. */
int dlb_topo_bind_memory(const struct dlb_topo *topo, uint32_t node, void *addr, size_t n_bytes,
                         bool *bound, struct dlb_err *err);

/* API version of the library, "2.8.0"; NULL when built without it. Static; control thread. */
const char *dlb_topo_library(void);

/* NULL: built with hwloc; else why placement is missing. */
extern const char *const dlb_topo_missing;

#endif
