/* A comparison: the change of each pair of cells, and what differs beside. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/sheets/fills.h"
#include "reports/sheets/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 120

struct pair {
    uint32_t place;
    double size; /* of its change; -1: not known */
};

/* The largest change first. */
static int by_size(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* Of A's and B's own figures. */
static enum dlb_unit unit_of(const json_t *compare)
{
    const char *figure = dlb_json_text(compare, "figure");
    return strcmp(figure, "seconds") == 0        ? DLB_UNIT_S
           : strcmp(figure, "step_time_ms") == 0 ? DLB_UNIT_MS
                                                 : DLB_UNIT_COUNT;
}

static void columns(const json_t *compare, struct dlb_sheet *out)
{
    out->chart = DLB_CHART_RANGES;
    out->axis = "change from A to B";
    dlb_sheet_column(out, "what", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "verdict", DLB_ROLE_SERIES, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "A", DLB_ROLE_NONE, unit_of(compare));
    dlb_sheet_column(out, "B", DLB_ROLE_NONE, unit_of(compare));
    dlb_sheet_column(out, "change", DLB_ROLE_Y, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_FRAC);
}

/* Its settings, or what it is. */
static void name_of(const json_t *pair, char name[DLB_LABEL_CAP])
{
    const char *key;
    json_t *value;
    size_t n = 0;
    (void)snprintf(name, DLB_LABEL_CAP, "%.*s", DLB_CUT(dlb_json_text(pair, "what"), 200));
    if (name[0])
        return;
    json_object_foreach(json_object_get(pair, "settings"), key, value) {
        char text[DLB_VALUE_CAP];
        dlb_text_value(value, text, sizeof(text));
        int more = snprintf(name + n, DLB_LABEL_CAP - n, "%s%.*s %s", n ? ", " : "",
                            DLB_CUT(dlb_label_title(key), 60), text);
        if (json_is_null(value) || more < 0 || n + (size_t)more >= DLB_LABEL_CAP)
            name[n] = '\0';
        else
            n += (size_t)more;
    }
    if (!name[0])
        (void)snprintf(name, DLB_LABEL_CAP, "the cell");
}

static void change(double frac, struct dlb_sheet *out)
{
    char text[32];
    dlb_sheet_both(out, frac, dlb_text_percent(DLB_PERCENT_CHANGE, frac, text, sizeof(text)));
}

static void row(const char *name, const json_t *pair, struct dlb_sheet *out)
{
    dlb_sheet_row(out, DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, name);
    dlb_sheet_text(out, dlb_text_shown(pair, "verdict"));
    dlb_sheet_number(out, dlb_json_number(pair, "a"));
    dlb_sheet_number(out, dlb_json_number(pair, "b"));
    change(dlb_json_number(pair, "change_frac"), out);
    change(dlb_json_number(pair, "low"), out);
    change(dlb_json_number(pair, "high"), out);
}

static void marks(const json_t *compare, struct dlb_sheet *out)
{
    double smallest = dlb_json_number(compare, "smallest_frac");
    dlb_sheet_mark(out, "no change", 0, false);
    dlb_sheet_mark(out, "smallest of interest", smallest, false);
    dlb_sheet_mark(out, "smallest of interest", -smallest, false);
}

void dlb_sheet_changes(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *compare = json_object_get(doc, "compare"), *one;
    const json_t *cells = json_object_get(compare, "cells");
    uint32_t n_all = (uint32_t)json_array_size(cells);
    uint32_t n = n_all < DLB_SHEET_MAX_CELLS ? n_all : DLB_SHEET_MAX_CELLS;
    struct pair *pairs = dlb_mem_array(n_all, sizeof(*pairs));
    char name[DLB_LABEL_CAP];
    size_t i;
    columns(compare, out);
    json_array_foreach(cells, i, one) {
        double size = fabs(dlb_json_number(one, "change_frac"));
        pairs[i] = (struct pair){(uint32_t)i, isnan(size) ? -1 : size};
    }
    qsort(pairs, n_all, sizeof(*pairs), by_size);
    qsort(pairs, n, sizeof(*pairs), by_place);
    if (n_all > 1)
        row("mean of all", json_object_get(compare, "overall"), out);
    for (uint32_t k = 0; k < n; k++) {
        const json_t *pair = json_array_get(cells, pairs[k].place);
        name_of(pair, name);
        row(name, pair, out);
    }
    if (n < n_all)
        dlb_text_printf(&out->note, "The %u largest changes, of %u. ", n, n_all);
    if (n > 0)
        marks(compare, out);
    free(pairs);
}

static void value(const json_t *value, struct dlb_sheet *out)
{
    char *text = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    size_t n = strlen(text);
    const char *end = text + (n > VALUE_BYTES ? n - VALUE_BYTES : 0); /* where paths differ */
    char shown[VALUE_BYTES + 4];
    while (((unsigned char)*end & 0xc0) == 0x80) /* within a character */
        end++;
    (void)snprintf(shown, sizeof(shown), "%s%s", n > VALUE_BYTES ? "..." : "", end);
    dlb_sheet_text(out, shown);
    free(text);
}

void dlb_sheet_differences(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *one;
    size_t i;
    dlb_sheet_column(out, "of", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "what", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "A", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "B", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "may explain a change", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    json_array_foreach(json_object_get(json_object_get(doc, "compare"), "differences"), i, one) {
        dlb_sheet_row(out, DLB_SHEET_NO_CELL);
        dlb_sheet_text(out, dlb_text_shown(one, "kind"));
        dlb_sheet_text(out, dlb_text_shown(one, "key"));
        value(json_object_get(one, "a"), out);
        value(json_object_get(one, "b"), out);
        dlb_sheet_text(out, dlb_json_is_true(one, "may_explain") ? "yes" : "no");
    }
}
