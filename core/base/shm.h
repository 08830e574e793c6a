/* Memory that workers fill and the device reads.
 *
 * Floor 0. Create and free on the control thread. Mapped once, populated at once and always
 * reused, because a fresh page costs 1.5 to 3 microseconds per 4 KiB, more than the copy into
 * it. */
#ifndef DLB_CORE_BASE_SHM_H
#define DLB_CORE_BASE_SHM_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct dlb_shm {
    void *addr; /* zeroed, page aligned, populated; owned */
    size_t n_bytes;
    bool
        huge; /* the kernel was asked for huge pages and they are enabled for this kind of memory */
};

/* `across_processes`: a memfd (never a real file), which child processes share. Otherwise
 * private anonymous memory, for which kernels give huge pages more readily. */
int dlb_shm_create(struct dlb_shm *shm, size_t n_bytes, bool across_processes, struct dlb_err *err);
void dlb_shm_free(struct dlb_shm *shm);

#endif
