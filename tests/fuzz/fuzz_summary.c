/* Reads a summary.json from anywhere: parses and checks it; every report renders what passes. While
 * libFuzzer runs, an input's length chooses one report and one width, because a report costs more
 * than all else; where a corpus is replayed without it, each report has its turn at each width. No
 * input may crash, leak, or put a control character on the terminal. */
#include "reports/load.h"
#include "reports/report.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void render(const json_t *doc, const struct dlb_report *report, uint32_t n_columns)
{
    struct dlb_report_opts opts = {.n_columns = n_columns, .folder = n_columns ? "there" : NULL};
    struct dlb_text text = {0};
    report->render(doc, &opts, &text);
    if (!text.data || strlen(text.data) != text.len_bytes)
        DLB_BUG("a report that is empty or holds a zero byte");
    for (size_t i = 0; i < text.len_bytes; i++)
        if ((unsigned char)text.data[i] < ' ' && text.data[i] != '\n')
            DLB_BUG("a report holds a control character");
    dlb_text_free(&text);
}

/* Nobody checked a document of an earlier version before a report that takes it. */
static void render_unchecked(const char *text, size_t n_bytes)
{
    json_t *doc = dlb_summary_recognise(text, n_bytes);
    for (size_t i = 0; doc && dlb_reports[i]; i++)
        if (dlb_reports[i]->older)
            render(doc, dlb_reports[i], 0);
    json_decref(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const uint32_t widths[] = {0, 20, 80, 200};
    struct dlb_err err = {.status = DLB_OK};
    json_t *doc = NULL;
    render_unchecked((const char *)data, n_bytes);
    if (dlb_summary_parse((const char *)data, n_bytes, "fuzz.json", &doc, &err) != DLB_OK) {
        if (doc || err.status == DLB_OK || err.what[0] == '\0')
            DLB_BUG("an error without words, or with a result");
        return 0;
    }
    size_t n_widths = sizeof(widths) / sizeof(widths[0]), n_ways = 0;
    while (dlb_reports[n_ways])
        n_ways++;
    n_ways *= n_widths;
    size_t first = LLVMFuzzerMutate ? n_bytes % n_ways : 0;
    size_t end = LLVMFuzzerMutate ? first + 1 : n_ways;
    for (size_t i = first; i < end; i++)
        render(doc, dlb_reports[i / n_widths], widths[i % n_widths]);
    json_decref(doc);
    return 0;
}
