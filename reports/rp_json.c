/* summary.json: the document itself. */
#include "core/base/json.h"
#include "reports/report.h"

#include <stdlib.h>
#include <string.h>

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    (void)opts;
    char *text = dlb_json_dumped(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    dlb_text_append(out, text, strlen(text));
    dlb_text_append(out, "\n", 1);
    free(text);
}

static void render_all(const json_t *const *docs, uint32_t n, const struct dlb_report_opts *opts,
                       struct dlb_text *out)
{
    json_t *all = dlb_json_made(json_array());
    for (uint32_t i = 0; i < n; i++)
        dlb_json_append(all, json_incref((json_t *)docs[i]));
    render(all, opts, out);
    json_decref(all);
}

const struct dlb_report dlb_rp_json = {
    .name = "json",
    .summary = "the document that all other reports render",
    .format = "json",
    .file = "summary.json",
    .render = render,
    .render_all = render_all,
};
