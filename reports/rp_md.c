/* Markdown: the answer and the main tables, for an issue or a chat. */
#include "core/base/json.h"
#include "reports/answer.h"
#include "reports/compare.h"
#include "reports/findings.h"
#include "reports/gap.h"
#include "reports/markup.h"
#include "reports/report.h"
#include "reports/sheets/figures.h"

#include <string.h>

/* How a line would begin a heading, a list or a rule: n bytes, before a character that needs a
 * backslash. False: it begins none. */
static bool begins_block(const char *line, size_t *n)
{
    *n = strspn(line, "0123456789");
    if (*n > 0)
        return (line[*n] == '.' || line[*n] == ')') && strchr(" \n", line[*n + 1]);
    return line[0] && strchr("#+-=", line[0]);
}

/* Lines of a text, each a paragraph; spaces before a line are left out. */
static void put_lines(struct dlb_text *out, const char *before, const char *lines)
{
    for (const char *at = lines; *at; at += *at == '\n') {
        at += strspn(at, " ");
        size_t n = strcspn(at, "\n"), n_digits;
        if (n > 0) {
            dlb_text_printf(out, "%s", before);
            if (begins_block(at, &n_digits)) {
                dlb_text_append(out, at, n_digits);
                dlb_text_append(out, "\\", 1);
                at += n_digits;
                n -= n_digits;
            }
            dlb_markup_words(out, at, n, DLB_MARKUP_MARKDOWN);
            dlb_text_printf(out, before[0] ? "\n" : "\n\n");
        }
        at += n;
    }
}

static void put_said(struct dlb_text *out, const char *before, struct dlb_text *words)
{
    put_lines(out, before, words->data ? words->data : "");
    dlb_text_free(words);
}

static void put_sheet(struct dlb_text *out, const struct dlb_sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        dlb_text_printf(out, "| ");
        dlb_markup_text(out, sheet->column[i].title, DLB_MARKUP_MARKDOWN);
        dlb_text_printf(out, " ");
    }
    dlb_text_printf(out, "|\n");
    for (uint32_t i = 0; i < sheet->n_columns; i++)
        dlb_text_printf(out, sheet->column[i].unit == DLB_UNIT_TEXT ? "|---" : "|---:");
    dlb_text_printf(out, "|\n");
    for (uint32_t row = 0; row < sheet->n_rows; row++) {
        for (uint32_t i = 0; i < sheet->n_columns; i++) {
            dlb_text_printf(out, "| ");
            dlb_markup_text(out, sheet->value[(size_t)row * sheet->n_columns + i].text,
                            DLB_MARKUP_MARKDOWN);
            dlb_text_printf(out, " ");
        }
        dlb_text_printf(out, "|\n");
    }
    dlb_text_printf(out, "\n");
}

static void put_figure(struct dlb_text *out, const char *title, const struct dlb_sheet *sheet)
{
    if (sheet->n_rows == 0)
        return;
    dlb_text_printf(out, "### %s\n\n", title);
    put_sheet(out, sheet);
    put_lines(out, "", sheet->note.data ? sheet->note.data : "");
}

/* A fence is longer than any run of backticks in what it holds. */
static uint32_t fence_of(const char *text)
{
    size_t most = 2;
    for (size_t n; *text; text += n ? n : 1) {
        n = strspn(text, "`");
        most = n > most ? n : most;
    }
    return (uint32_t)most + 1;
}

static void put_fence(struct dlb_text *out, uint32_t n, const char *after)
{
    while (n-- > 0)
        dlb_text_printf(out, "`");
    dlb_text_printf(out, "%s\n", after);
}

/* dlb_findings_settings has a title, the call, and what goes with it, a line each. */
static void put_settings(struct dlb_text *out, const json_t *doc)
{
    struct dlb_text words = {0};
    dlb_findings_settings(doc, 0, &words);
    if (words.data) {
        const char *title = words.data + strspn(words.data, "\n"), *call = strchr(title, '\n');
        size_t n_call = call ? strcspn(call + 1, "\n") : 0;
        dlb_markup_words(out, title, strcspn(title, "\n"), DLB_MARKUP_MARKDOWN);
        const char *code = dlb_json_text(doc, "pytorch");
        dlb_text_printf(out, "\n\n");
        put_fence(out, fence_of(code), "python");
        dlb_markup_text(out, code, DLB_MARKUP_NONE);
        dlb_text_printf(out, "\n");
        put_fence(out, fence_of(code), "\n");
        put_lines(out, "", call ? call + 1 + n_call : "");
    }
    dlb_text_free(&words);
}

static void put_answer(struct dlb_text *out, const json_t *doc)
{
    struct dlb_text words = {0};
    char title[240];
    dlb_answer_title(doc, title, sizeof(title));
    dlb_text_printf(out, "**");
    dlb_markup_text(out, title, DLB_MARKUP_MARKDOWN);
    dlb_text_printf(out, "**\n\n");
    put_lines(out, "", dlb_json_text(json_object_get(doc, "verdict"), "text"));
    dlb_answer_demand(doc, 0, &words);
    put_said(out, "", &words);
    if (strcmp(dlb_json_text(doc, "command"), "run") != 0)
        put_lines(out, "", dlb_json_text(doc, "recommendation"));
    dlb_findings_noise(doc, &words);
    put_said(out, "", &words);
    put_settings(out, doc);
    dlb_answer_next(doc, 0, &words);
    put_said(out, "", &words);
}

