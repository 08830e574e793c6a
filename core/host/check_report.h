/* Functions that the checks share.
 *
 * Floor 1, private to core/host. Control thread. */
#ifndef DLB_CORE_HOST_CHECK_REPORT_H
#define DLB_CORE_HOST_CHECK_REPORT_H

#include "core/host/check.h"

#define X(name, summary) void dlb_check_##name(struct dlb_check_result *out);
#include "core/host/checks.def"
#undef X

/* Sets state and `found`, and clears `advice`. */
void dlb_check_found(struct dlb_check_result *out, enum dlb_check_state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void dlb_check_advise(struct dlb_check_result *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
