/* CSV: a row for each repetition, for data frames and spreadsheets. RFC 4180 with lines that end in
 * "\n"; an empty field was not measured. */
#include "core/base/json.h"
#include "reports/markup.h"
#include "reports/report.h"
#include "reports/rows.h"

#include <stdlib.h>
#include <string.h>

/* Control and direction characters are shown by their codes. A spreadsheet takes a text that begins
 * as a formula does for one, so an apostrophe goes before it. Where fields end with ";", as in many
 * countries, a text with one is quoted, or what is behind it would begin a field. */
static void put_text(struct dlb_text *out, const char *words)
{
    struct dlb_text plain = {0};
    dlb_markup_text(&plain, words, DLB_MARKUP_NONE);
    const char *text = plain.data ? plain.data : "";
    bool formula = text[0] && strchr("=+-@", text[0]);
    bool quoted = strpbrk(text, ",;\"") || text[0] == ' ';
    dlb_text_printf(out, "%s%s", quoted ? "\"" : "", formula ? "'" : "");
    for (const char *at = text; *at; at++) {
        if (*at == '"')
            dlb_text_append(out, "\"", 1);
        dlb_text_append(out, at, 1);
    }
    dlb_text_printf(out, "%s", quoted ? "\"" : "");
    dlb_text_free(&plain);
}

static void put_value(struct dlb_text *out, const json_t *value)
{
    if (!value || json_is_null(value))
        return;
    if (json_is_string(value)) {
        put_text(out, json_string_value(value));
        return;
    }
    char *text = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    if (json_is_number(value) || json_is_boolean(value))
        dlb_text_append(out, text, strlen(text));
    else
        put_text(out, text);
    free(text);
}

struct lines {
    json_t *columns; /* the keys of all rows, each at its first place */
    struct dlb_text *out;
};

static void add_columns(const json_t *row, void *ctx)
{
    const struct lines *lines = ctx;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)row, key, value)
        if (!json_object_get(lines->columns, key))
            dlb_json_put(lines->columns, key, json_true());
}

/* NULL: the titles. */
static void put_row(const json_t *row, void *ctx)
{
    const struct lines *lines = ctx;
    const char *key, *before = "";
    json_t *ignored;
    json_object_foreach(lines->columns, key, ignored) {
        (void)ignored;
        dlb_text_append(lines->out, before, strlen(before));
        if (row)
            put_value(lines->out, json_object_get(row, key));
        else
            put_text(lines->out, key);
        before = ",";
    }
    dlb_text_append(lines->out, "\n", 1);
}

/* Rows are made twice, and never held all at once. */
static void render_all(const json_t *const *docs, uint32_t n, const struct dlb_report_opts *opts,
                       struct dlb_text *out)
{
    struct lines lines = {dlb_json_made(json_object()), out};
    (void)opts;
    for (uint32_t k = 0; k < n; k++)
        dlb_rows_each(docs[k], add_columns, &lines);
    put_row(NULL, &lines);
    for (uint32_t k = 0; k < n; k++)
        dlb_rows_each(docs[k], put_row, &lines);
    json_decref(lines.columns);
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    render_all(&doc, 1, opts, out);
}

const struct dlb_report dlb_rp_csv = {
    .name = "csv",
    .summary = "a row for each repetition, as in python/dlbench.py",
    .format = "csv",
    .older = true,
    .render = render,
    .render_all = render_all,
};
