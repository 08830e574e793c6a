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
 * Returns false and changes nothing in three cases: the process was started with a part of the
 * CPUs; the kernel does not know the device's node; the node has none of the process's CPUs, or has
 * all of them.
 * `root`: stands for "/", so that tests can have one made up; "" is the machine itself. */
bool dlb_near_bind(const char *root, const char *bus_id, struct dlb_near *out);

#endif
