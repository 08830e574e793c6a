/* The table of a sweep or a run: a row for each cell. */
#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/estimate.h"
#include "reports/ranked.h"
#include "reports/reasons.h"
#include "reports/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_FIGURES 8 /* columns that are no setting */
#define MAX_SETTINGS (DLB_TABLE_MAX_COLUMNS - N_FIGURES)
#define MAX_CELLS_BYTES 400 /* of the list of cells with one reason */

/* Ranks of columns: where the width is short, the highest rank is dropped first. Columns that
 * distinguish rows stay longest; columns that are equal in all rows go first. */
enum { ALWAYS, AXIS, RACE, IDLE, WAIT, FIRST_BATCH, READ, SAME };

/* How far a table is squeezed, apart from dropping columns. */
enum { FULL, SHORT_TITLES, NO_INTERVAL, NO_CAUSE };

/* Three of them fit in a cell. */
static const char *whole_text(double rate, char *out, size_t n)
{
    return dlb_table_count(rate < 100 ? rate : round(rate), (DLB_TABLE_CELL_CAP - 5) / 3, out, n);
}

static void rate_text(const json_t *rate, bool brief, char *out, size_t n)
{
    double median = dlb_json_number(rate, "median"), low = dlb_estimate_end(rate, "low");
    double high = dlb_estimate_end(rate, "high");
    char a[40], b[40], c[40];
    if (!isfinite(median)) {
        (void)snprintf(out, n, "-");
        return;
    }
    (void)whole_text(median, a, sizeof(a));
    if (brief || !isfinite(low) || !isfinite(high))
        (void)snprintf(out, n, "%s", a);
    else
        (void)snprintf(out, n, "%s (%s-%s)", a, whole_text(low, b, sizeof(b)),
                       whole_text(high, c, sizeof(c)));
}

static void percent_text(const json_t *doc, const json_t *cell, const char *key, char *out,
                         size_t n)
{
    (void)dlb_text_percent(DLB_PERCENT_BARE, dlb_ranked_share(doc, cell, key), out, n);
}

static void megabytes_text(const json_t *cell, char *out, size_t n)
{
    double rate = dlb_json_number(cell, "read_bytes_per_s");
    if (isfinite(rate))
        (void)snprintf(out, n,
                       fabs(rate) < 1e8    ? "%.1f"
                       : fabs(rate) < 1e18 ? "%.0f"
                                           : "%.4g",
                       rate / 1e6);
    else
        (void)snprintf(out, n, "-");
}

static void first_batch_text(const json_t *cell, char *out, size_t n)
{
    double ns =
        dlb_json_number(json_array_get(json_object_get(cell, "epochs"), 0), "first_batch_ns");
    if (isfinite(ns) && ns >= 0)
        (void)dlb_duration_text(ns / 1e9, out, n);
    else
        (void)snprintf(out, n, "-");
}

static void verdict_text(const json_t *cell, bool brief, char *out, size_t n)
{
    const json_t *verdict = json_object_get(cell, "verdict");
    const char *class = dlb_text_shown(verdict, "class"), *cause = dlb_text_shown(verdict, "cause");
    if (brief || strcmp(cause, "none") == 0 || strcmp(cause, "-") == 0)
        (void)snprintf(out, n, "%.*s", DLB_CUT(class, 20));
    else
        (void)snprintf(out, n, "%.*s (%.*s)", DLB_CUT(class, 20), DLB_CUT(cause, 14));
}

static bool is_raced(const json_t *doc)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        if (json_is_object(json_object_get(cell, "race")))
            return true;
    }
    return false;
}

/* "dropped 3": what became of the cell in the race, and how many repetitions it has. */
static void race_text(const json_t *cell, char *out, size_t n)
{
    const char *state = dlb_text_shown(json_object_get(cell, "race"), "state");
    double runs = dlb_json_number(cell, "repeats");
    if (runs >= 0 && runs < 1e6)
        (void)snprintf(out, n, "%.*s %.0f", DLB_CUT(state, 20), runs);
    else
        (void)snprintf(out, n, "%.*s", DLB_CUT(state, 20));
}

