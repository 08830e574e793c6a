/* What the terminal shows at the end: a table, the verdict in words, settings to paste. */
#include "core/base/escape.h"
#include "reports/findings.h"
#include "reports/gap.h"
#include "reports/report.h"
#include "reports/watch.h"

#include <stdlib.h>
#include <string.h>

#define READABLE_COLUMNS 100 /* longer lines of text are hard to read */

static void findings(const json_t *doc, uint32_t n, uint32_t n_words, struct dlb_text *out)
{
    dlb_findings_head(doc, n_words, out);
    if (dlb_gap_is(doc)) {
        dlb_gap_tables(doc, n, n_words, out);
        return;
    }
    if (json_is_object(json_object_get(doc, "storage")))
        dlb_findings_storage(doc, n, out);
    else
        dlb_findings_table(doc, n, out);
    dlb_findings_accelerators(doc, n_words, out);
    dlb_findings_words(doc, n_words, out);
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    uint32_t n = opts->n_columns, n_words = n == 0 || n > READABLE_COLUMNS ? READABLE_COLUMNS : n;
    if (dlb_watch_is(doc))
        dlb_watch_render(&doc, 1, n, n_words, out);
    else
        findings(doc, n, n_words, out);
    if (opts->folder) {
        char *folder = dlb_escaped(opts->folder, DLB_ESCAPE_NAME);
        dlb_text_printf(out, "\nResult: ");
        dlb_text_append(out, folder, strlen(folder));
        dlb_text_printf(out, "/summary.json\n");
        free(folder);
    }
}

const struct dlb_report dlb_rp_terminal = {
    .name = "terminal",
    .summary = "a table that fits the window, and the verdict in words",
    .render = render,
};
