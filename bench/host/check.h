/* Checks of the machine for `dlbench doctor`: one X line and one function each.
 *
 * Floor 1. Control thread. A check looks and reports; it changes nothing. */
#ifndef DLB_HOST_CHECK_H
#define DLB_HOST_CHECK_H

#include <stddef.h>

enum dlb_check_state { DLB_CHECK_OK, DLB_CHECK_NOTE, DLB_CHECK_BAD };

struct dlb_check_result {
    enum dlb_check_state state;
    char found[160];  /* "cubic: 2 of 64 cores by cgroup quota" */
    char advice[200]; /* what to do; empty when there is nothing to do */
};

struct dlb_check {
    const char *name, *summary;
    void (*run)(struct dlb_check_result *out);
};

extern const struct dlb_check *const dlb_checks[]; /* ends with NULL */

#endif
