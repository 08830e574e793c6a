#include "reports/report.h"

#include <string.h>

#define X(name) extern const struct dlb_report dlb_rp_##name;
#include "reports/reports.def"
#undef X

#define X(name) &dlb_rp_##name,
const struct dlb_report *const dlb_reports[] = {
#include "reports/reports.def"
    NULL};
#undef X

const struct dlb_report *dlb_report_by_name(const char *name)
{
    for (size_t i = 0; dlb_reports[i]; i++)
        if (strcmp(dlb_reports[i]->name, name) == 0)
            return dlb_reports[i];
    return NULL;
}

const struct dlb_report *dlb_report_by_format(const char *format)
{
    for (size_t i = 0; dlb_reports[i]; i++)
        if (dlb_reports[i]->format && strcmp(dlb_reports[i]->format, format) == 0)
            return dlb_reports[i];
    return NULL;
}
