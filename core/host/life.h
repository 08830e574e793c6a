/* Whether another process still does something: the CPU time of all that it is made of.
 *
 * Floor 1. Any thread. Read from /proc, of a process that this one may look into, as its child. */
#ifndef DLB_CORE_HOST_LIFE_H
#define DLB_CORE_HOST_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* *life: a number that is another one once a thread of the process, or of those that it started,
 * has run on a CPU. False: not known. */
bool dlb_life_of(pid_t pid, uint64_t *life);

#endif