static const struct {
    const char *key, *title, *brief;
} usual[] = {{"loader.num_workers", "workers", "workers"},
             {"loader.pin_memory", "pin", "pin"},
             {"loader.prefetch_factor", "prefetch", "pf"},
             {"loader.persistent_workers", "persistent", "pers"}};
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

static bool is_usual(const char *key)
{
    for (size_t i = 0; i < N_USUAL; i++)
        if (strcmp(key, usual[i].key) == 0)
            return true;
    return false;
}

static bool has_status(const json_t *cell, const char *status)
{
    return strcmp(dlb_json_text(cell, "status"), status) == 0;
}

/* Whether a row of the table is about it; "": of the one table that has all cells. */
static bool is_in(const json_t *cell, const char *pipeline)
{
    return has_status(cell, "ok") &&
           (!pipeline[0] || strcmp(dlb_json_text(cell, "pipeline"), pipeline) == 0);
}

/* The settings that have a column. */
struct settings {
    const char *key[MAX_SETTINGS]; /* the usual four, then axes in the order of their ranks */
    uint32_t rank[MAX_SETTINGS];
    uint32_t n, n_left_out;
};

/* What a table is of. */
struct shown {
    const json_t *doc;
    const char *pipeline; /* "": of all cells */
    bool raced;
    struct settings settings;
};

/* Whether rows differ in the setting. */
static bool varies(const struct shown *shown, const char *key)
{
    const json_t *cell, *first = NULL;
    size_t i;
    json_array_foreach(json_object_get(shown->doc, "cells"), i, cell) {
        const json_t *value = json_object_get(json_object_get(cell, "config"), key);
        if (!is_in(cell, shown->pipeline))
            continue;
        value = value ? value : json_null();
        first = first ? first : value;
        if (!json_equal(first, value))
            return true;
    }
    return false;
}

static uint32_t rank_of(const json_t *axis)
{
    return json_array_size(axis) > 1 ? AXIS : SAME;
}

static void add_setting(const char *key, uint32_t rank, struct settings *out)
{
    if (out->n == MAX_SETTINGS) {
        out->n_left_out++;
        return;
    }
    out->key[out->n] = key;
    out->rank[out->n++] = rank;
}

/* Axes in which rows differ come first, then others that have several values. */
static void find_settings(struct shown *shown)
{
    enum { DIFFER, SEVERAL, ONE, N_KINDS };
    const json_t *axes = json_object_get(shown->doc, "axes");
    struct settings *out = &shown->settings;
    int *kind = dlb_mem_array(json_object_size(axes), sizeof(*kind));
    const char *key;
    json_t *axis;
    for (uint32_t i = 0; i < N_USUAL; i++)
        add_setting(usual[i].key, i == 0 ? ALWAYS : rank_of(json_object_get(axes, usual[i].key)),
                    out);
    for (int pass = DIFFER; pass < N_KINDS; pass++) {
        size_t i = 0;
        json_object_foreach((json_t *)axes, key, axis) {
            if (pass == DIFFER)
                kind[i] = varies(shown, key) ? DIFFER : rank_of(axis) == AXIS ? SEVERAL : ONE;
            if (kind[i++] == pass && !is_usual(key))
                add_setting(key, pass == ONE ? SAME : AXIS, out);
        }
    }
    free(kind);
}

/* The last word of a key; the whole key if a column has that title already. */
static const char *title_of(const struct dlb_table *table, const char *key)
{
    const char *dot = strrchr(key, '.'), *title = dot ? dot + 1 : key;
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->column[i].title, title) == 0)
            return key;
    return title;
}

static void add_columns(const struct shown *shown, int squeeze, struct dlb_table *table)
{
    bool brief = squeeze >= SHORT_TITLES;
    table->n_columns = 0;
    (void)dlb_table_add(table, "cell", ALWAYS, false);
    for (uint32_t i = 0; i < shown->settings.n; i++) {
        const char *key = shown->settings.key[i];
        const char *title = i >= N_USUAL ? title_of(table, key)
                            : brief      ? usual[i].brief
                                         : usual[i].title;
        (void)dlb_table_add(table, title, shown->settings.rank[i], false);
    }
    if (shown->raced)
        (void)dlb_table_add(table, "race, runs", RACE, true);
    (void)dlb_table_add(table, "samples/s", ALWAYS, false);
    (void)dlb_table_add(table, "read MB/s", READ, false);
    (void)dlb_table_add(table, "GPU idle %", IDLE, false);
    (void)dlb_table_add(table, "input wait %", WAIT, false);
    (void)dlb_table_add(table, "first batch", FIRST_BATCH, false);
    (void)dlb_table_add(table, "verdict", ALWAYS, true);
}

