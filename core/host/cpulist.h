/* Lists of CPUs as the kernel writes them: "0-3,8".
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_CPULIST_H
#define DLB_CORE_HOST_CPULIST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define DLB_CPULIST_TEXT 4096 /* room for every other CPU of a cpu_set_t */

/* The first range of a list: "8" is from 8 to 8. Returns where the next one begins. Returns NULL at
 * the end of the list, and for text that is not a list of CPUs. */
const char *dlb_cpulist_range(const char *list, unsigned *first, unsigned *last);

/* Returns false if the text is not a list of CPUs, or if a CPU does not fit in a cpu_set_t. Then
 * *out is empty. */
bool dlb_cpulist_parse(const char *list, cpu_set_t *out);

void dlb_cpulist_text(const cpu_set_t *set, char *out, size_t n_out);

#endif
