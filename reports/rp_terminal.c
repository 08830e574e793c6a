/* What the user sees at the end: one table, the verdict in words, what to paste. */
#include "reports/findings.h"
#include "reports/report.h"

static int render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out,
                  struct dlb_err *err)
{
    dlb_findings_head(doc, opts->n_columns, out);
    dlb_findings_table(doc, opts->n_columns, out);
    dlb_findings_words(doc, opts->n_columns, out);
    if (opts->folder) {
        dlb_text_printf(out, "\nResult: ");
        dlb_text_plain(out, opts->folder, 4096);
        dlb_text_printf(out, "/summary.json\n");
    }
    if (out->short_of_memory)
        return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the report");
    return DLB_OK;
}

const struct dlb_report dlb_rp_terminal = {
    .name = "terminal",
    .summary = "a table that fits the window, and the verdict in words",
    .render = render,
};