/* Marks distinguish cells, so a single cell has none. */
static bool is_marked(const json_t *doc, const char *which, const json_t *index)
{
    return json_array_size(json_object_get(doc, "cells")) > 1 && json_is_integer(index) &&
           json_equal(index, json_object_get(doc, which));
}

static void fill_row(const struct shown *shown, const json_t *cell, int squeeze,
                     char (*row)[DLB_TABLE_CELL_CAP])
{
    const json_t *doc = shown->doc;
    const json_t *config = json_object_get(cell, "config");
    const json_t *index = json_object_get(cell, "index");
    (void)snprintf(
        row[0], sizeof(row[0]), "%s%s%lld", is_marked(doc, "recommended_cell", index) ? ">" : "",
        is_marked(doc, "best_cell", index) ? "*" : "", (long long)json_integer_value(index));
    row++;
    for (uint32_t i = 0; i < shown->settings.n; i++)
        dlb_text_value(json_object_get(config, shown->settings.key[i]), *row++, DLB_TABLE_CELL_CAP);
    if (shown->raced)
        race_text(cell, *row++, DLB_TABLE_CELL_CAP);
    rate_text(json_object_get(cell, dlb_ranked_rate(doc)), squeeze >= NO_INTERVAL, *row++,
              DLB_TABLE_CELL_CAP);
    megabytes_text(cell, *row++, DLB_TABLE_CELL_CAP);
    percent_text(doc, cell, "gpu_idle_frac", *row++, DLB_TABLE_CELL_CAP);
    percent_text(doc, cell, "input_wait_frac", *row++, DLB_TABLE_CELL_CAP);
    first_batch_text(cell, *row++, DLB_TABLE_CELL_CAP);
    verdict_text(cell, squeeze >= NO_CAUSE, *row, DLB_TABLE_CELL_CAP);
}

/* One line per distinct reason, with the cells it is about. */
static void reasons(const json_t *cells, const char *status, uint32_t n_columns,
                    struct dlb_text *out)
{
    json_t *groups = dlb_reasons_groups(cells, status);
    const json_t *group;
    size_t i;
    json_array_foreach(groups, i, group) {
        const json_t *first = json_array_get(cells, dlb_reasons_place(group, 0));
        struct dlb_text words = {0};
        dlb_text_printf(&words, "%s: ", status);
        dlb_text_plain(&words, dlb_json_text(first, "reason"), 1000);
        dlb_text_printf(&words, json_array_size(group) == 1 ? " (cell " : " (cells ");
        dlb_reasons_ranges(group, MAX_CELLS_BYTES, &words);
        dlb_text_printf(&words, ")");
        dlb_text_fold(out, words.data, 0, n_columns);
        dlb_text_free(&words);
    }
    json_decref(groups);
}

void dlb_findings_reasons(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cells = json_object_get(doc, "cells");
    reasons(cells, "failed", n_columns, out);
    reasons(cells, "skipped", n_columns, out);
}

/* Fills the table anew, squeezed as far as `squeeze` says. */
static void fill(const struct shown *shown, int squeeze, struct dlb_table *table)
{
    const json_t *cells = json_object_get(shown->doc, "cells"), *cell;
    size_t i;
    add_columns(shown, squeeze, table);
    free(table->cell);
    table->n_rows = 0;
    table->cell = dlb_mem_array(json_array_size(cells) * table->n_columns, sizeof(*table->cell));
    json_array_foreach(cells, i, cell) {
        if (is_in(cell, shown->pipeline))
            fill_row(shown, cell, squeeze,
                     &table->cell[(size_t)table->n_rows++ * table->n_columns]);
    }
}

