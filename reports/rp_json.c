/* summary.json: the document itself. */
#include "reports/report.h"

#include <stdlib.h>
#include <string.h>

static int render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out,
                  struct dlb_err *err)
{
    (void)opts;
    char *text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    if (text) {
        dlb_text_append(out, text, strlen(text));
        dlb_text_append(out, "\n", 1);
    }
    free(text);
    if (!text || out->short_of_memory)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the summary");
    return DLB_OK;
}

const struct dlb_report dlb_rp_json = {
    .name = "json",
    .summary = "the document that all other reports render",
    .file = "summary.json",
    .render = render,
};
