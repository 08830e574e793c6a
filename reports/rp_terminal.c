/* What the terminal shows at the end: tables, then the answer, which fits a screen. */
#include "reports/answer.h"
#include "reports/compare.h"
#include "reports/findings.h"
#include "reports/gap.h"
#include "reports/watch.h"

#define READABLE_COLUMNS 100 /* longer lines of text are hard to read */

static void findings(const json_t *doc, const struct dlb_report_opts *opts, uint32_t n_words,
                     struct dlb_text *out)
{
    dlb_findings_head(doc, n_words, out);
    if (dlb_gap_is(doc)) {
        dlb_gap_tables(doc, opts->n_columns, n_words, out);
        dlb_answer_place(opts, out);
        return;
    }
    dlb_findings_measured(doc, opts->n_columns, n_words, out);
    if (opts->verbose)
        dlb_answer_caveats(doc, n_words, out);
    dlb_answer(doc, opts, n_words, out);
    if (json_object_get(doc, "compare")) {
        dlb_text_append(out, "\n", 1);
        dlb_compare_render(doc, opts->n_columns, opts->verbose, out);
    }
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    uint32_t n = opts->n_columns, n_words = n == 0 || n > READABLE_COLUMNS ? READABLE_COLUMNS : n;
    if (dlb_watch_is(doc)) {
        dlb_watch_render(&doc, 1, n, n_words, out);
        dlb_answer_place(opts, out);
    } else {
        findings(doc, opts, n_words, out);
    }
}

const struct dlb_report dlb_rp_terminal = {
    .name = "terminal",
    .summary = "a table that fits the window, and the answer below it",
    .render = render,
};