/* Squeezes the table no further than is needed to keep the settings and the idle time; where both
 * do not fit, the settings alone. Returns how far. */
static int fill_to_fit(const struct shown *shown, uint32_t n_columns, struct dlb_table *table)
{
    for (uint32_t rank = IDLE; rank >= AXIS; rank--)
        for (int squeeze = FULL; squeeze <= NO_CAUSE; squeeze++) {
            fill(shown, squeeze, table);
            if (dlb_table_fits(table, n_columns, rank))
                return squeeze;
        }
    return NO_CAUSE;
}

static void legend(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *best = json_object_get(doc, "best_cell");
    const json_t *recommended = json_object_get(doc, "recommended_cell");
    bool one = is_marked(doc, "best_cell", best);
    bool other = is_marked(doc, "recommended_cell", recommended);
    if (one || other)
        dlb_text_fold(out,
                      one && other ? "* best   > recommended"
                      : one        ? "* best"
                                   : "> recommended",
                      0, n_columns);
}

static void tell_left_out(uint32_t n_out, int squeeze, uint32_t n_columns, struct dlb_text *out)
{
    if (n_out == 0 && squeeze < NO_INTERVAL)
        return;
    const char *what = n_out == 0                            ? "the intervals do not fit here"
                       : n_out == 1 && squeeze < NO_INTERVAL ? "one column does not fit here"
                       : squeeze < NO_INTERVAL               ? "some columns do not fit here"
                                               : "intervals and some columns do not fit here";
    char line[120];
    (void)snprintf(line, sizeof(line), "(%s: summary.txt has %s)", what,
                   n_out == 1 && squeeze < NO_INTERVAL ? "it" : "them");
    dlb_text_fold(out, line, 0, n_columns);
}

static void tell_without_column(uint32_t n, uint32_t n_columns, struct dlb_text *out)
{
    char line[120];
    if (n == 0)
        return;
    (void)snprintf(line, sizeof(line), "(%" PRIu32 " more %s no column: summary.json has %s)", n,
                   n == 1 ? "setting has" : "settings have", n == 1 ? "it" : "them");
    dlb_text_fold(out, line, 0, n_columns);
}

static uint32_t count(const json_t *doc, const char *pipeline)
{
    const json_t *cell;
    size_t i;
    uint32_t n = 0;
    json_array_foreach(json_object_get(doc, "cells"), i, cell)
        n += is_in(cell, pipeline);
    return n;
}

static void write_table(const json_t *doc, const char *pipeline, bool has_legend,
                        uint32_t n_columns, struct dlb_text *out)
{
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    struct shown shown = {.doc = doc, .pipeline = pipeline, .raced = is_raced(doc)};
    find_settings(&shown);
    int squeeze = fill_to_fit(&shown, n_columns, table);
    if (table->n_rows > 0) {
        uint32_t n_out = dlb_table_render(table, n_columns, out);
        if (has_legend)
            legend(doc, n_columns, out);
        tell_left_out(n_out, squeeze, n_columns, out);
        tell_without_column(shown.settings.n_left_out, n_columns, out);
    }
    free(table->cell);
    free(table);
}

/* Names the loader of the table's PyTorch cells. */
static const char *whose(const json_t *doc)
{
    const json_t *cell;
    size_t i;
    uint32_t n_own = 0;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const char *own =
            json_string_value(json_object_get(json_object_get(cell, "config"), "python.loader"));
        n_own += is_in(cell, "pytorch") && own && own[0];
    }
    if (n_own == 0)
        return "PyTorch's own DataLoader";
    return n_own == count(doc, "pytorch") ? "your own loader"
                                          : "PyTorch's own DataLoader and your own loader";
}

void dlb_findings_table(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    if (count(doc, "hardware") > 0 && count(doc, "pytorch") > 0) {
        dlb_text_printf(out, "What this hardware can do:\n");
        write_table(doc, "hardware", false, n_columns, out);
        dlb_text_printf(out, "\nWhat your pipeline does, with %s:\n", whose(doc));
        write_table(doc, "pytorch", true, n_columns, out);
    } else {
        write_table(doc, "", true, n_columns, out);
    }
    dlb_findings_reasons(doc, n_columns, out);
}
