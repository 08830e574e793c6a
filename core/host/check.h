/* Checks of the machine for `dlbench doctor`: one X line in checks.def and one function each.
 *
 * Floor 1. Control thread. A check looks and reports; it changes nothing. */
#ifndef DLB_CORE_HOST_CHECK_H
#define DLB_CORE_HOST_CHECK_H

#include <stddef.h>

enum dlb_check_state {
    DLB_CHECK_OK,
    DLB_CHECK_NOTE, /* worth knowing; measurements are valid */
    DLB_CHECK_BAD,  /* measurements will be worse, or runs will fail: the advice says what to do */
};

struct dlb_check_result {
    enum dlb_check_state state;
    char found[160];  /* "2 of 64 CPUs, by cgroup quota" */
    char advice[200]; /* what to do; empty when there is nothing to do */
};

struct dlb_check {
    const char *name, *summary;
    void (*run)(struct dlb_check_result *out); /* fills *out whole */
};

extern const struct dlb_check *const dlb_checks[]; /* ends with NULL; in the order of checks.def */

#endif
