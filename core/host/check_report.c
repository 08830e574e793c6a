#include "core/host/check_report.h"

#include <stdarg.h>
#include <stdio.h>

void dlb_check_found(struct dlb_check_result *out, enum dlb_check_state state, const char *fmt, ...)
{
    va_list args;
    *out = (struct dlb_check_result){.state = state};
    va_start(args, fmt);
    (void)vsnprintf(out->found, sizeof out->found, fmt, args);
    va_end(args);
}

void dlb_check_advise(struct dlb_check_result *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out->advice, sizeof out->advice, fmt, args);
    va_end(args);
}
