/* Counters of what others take from this machine: other guests, other programs, limits, heat.
 *
 * Floor 1. Any thread. A counter that the kernel does not keep is DLB_NOT_MEASURED. Two readings
 * make fractions of the time between them (core/measure/disturbed.h). */
#ifndef DLB_CORE_HOST_STRAIN_H
#define DLB_CORE_HOST_STRAIN_H

#include "core/host/osacct.h"

#include <stdint.h>

struct dlb_os_strain {
    uint64_t now_ns;
    struct dlb_os_machine machine;
    uint64_t pressure_ns;  /* PSI: some task was ready to run and had no CPU */
    uint64_t throttled_ns; /* by CPU quotas of this process's cgroup and its parents */
    uint64_t n_hot;        /* thermal throttling of any core or package */
};

/* Takes some hundred microseconds on large machines. `root` is "" for the machine itself. */
void dlb_os_strain(struct dlb_os_strain *out);
void dlb_os_strain_at(const char *root, struct dlb_os_strain *out);

/* How much of a counter was added; NaN if it was not measured or went backwards. */
double dlb_os_rise(uint64_t before, uint64_t after);

#endif
