/* Reads a summary.json from anywhere: parses and checks it; every report renders what passes, and
 * those that take a document of an earlier version render what does not, too. While libFuzzer runs,
 * an input's length chooses one report and one width, or the unchecked document, because a report
 * costs more than all else; where a corpus is replayed without it, each has its turn. No input may
 * crash, leak, or put a control character on the terminal. */
#include "reports/load.h"
#include "reports/report.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>
#include <string.h>

enum { N_WIDTHS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const uint32_t widths[N_WIDTHS] = {0, 20, 80, 200};

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

/* Ways from the first to the one before the end: a report and its width. */
static void render_checked(const char *text, size_t n_bytes, size_t first, size_t end)
{
    struct dlb_err err = {.status = DLB_OK};
    json_t *doc = NULL;
    if (dlb_summary_parse(text, n_bytes, "fuzz.json", &doc, &err) == DLB_OK) {
        for (size_t i = first; i < end; i++)
            render(doc, dlb_reports[i / N_WIDTHS], widths[i % N_WIDTHS]);
        json_decref(doc);
    } else if (doc || err.status == DLB_OK || err.what[0] == '\0') {
        DLB_BUG("an error without words, or with a result");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const char *text = (const char *)data;
    size_t n_ways = 0;
    while (dlb_reports[n_ways])
        n_ways++;
    n_ways *= N_WIDTHS;
    size_t way = n_bytes % (n_ways + 1);
    if (!LLVMFuzzerMutate || way == n_ways)
        render_unchecked(text, n_bytes);
    if (!LLVMFuzzerMutate)
        render_checked(text, n_bytes, 0, n_ways);
    else if (way < n_ways)
        render_checked(text, n_bytes, way, way + 1);
    return 0;
}
