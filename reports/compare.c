#include "reports/compare.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READABLE_COLUMNS 100 /* longer lines of text are hard to read */
#define RANK_FIGURES 2       /* A's and B's own figures are dropped before anything else */
#define MAX_KEYS 16
#define VALUE_BYTES 60
#define KIND_COLUMNS 13
#define MAX_KIND 40 /* bytes of a document's own */

bool dlb_compare_is(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "compare")) && !json_object_get(doc, "run_name");
}

static const char *name_of(const json_t *compare, const char *side)
{
    const char *name = dlb_text_shown(json_object_get(compare, side), "name");
    const char *slash = strrchr(name, '/');
    return slash && slash[1] ? slash + 1 : name;
}

void dlb_compare_title(const json_t *doc, struct dlb_text *out, enum dlb_markup how)
{
    const json_t *compare = json_object_get(doc, "compare");
    dlb_markup_text(out, name_of(compare, "b"), how);
    dlb_text_printf(out, " against ");
    dlb_markup_text(out, name_of(compare, "a"), how);
}

static const char *change_of(const json_t *object, const char *key, char *text, size_t n_text)
{
    return dlb_text_percent(DLB_PERCENT_CHANGE, dlb_json_number(object, key), text, n_text);
}

static const char *share_of(const json_t *pair, const char *key, char *text, size_t n_text)
{
    double frac = dlb_json_number(pair, key);
    return isfinite(frac) ? dlb_text_percent(DLB_PERCENT_SHORT, frac, text, n_text)
                          : "an unknown share";
}

static const char *interval(const json_t *change, char *text, size_t n_text)
{
    char low[20], high[20];
    if (isfinite(dlb_json_number(change, "low")))
        (void)snprintf(text, n_text, "%s to %s", change_of(change, "low", low, sizeof(low)),
                       change_of(change, "high", high, sizeof(high)));
    else
        (void)snprintf(text, n_text, "not known");
    return text;
}

static void put_side(const json_t *compare, const char *key, struct dlb_text *out)
{
    const json_t *side = json_object_get(compare, key);
    double more = dlb_json_number(side, "results") - 1;
    dlb_text_printf(out, "%c  ", key[0] - 'a' + 'A');
    dlb_text_plain(out, dlb_text_shown(side, "name"), 400);
    dlb_text_printf(out, "  (");
    dlb_text_plain(out, dlb_text_shown(side, "command"), 20);
    dlb_text_printf(out, ", ");
    dlb_text_plain(out, dlb_text_shown(side, "timestamp"), 40);
    if (more > 0)
        dlb_text_printf(out, ", and %.0f more of it", more);
    dlb_text_printf(out, "%s)\n", dlb_json_is_true(side, "partial") ? ", partial" : "");
}

static void put_value(const json_t *value, char cell[DLB_TABLE_CELL_CAP])
{
    char *text = value ? dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10)) : NULL;
    dlb_cut_text(cell, DLB_TABLE_CELL_CAP, !text || json_is_null(value) ? "-" : text);
    free(text);
}

static void put_figure(const json_t *pair, const char *key, char cell[DLB_TABLE_CELL_CAP])
{
    double value = dlb_json_number(pair, key);
    if (!isfinite(value))
        (void)snprintf(cell, DLB_TABLE_CELL_CAP, "-");
    else if (fabs(value) < 10)
        (void)snprintf(cell, DLB_TABLE_CELL_CAP, "%.3g", value);
    else
        (void)dlb_count_text(value, cell, DLB_TABLE_CELL_CAP);
}

/* Its settings, or what it is. */
static uint32_t add_titles(const json_t *first, struct dlb_table *table)
{
    const char *key;
    json_t *value;
    if (dlb_json_text(first, "what")[0])
        return dlb_table_add(table, "", 0, true);
    json_object_foreach(json_object_get(first, "settings"), key, value) {
        const char *dot = strchr(key, '.');
        char title[DLB_TABLE_CELL_CAP];
        dlb_cut_text(title, sizeof(title), dot && dot[1] ? dot + 1 : key);
        if (table->n_columns == MAX_KEYS || !dlb_table_add(table, title, 0, false))
            break;
    }
    return table->n_columns;
}

static void put_row(const json_t *pair, uint32_t n_keys, char (*cell)[DLB_TABLE_CELL_CAP])
{
    char text[64];
    const char *key, *what = dlb_json_text(pair, "what");
    json_t *value;
    uint32_t at = 0;
    if (what[0] && n_keys > 0)
        dlb_cut_text(cell[at++], DLB_TABLE_CELL_CAP, what);
    json_object_foreach(json_object_get(pair, "settings"), key, value) {
        if (at < n_keys)
            put_value(value, cell[at++]);
    }
    for (; at < n_keys; at++)
        (void)snprintf(cell[at], DLB_TABLE_CELL_CAP, "-");
    put_figure(pair, "a", cell[at++]);
    put_figure(pair, "b", cell[at++]);
    (void)change_of(pair, "change_frac", cell[at++], DLB_TABLE_CELL_CAP);
    dlb_cut_text(cell[at++], DLB_TABLE_CELL_CAP, interval(pair, text, sizeof(text)));
    dlb_cut_text(cell[at], DLB_TABLE_CELL_CAP, dlb_text_shown(pair, "verdict"));
}

