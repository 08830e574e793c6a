/* The machine's shape, and where threads may run.
 *
 * Floor 1. dlb_topo_open and _close on the control thread; binding from the thread that is bound.
 * The only file that includes hwloc is topo.c. */
#ifndef DLB_CORE_HOST_TOPO_H
#define DLB_CORE_HOST_TOPO_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_topo; /* owned by whoever opened it; read-only afterwards */

enum dlb_bind { DLB_BIND_NONE, DLB_BIND_CORE, DLB_BIND_NUMA };

/* What this process may use is read once, here: affinity as taskset left it, and cpusets. Built
 * without hwloc, it opens all the same, takes each usable CPU for a core, and refuses to bind
 * (DLB_E_MISSING). */
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

/* Moves memory to the node that the kernel gives this number, and has what is faulted in later come
 * from there. *bound: false where there is one node, and nothing was done. */
int dlb_topo_bind_memory(const struct dlb_topo *topo, uint32_t node, void *addr, size_t n_bytes,
                         bool *bound, struct dlb_err *err);

/* The API version that the library speaks, "2.8.0"; NULL when built without it. Static; control
 * thread. */
const char *dlb_topo_library(void);

/* NULL: built with hwloc; else why placement is missing. */
extern const char *const dlb_topo_missing;

#endif
