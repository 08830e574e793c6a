/* report.html: a result, or several beside each other, as one file that needs no network. The words
 * and tables are here for readers without JavaScript; page.js draws charts from the tables. */
#include "core/base/embedded.h"
#include "core/base/json.h"
#include "reports/answer.h"
#include "reports/compare.h"
#include "reports/findings.h"
#include "reports/gap.h"
#include "reports/html/compared.h"
#include "reports/html/elements.h"
#include "reports/html/lanes.h"
#include "reports/html/packed.h"
#include "reports/markup.h"
#include "reports/report.h"
#include "reports/supply.h"
#include "reports/watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct dlb_embedded dlb_html_files[]; /* page.html, page.css, page.js, and Chart.js if
                                                      the build had it */
#define PACKED_BYTES 500000                        /* from here on a document is packed */

enum { PAGE, STYLE, SCRIPT, CHARTS };

struct page {
    const json_t *const *docs;
    uint32_t n;
};

static void tile(struct dlb_text *out, const char *title, double rate)
{
    char text[64];
    if (isfinite(rate))
        dlb_text_printf(
            out, "<div><dt>%s</dt><dd data-v=\"%.10g\">%s <small>samples/s</small></dd></div>\n",
            title, rate, dlb_unit_text(DLB_UNIT_COUNT, rate, text, sizeof(text)));
}

/* Of a storage: how many accelerators, and the interval. */
static void fed_tile(const json_t *doc, struct dlb_text *out)
{
    const json_t *storage = json_object_get(doc, "storage");
    double n = dlb_json_number(storage, "max_accelerators"), low = dlb_json_number(storage, "low"),
           high = dlb_json_number(storage, "high");
    size_t n_ranks = json_array_size(json_object_get(doc, "ranks"));
    char ranks[40] = "";
    if (!isfinite(n))
        return;
    if (n_ranks > 1)
        (void)snprintf(ranks, sizeof(ranks), " on each of %zu ranks", n_ranks);
    dlb_text_printf(out, "<div><dt>This storage feeds%s</dt><dd data-v=\"%.10g\">%.10g ",
                    dlb_json_is_true(storage, "capped") ? " at least" : "", n, n);
    if (isfinite(low) && isfinite(high))
        dlb_text_printf(out, "<small>accelerators%s (%.10g to %.10g)</small></dd></div>\n", ranks,
                        low, high);
    else
        dlb_text_printf(out, "<small>accelerators%s</small></dd></div>\n", ranks);
}