static void put_table(const json_t *compare, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cells = json_object_get(compare, "cells"), *pair;
    struct dlb_table table = {.n_rows = (uint32_t)json_array_size(cells)};
    uint32_t n_keys = add_titles(json_array_get(cells, 0), &table);
    size_t i;
    (void)dlb_table_add(&table, "A", RANK_FIGURES, false);
    (void)dlb_table_add(&table, "B", RANK_FIGURES, false);
    (void)dlb_table_add(&table, "change", 0, false);
    (void)dlb_table_add(&table, "interval", 0, false);
    (void)dlb_table_add(&table, "verdict", 0, true);
    table.cell = dlb_mem_array((size_t)table.n_rows * table.n_columns, sizeof(*table.cell));
    json_array_foreach(cells, i, pair) {
        put_row(pair, n_keys, table.cell + i * table.n_columns);
    }
    dlb_text_printf(out, "\n");
    (void)dlb_table_render(&table, n_columns, out);
    free(table.cell);
}

/* What the figures are, in words. */
static const char *figure_words(const json_t *compare)
{
    static const char *const words[][2] = {
        {"samples_per_s", "samples/s of the measured window"},
        {"within_epoch_samples_per_s", "samples/s within epochs"},
        {"epoch_samples_per_s", "samples/s of a whole epoch"},
        {"accelerators", "accelerators that the storage feeds"},
        {"seconds", "seconds; of a rung the change of its speed, of a part what it takes less, as "
                    "a share of A's whole"},
        {"step_time_ms", "ms of a step, of which there is one mean each"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(dlb_json_text(compare, "figure"), words[i][0]) == 0)
            return words[i][1];
    return "a figure";
}

/* Of the pairs whose work differs, the first. */
static void say_apart(const json_t *compare, struct dlb_text *line)
{
    const json_t *pair, *first = NULL;
    size_t i, n = 0, n_all = json_array_size(json_object_get(compare, "cells"));
    char a[24], b[24];
    json_array_foreach(json_object_get(compare, "cells"), i, pair) {
        if (!dlb_json_is_true(pair, "work_differs"))
            continue;
        first = first ? first : pair;
        n++;
    }
    if (!first)
        return;
    dlb_text_printf(line, " Not judged: A skipped %s of its samples and B %s",
                    share_of(first, "a_skipped_frac", a, sizeof(a)),
                    share_of(first, "b_skipped_frac", b, sizeof(b)));
    if (n_all > 1)
        dlb_text_printf(line, " in the first of %zu such pairs of %zu", n, n_all);
    dlb_text_printf(line, ", so their work differs, and a rate does not count what was skipped. "
                          "Mend the data, and measure again.");
}

void dlb_compare_answer(const json_t *compare, struct dlb_text *out)
{
    const json_t *overall = json_object_get(compare, "overall");
    char text[64], change[24];
    dlb_text_printf(out, "B is %s: %s (%s), of %s.", dlb_text_shown(overall, "verdict"),
                    change_of(overall, "change_frac", change, sizeof(change)),
                    interval(overall, text, sizeof(text)), figure_words(compare));
    say_apart(compare, out);
}

/* How sure one is of the change; a sentence whose figure is missing is left out. */
static void say_noise(const json_t *compare, struct dlb_text *line)
{
    double detectable = dlb_json_number(json_object_get(compare, "overall"), "detectable_frac"),
           smallest = dlb_json_number(compare, "smallest_frac");
    char text[24];
    if (isfinite(detectable))
        dlb_text_printf(line,
                        "Smallest change that these results could have shown: %s (found in 4 of 5 "
                        "such comparisons). ",
                        dlb_text_percent(DLB_PERCENT_TENTHS, detectable, text, sizeof(text)));
    else
        dlb_text_printf(line,
                        "One repetition on each side shows no noise, so there is no interval: "
                        "set run.repeats, or give --also-a and --also-b. ");
    if (isfinite(smallest))
        dlb_text_printf(line, "Changes below %s count as none (--smallest). ",
                        dlb_text_percent(DLB_PERCENT_TENTHS, smallest, text, sizeof(text)));
}

static void say_between(const json_t *compare, struct dlb_text *line)
{
    const json_t *between = json_object_get(compare, "between");
    const char *by = dlb_json_text(between, "by");
    double used = dlb_json_number(between, "used_frac"),
           disturbed = dlb_json_number(between, "disturbed_frac");
    char text[24];
    if (strcmp(by, "pairs") == 0)
        dlb_text_printf(line, "Repetitions are paired: they ran beside each other. ");
    else if (isfinite(used))
        dlb_text_printf(line,
                        "Results made at different times may differ by %s (one standard "
                        "deviation%s) beside what their repetitions show. ",
                        dlb_text_percent(DLB_PERCENT_TENTHS, used, text, sizeof(text)),
                        strcmp(by, "allowance") == 0
                            ? ": --between, and the noise; better, give --also-a and --also-b"
                            : ", of which the repeated results are part");
    if (disturbed > 0)
        dlb_text_printf(line, "Others disturbed %s of the repetitions. ",
                        dlb_text_percent(DLB_PERCENT_WHOLE, disturbed, text, sizeof(text)));
}

static void say_level(const json_t *compare, struct dlb_text *line)
{
    double n_intervals = dlb_json_number(compare, "intervals"),
           level = dlb_json_number(compare, "level");
    char text[24];
    if (!isfinite(level))
        return;
    (void)dlb_text_percent(DLB_PERCENT_WHOLE, level, text, sizeof(text));
    if (n_intervals > 1)
        dlb_text_printf(line, "All %.0f intervals hold together with %s.", n_intervals, text);
    else
        dlb_text_printf(line, "The interval holds with %s.", text);
}

static void say_meaning(const json_t *compare, struct dlb_text *line)
{
    say_noise(compare, line);
    say_between(compare, line);
    say_level(compare, line);
    if (strstr(dlb_json_text(compare, "figure"), "samples_per_s"))
        dlb_text_printf(line, " A and B are medians of the repetitions; the change is that of "
                              "their geometric means.");
}

static void say_unmatched(const json_t *compare, struct dlb_text *out)
{
    const json_t *unmatched = json_object_get(compare, "unmatched");
    double a = dlb_json_number(unmatched, "a"), b = dlb_json_number(unmatched, "b");
    if (a > 0 || b > 0)
        dlb_text_printf(out,
                        "Not compared: %.0f cells of A and %.0f of B, whose settings the other "
                        "lacks.",
                        a, b);
}

void dlb_compare_meaning(const json_t *compare, struct dlb_text *out)
{
    say_unmatched(compare, out);
    dlb_text_append(out, "\n", out->len_bytes > 0);
    say_meaning(compare, out);
}

void dlb_compare_sides(const json_t *compare, struct dlb_text *out)
{
    put_side(compare, "a", out);
    put_side(compare, "b", out);
}

/* A line, folded. */
static void put_line(const json_t *compare,
                     void (*say)(const json_t *compare, struct dlb_text *out), uint32_t n_columns,
                     struct dlb_text *out)
{
    struct dlb_text line = {0};
    say(compare, &line);
    if (line.data)
        dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
}

static void put_difference(const json_t *one, struct dlb_text *out)
{
    static const char *const keys[] = {"a", "b"};
    const char *kind = dlb_text_shown(one, "kind");
    size_t width = dlb_text_width(kind, MAX_KIND);
    dlb_text_printf(out, "  ");
    dlb_text_plain(out, kind, MAX_KIND);
    dlb_text_printf(out, "%*s  ", width < KIND_COLUMNS ? (int)(KIND_COLUMNS - width) : 0, "");
    dlb_text_plain(out, dlb_text_shown(one, "key"), 80);
    for (int i = 0; i < 2; i++) {
        const json_t *value = json_object_get(one, keys[i]);
        char *text = value ? dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6))
                           : dlb_mem_text("-");
        dlb_text_printf(out, i ? " | " : ": ");
        dlb_text_plain(out, text, VALUE_BYTES);
        free(text);
    }
    dlb_text_append(out, "\n", 1);
}

