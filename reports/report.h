/* Reports: each renders the document of summary.json from memory. A report is one const table in
 * one file, and one line in reports.def.
 *
 * Floor 4; includes core/base and core/measure only: a report shows only what is in the
 * document. Control thread. A document that dlb_summary_check accepts can be rendered by every
 * report, whichever program wrote it. */
#ifndef DLB_REPORTS_REPORT_H
#define DLB_REPORTS_REPORT_H

#include "reports/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_report_opts {
    uint32_t n_columns; /* width to fit; 0: no limit */
    const char *folder; /* where the result lies, or NULL */
    bool verbose;       /* all caveats in full, before the answer */
};

struct dlb_report {
    const char *name, *summary;
    const char *format; /* what `dlbench report --format` calls it; NULL: it is the default */
    const char *file;   /* its name in the result's folder; NULL: printed, not kept */
    bool spare; /* the result is whole without that file; in reports.def behind the others */
    bool older; /* also renders documents of earlier schema versions, which nobody checked:
                   any member may be missing, or of another type */
    /* Appends to *out. `doc` has passed dlb_summary_check, or was made by this program. */
    void (*render)(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out);
    /* Several results, at least one; opts->folder is NULL. NULL: it renders one only. */
    void (*render_all)(const json_t *const *docs, uint32_t n, const struct dlb_report_opts *opts,
                       struct dlb_text *out);
};

extern const struct dlb_report
    *const dlb_reports[]; /* ends with NULL; in the order of reports.def */
const struct dlb_report *dlb_report_by_name(const char *name);     /* or NULL */
const struct dlb_report *dlb_report_by_format(const char *format); /* or NULL */

#endif