static void demand(const json_t *doc, struct dlb_text *out)
{
    struct dlb_supply supply = dlb_supply_of(doc);
    struct dlb_text words = {0};
    bool emulated =
        strncmp(dlb_json_text(json_object_get(doc, "device"), "name"), "emulated", 8) == 0;
    bool pytorch = isfinite(supply.hardware);
    dlb_text_printf(out, "<dl class=\"tiles\">\n");
    fed_tile(doc, out);
    if (json_is_object(json_object_get(doc, "storage"))) /* its cells differ in the work */
        supply = (struct dlb_supply){(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    tile(out, emulated ? "The emulated accelerator asks for" : "The GPU asks for", supply.needs);
    tile(out, pytorch ? "Your pipeline gives" : "The loader gives", supply.gives);
    tile(out, "This hardware could", supply.hardware);
    tile(out, "With data always ready", supply.ready);
    dlb_text_printf(out, "</dl>\n");
    dlb_answer_demand(doc, 0, &words);
    dlb_html_lines(out, "p", words.data ? words.data : "");
    dlb_text_free(&words);
}

/* dlb_findings_settings has a title, the call, and what goes with it, a line each. */
static void settings(const json_t *doc, uint32_t result, struct dlb_text *out)
{
    struct dlb_text words = {0};
    dlb_findings_settings(doc, 0, &words);
    if (words.data) {
        const char *title = words.data + strspn(words.data, "\n"), *call = strchr(title, '\n');
        size_t n_call = call ? strcspn(call + 1, "\n") : 0;
        dlb_text_printf(out, "<div class=\"settings\"><h3>");
        dlb_markup_words(out, title, strcspn(title, "\n"), DLB_MARKUP_HTML);
        dlb_text_printf(out,
                        " <button type=\"button\" data-of=\"r%u-call\" hidden>copy</button></h3>\n"
                        "<pre id=\"r%u-call\">",
                        result, result);
        dlb_markup_text(out, dlb_json_text(doc, "pytorch"), DLB_MARKUP_HTML);
        dlb_text_printf(out, "</pre>\n");
        dlb_html_lines(out, "p", call ? call + 1 + n_call : "");
        dlb_text_printf(out, "</div>\n");
    }
    dlb_text_free(&words);
}

static void notes(const json_t *doc, const char *key, const char *title, struct dlb_text *out)
{
    const json_t *note;
    size_t i;
    if (json_array_size(json_object_get(doc, key)) == 0)
        return;
    dlb_text_printf(out, "<details class=\"notes\"><summary>%s: %zu</summary>\n<ul>\n", title,
                    json_array_size(json_object_get(doc, key)));
    json_array_foreach(json_object_get(doc, key), i, note)
        dlb_html_element(out, "li", "", dlb_text_shown(note, "text"));
    dlb_text_printf(out, "</ul>\n</details>\n");
}

/* What a part of the text reports says, as paragraphs. */
static void said(void (*say)(const json_t *doc, struct dlb_text *out), const json_t *doc,
                 struct dlb_text *out)
{
    struct dlb_text words = {0};
    say(doc, &words);
    dlb_html_lines(out, "p", words.data ? words.data : "");
    dlb_text_free(&words);
}

static void verdict(const json_t *doc, struct dlb_text *out)
{
    const json_t *v = json_object_get(doc, "verdict");
    const char *severity = dlb_json_text(v, "severity");
    char title[240];
    dlb_answer_title(doc, title, sizeof(title));
    dlb_text_printf(out, "<div class=\"verdict %s\">",
                    strcmp(severity, "critical") == 0 ? "critical"
                    : strcmp(severity, "warn") == 0   ? "warn"
                                                      : "ok");
    dlb_html_element(out, "strong", "", title);
    dlb_html_element(out, "p", "", dlb_json_text(v, "text"));
    dlb_text_printf(out, "</div>\n");
}

/* The first screen. */
static void answer(const json_t *doc, uint32_t result, struct dlb_text *out)
{
    struct dlb_text next = {0};
    verdict(doc, out);
    demand(doc, out);
    if (strcmp(dlb_json_text(doc, "command"), "run") != 0)
        dlb_html_element(out, "p", "", dlb_json_text(doc, "recommendation"));
    settings(doc, result, out);
    said(dlb_findings_noise, doc, out);
    dlb_answer_next(doc, 0, &next);
    dlb_html_lines(out, "p", next.data ? next.data : "");
    dlb_text_free(&next);
}

static void gap_answer(const json_t *doc, struct dlb_text *out)
{
    const char *text = dlb_json_text(json_object_get(doc, "gap"), "text");
    size_t n = strcspn(text, "\n");
    dlb_text_printf(out, "<div class=\"verdict\">\n<strong>");
    dlb_markup_words(out, text, n, DLB_MARKUP_HTML);
    dlb_text_printf(out, "</strong>\n");
    dlb_html_lines(out, "p", text + n);
    dlb_text_printf(out, "</div>\n");
    said(dlb_findings_noise, doc, out);
}

/* Of results that were measured in turns. */
static void compare_answer(const json_t *doc, struct dlb_text *out)
{
    dlb_html_compared(out, doc);
    said(dlb_findings_noise, doc, out);
}

/* Letters from right to left turn nothing around them. */
static void put_known(struct dlb_text *out, const char *before, const char *words)
{
    if (!words[0])
        return;
    dlb_text_printf(out, "%s<bdi>", before);
    dlb_markup_text(out, words, DLB_MARKUP_HTML);
    dlb_text_printf(out, "</bdi>");
}

static void title(const json_t *doc, uint32_t i, uint32_t number, struct dlb_text *out)
{
    const json_t *environment = json_object_get(doc, "environment");
    const char *partial = dlb_json_is_true(doc, "interrupted") ? "PARTIAL: interrupted"
                          : dlb_json_is_true(doc, "partial") ? "PARTIAL: something failed, or the "
                                                               "run has not ended"
                                                             : "";
    if (number > 0)
        dlb_text_printf(out, "<h2>%u: ", number);
    else
        dlb_text_printf(out, "<h1>");
    put_known(out, "", dlb_text_shown(doc, "run_name"));
    dlb_text_printf(out, number > 0 ? "</h2>\n" : "</h1>\n");
    dlb_text_printf(out, "<p class=\"soft\">dlbench ");
    dlb_markup_text(out, dlb_text_shown(doc, "command"), DLB_MARKUP_HTML);
    put_known(out, ", on ", dlb_json_text(environment, "host"));
    put_known(out, ", ", dlb_json_text(environment, "timestamp"));
    dlb_text_printf(out,
                    " <button type=\"button\" data-save=\"r%u-document\" hidden>save "
                    "summary.json</button></p>\n",
                    i);
    dlb_html_element(out, "p", " class=\"partial\"", partial);
}

/* What was run, on which data and device: the first line of the text is the title. */
static void facts(const json_t *doc, struct dlb_text *out)
{
    struct dlb_text words = {0};
    dlb_findings_head(doc, 0, &words);
    const char *line = words.data ? strchr(words.data, '\n') : NULL;
    dlb_html_facts(out, line ? line + 1 : "");
    dlb_text_free(&words);
}

/* All that the text report has: for documents that have more than the figures show. */
static void as_text(const json_t *doc, bool open, struct dlb_text *out)
{
    struct dlb_text words = {0};
    struct dlb_report_opts whole = {.verbose = true};
    dlb_report_by_name("text")->render(doc, &whole, &words);
    dlb_text_printf(out, "<details%s><summary>As text</summary><div class=\"scroll\"><pre>",
                    open ? " open" : "");
    for (const char *at = words.data; *at; at += *at == '\n') {
        size_t n = strcspn(at, "\n");
        dlb_markup_words(out, at, n, DLB_MARKUP_HTML);
        dlb_text_printf(out, "\n");
        at += n;
    }
    dlb_text_printf(out, "</pre></div></details>\n");
    dlb_text_free(&words);
}

static void figures(const json_t *doc, uint32_t result, struct dlb_text *out)
{
    struct dlb_html_place place = {result, json_array_size(json_object_get(doc, "cells"))};
    dlb_text_printf(out, "<div class=\"figures\">\n");
    dlb_html_lanes(out, doc, result);
    for (const struct dlb_figure *figure = dlb_figures; figure->id; figure++) {
        struct dlb_sheet sheet = {.chart = DLB_CHART_NONE};
        figure->fill(doc, &sheet);
        dlb_html_figure(out, figure, &sheet, place);
        dlb_sheet_free(&sheet);
    }
    dlb_text_printf(out, "</div>\n");
}

/* `number`: its name among several; 0: it is the only one. */
static void result(const struct page *page, uint32_t i, uint32_t number, struct dlb_text *out)
{
    const json_t *doc = page->docs[i];
    bool measured = json_array_size(json_object_get(doc, "cells")) > 0;
    dlb_text_printf(out, "<section id=\"r%u\">\n", i);
    title(doc, i, number, out);
    if (json_object_get(doc, "compare"))
        compare_answer(doc, out);
    else if (dlb_gap_is(doc))
        gap_answer(doc, out);
    else if (!dlb_watch_is(doc))
        answer(doc, i, out);
    if (!dlb_watch_is(doc))
        facts(doc, out);
    notes(doc, "notes", "Notes", out);
    notes(doc, "not_modelled", "Not modelled", out);
    if (!measured)
        as_text(doc, dlb_watch_is(doc) || !dlb_gap_is(doc), out);
    figures(doc, i, out);
    dlb_text_printf(out, "</section>\n");
}

/* Of `dlbench compare A B`: what A and B say of each other, which is no result itself. */
static void comparison(const json_t *doc, struct dlb_text *out)
{
    dlb_text_printf(out, "<section id=\"r0\">\n<h1>");
    dlb_compare_title(doc, out, DLB_MARKUP_HTML);
    dlb_text_printf(out, "</h1>\n<p class=\"soft\">dlbench compare "
                         "<button type=\"button\" data-save=\"r0-document\" "
                         "data-as=\"comparison.json\" hidden>save comparison.json</button></p>\n");
    dlb_html_compared(out, doc);
    figures(doc, 0, out);
    dlb_text_printf(out, "</section>\n");
}

static void beside_each_other(const struct page *page, uint32_t first, struct dlb_text *out)
{
    static const struct dlb_figure beside = {
        .id = "beside",
        .title = "Beside each other",
        .text = "What each result offers, with its interval.",
    };
    struct dlb_sheet sheet = {.chart = DLB_CHART_NONE};
    dlb_text_printf(out, first ? "<h2>%u results</h2>\n" : "<h1>%u results of dlbench</h1>\n",
                    page->n - first);
    dlb_text_printf(out, "<div class=\"figures\">\n");
    dlb_sheet_beside(page->docs + first, page->n - first, &sheet);
    dlb_html_figure(out, &beside, &sheet, (struct dlb_html_place){page->n, 0});
    dlb_sheet_free(&sheet);
    dlb_text_printf(out, "</div>\n");
}

static void put_body(const struct page *page, struct dlb_text *out)
{
    uint32_t first = dlb_compare_is(page->docs[0]);
    if (first)
        comparison(page->docs[0], out);
    if (page->n - first > 1)
        beside_each_other(page, first, out);
    for (uint32_t i = first; i < page->n; i++)
        result(page, i, page->n > 1 ? i + 1 - first : 0, out);
    dlb_text_printf(out, "<p class=\"soft\">%s\"-\" means not measured.</p>\n",
                    dlb_html_files[CHARTS].name
                        ? ""
                        : "This dlbench was built without Chart.js, so the page has no charts. ");
}

static void put_title(const struct page *page, struct dlb_text *out)
{
    bool comparison = dlb_compare_is(page->docs[0]);
    if (comparison)
        dlb_compare_title(page->docs[0], out, DLB_MARKUP_HTML);
    else
        dlb_markup_text(out, dlb_text_shown(page->docs[0], "run_name"), DLB_MARKUP_HTML);
    if (page->n > 1 && !comparison)
        dlb_text_printf(out, " and %u more", page->n - 1);
    dlb_text_printf(out, " - dlbench");
}

static void put_documents(const struct page *page, struct dlb_text *out)
{
    for (uint32_t i = 0; i < page->n; i++) {
        struct dlb_text json = {0};
        dlb_markup_json(&json, page->docs[i]);
        bool packed = json.len_bytes > PACKED_BYTES && dlb_html_can_pack();
        dlb_text_printf(out, "<script type=\"application/%s\" id=\"r%u-document\">",
                        packed ? "gzip+base64" : "json", i);
        if (packed)
            dlb_html_pack(out, &json);
        else
            dlb_text_append(out, json.data, json.len_bytes);
        dlb_text_printf(out, "</script>\n");
        dlb_text_free(&json);
    }
}

static void put_file(int which, struct dlb_text *out)
{
    const struct dlb_embedded *file = &dlb_html_files[which];
    if (file->name)
        dlb_text_append(out, file->bytes, file->n_bytes);
}

/* What stands for a name in the template. */
static void put_named(const struct page *page, const char *name, size_t n_name,
                      struct dlb_text *out)
{
    if (strncmp(name, "title", n_name) == 0)
        put_title(page, out);
    else if (strncmp(name, "style", n_name) == 0)
        put_file(STYLE, out);
    else if (strncmp(name, "body", n_name) == 0)
        put_body(page, out);
    else if (strncmp(name, "documents", n_name) == 0)
        put_documents(page, out);
    else if (strncmp(name, "library", n_name) == 0)
        put_file(CHARTS, out);
    else if (strncmp(name, "script", n_name) == 0)
        put_file(SCRIPT, out);
    else
        DLB_BUG("page.html names a part that nobody fills");
}

static void render_all(const json_t *const *docs, uint32_t n, const struct dlb_report_opts *opts,
                       struct dlb_text *out)
{
    const struct page page = {docs, n};
    (void)opts;
    const char *at = dlb_html_files[PAGE].bytes, *end = at + dlb_html_files[PAGE].n_bytes;
    while (at < end) {
        const char *open = memmem(at, (size_t)(end - at), "{{", 2);
        const char *close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;
        dlb_text_append(out, at, (size_t)((close ? open : end) - at));
        if (!close)
            break;
        put_named(&page, open + 2, (size_t)(close - open - 2), out);
        at = close + 2;
    }
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    render_all(&doc, 1, opts, out);
}

const struct dlb_report dlb_rp_html = {
    .name = "html",
#ifdef DLB_HAVE_CHARTS
    .summary = "a page with charts, in one file",
#else
    .summary = "a page in one file; built without Chart.js (libjs-chart.js), so without charts",
#endif
    .format = "html",
    .file = "report.html",
    .spare = true,
    .render = render,
    .render_all = render_all,
};