static void put_differences(const json_t *compare, bool all, struct dlb_text *out)
{
    const json_t *list = json_object_get(compare, "differences"), *one;
    size_t i, n_others = 0, n_shown = 0;
    json_array_foreach(list, i, one) {
        bool explains = dlb_json_is_true(one, "may_explain");
        n_others += !explains;
        if (!explains && !all)
            continue;
        if (n_shown++ == 0)
            dlb_text_printf(out,
                            "\nWhat differs beside (A | B), first what may explain a change:\n");
        put_difference(one, out);
    }
    if (n_shown == 0)
        dlb_text_printf(out, "\nNothing differs that could explain a change.\n");
    if (n_others > 0 && !all)
        dlb_text_printf(out, "  and %zu more that explain nothing: --verbose\n", n_others);
}

void dlb_compare_render(const json_t *doc, uint32_t n_columns, bool all, struct dlb_text *out)
{
    const json_t *compare = json_object_get(doc, "compare");
    uint32_t n_words =
        n_columns == 0 || n_columns > READABLE_COLUMNS ? READABLE_COLUMNS : n_columns;
    dlb_compare_sides(compare, out);
    dlb_text_append(out, "\n", 1);
    put_line(compare, dlb_compare_answer, n_words, out);
    put_table(compare, n_columns, out);
    put_line(compare, say_unmatched, n_words, out);
    dlb_text_append(out, "\n", 1);
    put_line(compare, say_meaning, n_words, out);
    put_differences(compare, all, out);
}
