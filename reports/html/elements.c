#include "reports/html/elements.h"

#include "reports/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONG_BYTES 40   /* a text that is folded in its column */
#define HEAT_CLASSES 20 /* of page.css, from 0 on: the page's policy forbids style attributes */

static const char *const chart_names[] = {
    [DLB_CHART_LINES] = "lines",   [DLB_CHART_BARS] = "bars",
    [DLB_CHART_STACK] = "stack",   [DLB_CHART_GROUPS] = "groups",
    [DLB_CHART_RANGES] = "ranges", [DLB_CHART_WATERFALL] = "waterfall",
};
static const char *const role_names[] = {
    [DLB_ROLE_NONE] = "",     [DLB_ROLE_LABEL] = "label", [DLB_ROLE_SERIES] = "series",
    [DLB_ROLE_X] = "x",       [DLB_ROLE_Y] = "y",         [DLB_ROLE_LOW] = "low",
    [DLB_ROLE_HIGH] = "high", [DLB_ROLE_PART] = "part",
};
static const char *const unit_names[] = {
    [DLB_UNIT_TEXT] = "",       [DLB_UNIT_COUNT] = "count", [DLB_UNIT_FRAC] = "frac",
    [DLB_UNIT_NS] = "ns",       [DLB_UNIT_S] = "s",         [DLB_UNIT_MS] = "ms",
    [DLB_UNIT_RATIO] = "ratio", [DLB_UNIT_BYTES] = "bytes", [DLB_UNIT_BYTES_PER_S] = "bytes_per_s",
};

static void words_of(struct dlb_text *out, const char *words)
{
    dlb_markup_text(out, words, DLB_MARKUP_HTML);
}

void dlb_html_element(struct dlb_text *out, const char *tag, const char *attributes,
                      const char *words)
{
    if (!words[0])
        return;
    dlb_text_printf(out, "<%s%s>", tag, attributes);
    words_of(out, words);
    dlb_text_printf(out, "</%s>\n", tag);
}

void dlb_html_lines(struct dlb_text *out, const char *tag, const char *lines)
{
    for (const char *at = lines; *at; at += *at == '\n') {
        at += strspn(at, " ");
        size_t n = strcspn(at, "\n");
        if (n > 0) {
            dlb_text_printf(out, "<%s>", tag);
            dlb_markup_words(out, at, n, DLB_MARKUP_HTML);
            dlb_text_printf(out, "</%s>\n", tag);
        }
        at += n;
    }
}

void dlb_html_facts(struct dlb_text *out, const char *lines)
{
    dlb_text_printf(out, "<dl class=\"facts\">\n");
    for (const char *at = lines; *at; at += *at == '\n') {
        size_t n = strcspn(at, "\n"), n_name = strcspn(at, ":\n");
        n_name = n_name < n ? n_name : 0; /* a line without a name */
        const char *words = at + n_name + (n_name > 0);
        while (*words == ' ')
            words++;
        if (n > 0 && words <= at + n) {
            dlb_text_printf(out, "<dt>");
            dlb_markup_words(out, at, n_name, DLB_MARKUP_HTML);
            dlb_text_printf(out, "</dt><dd>");
            dlb_markup_words(out, words, (size_t)(at + n - words), DLB_MARKUP_HTML);
            dlb_text_printf(out, "</dd>\n");
        }
        at += n;
    }
    dlb_text_printf(out, "</dl>\n");
}

static void head(struct dlb_text *out, const struct dlb_sheet *sheet)
{
    dlb_text_printf(out, "<thead><tr>");
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        const struct dlb_sheet_column *column = &sheet->column[i];
        dlb_text_printf(out, "<th scope=\"col\"%s", column->unit ? "" : " class=\"text\"");
        if (column->role)
            dlb_text_printf(out, " data-role=\"%s\"", role_names[column->role]);
        if (column->unit)
            dlb_text_printf(out, " data-unit=\"%s\"", unit_names[column->unit]);
        dlb_text_printf(out, ">");
        words_of(out, column->title);
        dlb_text_printf(out, "</th>");
    }
    dlb_text_printf(out, "</tr></thead>\n");
}

/* Opens a link to the cell's row in the table of cells, if it has one. */
static bool open_link(struct dlb_text *out, int64_t cell, struct dlb_html_place place)
{
    bool there = cell >= 0 && cell < (int64_t)place.n_cells;
    if (there)
        dlb_text_printf(out, "<a href=\"#r%u-c%lld\">", place.result, (long long)cell);
    return there;
}

static void value(struct dlb_text *out, const struct dlb_sheet *sheet, uint32_t row,
                  uint32_t column, int64_t cell, struct dlb_html_place place)
{
    const struct dlb_sheet_value *v = &sheet->value[(size_t)row * sheet->n_columns + column];
    bool heat = sheet->chart == DLB_CHART_HEAT && sheet->column[column].role == DLB_ROLE_PART;
    dlb_text_printf(out, "<td");
    if (sheet->column[column].unit == DLB_UNIT_TEXT)
        dlb_text_printf(out, " class=\"text%s\"", strlen(v->text) > LONG_BYTES ? " long" : "");
    if (isfinite(v->number))
        dlb_text_printf(out, " data-v=\"%.10g\"", v->number);
    if (heat && isfinite(v->number))
        dlb_text_printf(out, " class=\"heat h%.0f\"", fmin(fmax(v->number, 0), 1) * HEAT_CLASSES);
    dlb_text_printf(out, ">");
    bool linked = open_link(out, cell, place);
    words_of(out, v->text);
    dlb_text_printf(out, "%s</td>", linked ? "</a>" : "");
}