static void put_figures(struct dlb_text *out, const json_t *doc)
{
    for (const struct dlb_figure *figure = dlb_figures; figure->id; figure++) {
        struct dlb_sheet sheet = {.chart = DLB_CHART_NONE};
        if (figure->brief)
            figure->fill(doc, &sheet);
        put_figure(out, figure->title, &sheet);
        dlb_sheet_free(&sheet);
    }
}

/* What two results say of each other. */
static void put_compared(struct dlb_text *out, const json_t *doc)
{
    const json_t *compare = json_object_get(doc, "compare");
    struct dlb_text words = {0};
    dlb_compare_answer(compare, &words);
    dlb_text_printf(out, "**");
    dlb_markup_text(out, words.data, DLB_MARKUP_MARKDOWN);
    dlb_text_printf(out, "**\n\n");
    dlb_text_free(&words);
    dlb_compare_sides(compare, &words);
    put_said(out, "- ", &words);
    dlb_text_printf(out, "\n");
    dlb_compare_meaning(compare, &words);
    put_said(out, "", &words);
}

static void put_comparison(struct dlb_text *out, const json_t *doc)
{
    dlb_text_printf(out, "## ");
    dlb_compare_title(doc, out, DLB_MARKUP_MARKDOWN);
    dlb_text_printf(out, " (dlbench compare)\n\n");
    put_compared(out, doc);
    put_figures(out, doc);
}

static void put_notes(struct dlb_text *out, const json_t *doc, const char *key, const char *title)
{
    const json_t *note;
    size_t i;
    if (json_array_size(json_object_get(doc, key)) == 0)
        return;
    dlb_text_printf(out, "### %s\n\n", title);
    json_array_foreach(json_object_get(doc, key), i, note)
        put_lines(out, "- ", dlb_text_shown(note, "text"));
    dlb_text_printf(out, "\n");
}

/* Documents that have no figures are shown as the text report has them, indented: nothing in them
 * can end that block. */
static void put_text(struct dlb_text *out, const json_t *doc)
{
    struct dlb_report_opts whole = {.verbose = true};
    struct dlb_text words = {0};
    dlb_report_by_name("text")->render(doc, &whole, &words);
    for (const char *at = words.data; *at; at += *at == '\n') {
        size_t n = strcspn(at, "\n");
        dlb_text_printf(out, "    ");
        dlb_markup_words(out, at, n, DLB_MARKUP_NONE);
        dlb_text_printf(out, "\n");
        at += n;
    }
    dlb_text_printf(out, "\n");
    dlb_text_free(&words);
}

/* `number`: of several results, from 1; 0: it is the only one. */
static void put_result(struct dlb_text *out, const json_t *doc, uint32_t number)
{
    struct dlb_text words = {0};
    dlb_text_printf(out, "## ");
    if (number > 0)
        dlb_text_printf(out, "%u: ", number);
    dlb_markup_text(out, dlb_text_shown(doc, "run_name"), DLB_MARKUP_MARKDOWN);
    dlb_text_printf(out, " (dlbench ");
    dlb_markup_text(out, dlb_text_shown(doc, "command"), DLB_MARKUP_MARKDOWN);
    dlb_text_printf(out, "%s)\n\n", dlb_json_is_true(doc, "partial") ? ", PARTIAL" : "");
    if (json_object_get(doc, "compare")) {
        put_compared(out, doc);
    } else if (dlb_gap_is(doc)) {
        put_lines(out, "", dlb_json_text(json_object_get(doc, "gap"), "text"));
    } else if (json_array_size(json_object_get(doc, "cells")) > 0) {
        put_answer(out, doc);
    } else {
        put_text(out, doc);
        return;
    }
    dlb_findings_head(doc, 0, &words);
    put_said(out, "- ", &words);
    dlb_text_printf(out, "\n");
    put_figures(out, doc);
    put_notes(out, doc, "notes", "Notes");
    put_notes(out, doc, "not_modelled", "Not modelled");
}

static void render_all(const json_t *const *docs, uint32_t n, const struct dlb_report_opts *opts,
                       struct dlb_text *out)
{
    (void)opts;
    if (n > 1) {
        struct dlb_sheet sheet = {.chart = DLB_CHART_NONE};
        dlb_sheet_beside(docs, n, &sheet);
        put_figure(out, "Beside each other", &sheet);
        dlb_sheet_free(&sheet);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (dlb_compare_is(docs[i]))
            put_comparison(out, docs[i]);
        else
            put_result(out, docs[i], n > 1 ? i + 1 : 0);
    }
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    render_all(&doc, 1, opts, out);
}

const struct dlb_report dlb_rp_md = {
    .name = "md",
    .summary = "Markdown: the answer and the main tables",
    .format = "md",
    .render = render,
    .render_all = render_all,
};
