/* What the checks share.
 *
 * Floor 1, private to bench/host. Control thread. */
#ifndef DLB_HOST_CHECK_REPORT_H
#define DLB_HOST_CHECK_REPORT_H

#include "bench/host/check.h"

#define X(name, summary) void dlb_check_##name(struct dlb_check_result *out);
#include "bench/host/checks.def"
#undef X

/* Sets state and `found`, and clears `advice`. */
void dlb_check_found(struct dlb_check_result *out, enum dlb_check_state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void dlb_check_advise(struct dlb_check_result *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