/* The first column of a row that is about a cell leads to the table of cells, whose rows are the
 * targets, and so does a value that is of another cell than its neighbours. */
static void rows(struct dlb_text *out, const struct dlb_sheet *sheet, bool targets,
                 struct dlb_html_place place)
{
    dlb_text_printf(out, "<tbody>\n");
    for (uint32_t row = 0; row < sheet->n_rows; row++) {
        long long cell = (long long)sheet->cell[row];
        if (cell >= 0 && targets)
            dlb_text_printf(out, "<tr id=\"r%u-c%lld\">", place.result, cell);
        else
            dlb_text_printf(out, "<tr>");
        for (uint32_t i = 0; i < sheet->n_columns; i++) {
            int64_t own = sheet->value[(size_t)row * sheet->n_columns + i].cell;
            value(out, sheet, row, i, targets ? DLB_SHEET_NO_CELL : i == 0 ? cell : own, place);
        }
        dlb_text_printf(out, "</tr>\n");
    }
    dlb_text_printf(out, "</tbody>\n");
}

static enum dlb_unit unit_of(const struct dlb_sheet *sheet, enum dlb_role role)
{
    for (uint32_t i = 0; i < sheet->n_columns; i++)
        if (sheet->column[i].role == role)
            return sheet->column[i].unit;
    return DLB_UNIT_COUNT;
}

static void marks(struct dlb_text *out, const struct dlb_sheet *sheet)
{
    char text[64];
    if (sheet->n_marks == 0)
        return;
    dlb_text_printf(out, "<ul class=\"soft\">\n");
    for (uint32_t i = 0; i < sheet->n_marks; i++) {
        const struct dlb_sheet_mark *mark = &sheet->mark[i];
        dlb_text_printf(out, "<li class=\"mark\" data-at=\"%.10g\" data-across=\"%d\" data-name=\"",
                        mark->at, mark->across);
        words_of(out, mark->text);
        dlb_text_printf(out, "\">");
        words_of(out, mark->text);
        dlb_text_printf(out, ": %s</li>\n",
                        dlb_unit_text(unit_of(sheet, mark->across ? DLB_ROLE_X : DLB_ROLE_Y),
                                      mark->at, text, sizeof(text)));
    }
    dlb_text_printf(out, "</ul>\n");
}

static void table(struct dlb_text *out, const struct dlb_figure *figure,
                  const struct dlb_sheet *sheet, struct dlb_html_place place)
{
    dlb_text_printf(
        out, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table>\n",
        figure->title);
    head(out, sheet);
    rows(out, sheet, strcmp(figure->id, "cells") == 0, place);
    dlb_text_printf(out, "</table></div>\n");
}

/* Whether there is anything to draw: without a figure a chart would show an axis of its own
 * invention. */
static bool has_figures(const struct dlb_sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->n_values; i++) {
        enum dlb_role role = sheet->column[i % sheet->n_columns].role;
        if ((role == DLB_ROLE_Y || role == DLB_ROLE_PART) && isfinite(sheet->value[i].number))
            return true;
    }
    return false;
}

void dlb_html_figure(struct dlb_text *out, const struct dlb_figure *figure,
                     const struct dlb_sheet *sheet, struct dlb_html_place place)
{
    bool drawn = sheet->chart != DLB_CHART_HEAT && has_figures(sheet);
    const char *chart = chart_names[drawn ? sheet->chart : DLB_CHART_NONE];
    if (sheet->n_rows == 0)
        return;
    dlb_text_printf(out, "<figure id=\"r%u-%s\"%s", place.result, figure->id,
                    !chart || sheet->chart == DLB_CHART_LINES ? " class=\"wide\"" : "");
    if (chart)
        dlb_text_printf(out, " data-chart=\"%s\" data-log=\"%d\" data-axis=\"%s\"", chart,
                        sheet->log, sheet->axis ? sheet->axis : "");
    dlb_text_printf(out, ">\n<h3>%s</h3>\n<p class=\"soft\">%s ", figure->title, figure->text);
    words_of(out, sheet->note.data ? sheet->note.data : "");
    dlb_text_printf(out, "</p>\n");
    if (chart)
        dlb_text_printf(out,
                        "<div class=\"plot\" hidden><canvas role=\"img\" aria-label=\"%s: a chart "
                        "of the table below it\"></canvas></div>\n",
                        figure->title);
    marks(out, sheet);
    if (chart || figure->aside)
        dlb_text_printf(out, "<details%s><summary>Table</summary>\n", chart ? " open" : "");
    table(out, figure, sheet, place);
    dlb_text_printf(out, "%s</figure>\n", chart || figure->aside ? "</details>\n" : "");
}
