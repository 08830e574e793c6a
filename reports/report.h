/* Reports: sinks of one document in memory, the one that summary.json holds. One const table, one
 * file, one line in reports.def.
 *
 * Floor 4; includes core/base and core/measure only: what is not in the document is not in a
 * report. Control thread. A document that dlb_summary_check accepts can be rendered by every
 * report, whoever wrote it. */
#ifndef DLB_REPORTS_REPORT_H
#define DLB_REPORTS_REPORT_H

#include "core/base/err.h"
#include "reports/text.h"

#include <jansson.h>
#include <stdint.h>

struct dlb_report_opts {
    uint32_t n_columns; /* width to fit; 0: as wide as it gets */
    const char *folder; /* where the result lies, or NULL */
};

struct dlb_report {
    const char *name, *summary;
    const char *file; /* its name in the result's folder; NULL: shown, not kept */
    int (*render)(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out,
                  struct dlb_err *err);
};

extern const struct dlb_report
    *const dlb_reports[]; /* ends with NULL; in the order of reports.def */
const struct dlb_report *dlb_report_by_name(const char *name); /* or NULL */

#endif
