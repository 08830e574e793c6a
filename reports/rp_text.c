/* summary.txt: what the terminal shows, at full width, with the configuration and each cell's
 * verdict. */
#include "core/base/json.h"
#include "reports/answer.h"
#include "reports/compare.h"
#include "reports/findings.h"
#include "reports/gap.h"
#include "reports/title.h"
#include "reports/watch.h"

#include <stdlib.h>

static void cells(const json_t *doc, struct dlb_text *out)
{
    const json_t *cell;
    size_t i;
    dlb_text_printf(out, "\nCells:\n");
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const char *words =
            json_string_value(json_object_get(json_object_get(cell, "verdict"), "text"));
        dlb_text_printf(out, "  cell %zu:\n", i);
        dlb_text_fold(out, words ? words : "-", 4, DLB_REPORT_TEXT_COLUMNS);
    }
}

static void config(const json_t *doc, struct dlb_text *out)
{
    const char *key;
    json_t *value;
    dlb_text_printf(out, "\nConfiguration:\n");
    json_object_foreach(json_object_get(doc, "config"), key, value) {
        char *text = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
        dlb_text_printf(out, "  ");
        dlb_text_plain(out, key, 128);
        dlb_text_printf(out, " = ");
        dlb_text_plain(out, text, 4096);
        dlb_text_printf(out, "\n");
        free(text);
    }
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    if (dlb_watch_is(doc)) {
        dlb_watch_render(&doc, 1, 0, DLB_REPORT_TEXT_COLUMNS, out);
        return;
    }
    dlb_findings_head(doc, DLB_REPORT_TEXT_COLUMNS, out);
    if (dlb_gap_is(doc)) {
        dlb_gap_tables(doc, 0, DLB_REPORT_TEXT_COLUMNS, out);
    } else {
        struct dlb_report_opts whole = {.folder = opts->folder, .verbose = true};
        dlb_findings_measured(doc, 0, DLB_REPORT_TEXT_COLUMNS, out);
        dlb_answer_caveats(doc, DLB_REPORT_TEXT_COLUMNS, out);
        dlb_answer(doc, &whole, DLB_REPORT_TEXT_COLUMNS, out);
        cells(doc, out);
    }
    if (json_object_get(doc, "compare")) {
        dlb_text_append(out, "\n", 1);
        dlb_compare_render(doc, DLB_REPORT_TEXT_COLUMNS, true, out);
    }
    config(doc, out);
}

const struct dlb_report dlb_rp_text = {
    .name = "text",
    .summary = "the same at full width, with each cell's verdict and the configuration",
    .format = "txt",
    .file = "summary.txt",
    .render = render,
};
