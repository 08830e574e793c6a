/* Running on the CPUs of a PCI device's NUMA node.
 *
 * Floor 1. Control thread, with no other thread running. */
#ifndef DLB_CORE_HOST_NEAR_H
#define DLB_CORE_HOST_NEAR_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_near {
    uint32_t node;
    cpu_set_t cpus;
};

/* Lets this thread, and what it starts, run only on the CPUs of the device's node that it may use.
 * False, and nothing has changed: whoever started the process has bound it to CPUs already; the
 * kernel does not say which node it is; the node has none of the process's CPUs, or all of them.
 * `root`: stands for "/", so that tests can have one made up; "" is the machine itself. */
bool dlb_near_bind(const char *root, const char *bus_id, struct dlb_near *out);

#endif
