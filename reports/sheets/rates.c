/* Samples per second of the cells, and how long the accelerator idles. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/ranked.h"
#include "reports/sheets/fills.h"
#include "reports/sheets/labels.h"
#include "reports/supply.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SERIES 12 /* lines that a chart can show apart */

/* The settings of a line, each once, the line with the fastest cell first. */
struct series {
    char name[MAX_SERIES][DLB_LABEL_CAP];
    double most[MAX_SERIES];
    uint32_t n, n_left_out;
};

static double rate_of(const json_t *doc, const json_t *cell, const char *end)
{
    return dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), end);
}

static bool is_shown(const json_t *doc, const json_t *cell)
{
    return dlb_label_has_status(cell, "ok") && isfinite(rate_of(doc, cell, "median"));
}

static int find(const struct series *series, const char *name)
{
    for (uint32_t i = 0; i < series->n; i++)
        if (strcmp(series->name[i], name) == 0)
            return (int)i;
    return -1;
}

/* Keeps the lines with the fastest cells, where there are too many. */
static void add(struct series *series, const char *name, double rate)
{
    int at = find(series, name);
    if (at < 0 && series->n < MAX_SERIES) {
        at = (int)series->n++;
        series->most[at] = -INFINITY;
        (void)snprintf(series->name[at], DLB_LABEL_CAP, "%s", name);
    } else if (at < 0) {
        uint32_t least = 0;
        for (uint32_t i = 1; i < series->n; i++)
            least = series->most[i] < series->most[least] ? i : least;
        if (series->most[least] >= rate)
            return;
        at = (int)least;
        series->most[at] = -INFINITY;
        (void)snprintf(series->name[at], DLB_LABEL_CAP, "%s", name);
    }
    series->most[at] = fmax(series->most[at], rate);
}

static struct series *series_of(const json_t *doc, dlb_label *names)
{
    struct series *out = dlb_mem_new(sizeof(*out));
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    size_t i;
    json_array_foreach(cells, i, cell) {
        if (is_shown(doc, cell))
            add(out, names[i], rate_of(doc, cell, "median"));
    }
    json_array_foreach(cells, i, cell)
        out->n_left_out += is_shown(doc, cell) && find(out, names[i]) < 0;
    return out;
}

/* Whether the cells that ran ask for as much as this. */
static bool all_need(const json_t *doc, double needs)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        if (is_shown(doc, cell) && !dlb_supply_is_same_need(dlb_supply_needs(cell), needs))
            return false;
    }
    return true;
}

/* What the accelerator asks for, what the cell could at most, and the settings that are offered. */
static void mark(const json_t *doc, bool by_workers, struct dlb_sheet *out)
{
    struct dlb_supply supply = dlb_supply_of(doc);
    const json_t *cell = dlb_ranked_offered(doc);
    bool recommended = json_is_integer(json_object_get(doc, "recommended_cell"));
    double workers = dlb_json_number(json_object_get(cell, "config"), DLB_WORKERS);
    if (all_need(doc, supply.needs)) {
        dlb_sheet_mark(out, "demand", supply.needs, false);
        dlb_sheet_mark(out, "data always ready", supply.ready, false);
    } else {
        dlb_text_printf(&out->note, "Cells differ in what they ask for: neither demand nor what "
                                    "data always ready would give is drawn. ");
    }
    if (by_workers)
        dlb_sheet_mark(out, recommended ? "recommended" : "best", workers, true);
}

/* Where the line of the offered settings stops to grow: the fewest workers whose rate is within the
 * tolerance of the line's fastest. By the medians: which differences are real the race says. */
static void say_knee(const json_t *doc, dlb_label *names, struct dlb_sheet *out)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell, *offered = dlb_ranked_offered(doc);
    double tolerance = dlb_json_number(json_object_get(doc, "config"), "sweep.tolerance");
    double most = 0, knee = INFINITY, n_most = -INFINITY;
    const char *line = NULL;
    char within[24];
    size_t i;
    json_array_foreach(cells, i, cell) {
        if (cell == offered)
            line = names[i];
    }
    for (int pass = 0; line && pass < 2; pass++)
        json_array_foreach(cells, i, cell) {
            double rate = rate_of(doc, cell, "median");
            double n = dlb_json_number(json_object_get(cell, "config"), DLB_WORKERS);
            if (!is_shown(doc, cell) || strcmp(names[i], line) != 0 || !isfinite(n))
                continue;
            most = pass == 0 ? fmax(most, rate) : most;
            n_most = fmax(n_most, n);
            if (pass == 1 && rate >= (1 - tolerance) * most)
                knee = fmin(knee, n);
        }
    if (isfinite(knee) && knee < n_most)
        dlb_text_printf(&out->note,
                        "The knee: with the offered settings %.4g workers are the fewest within "
                        "%s of that line's fastest median. ",
                        knee,
                        dlb_text_percent(DLB_PERCENT_SHORT, tolerance, within, sizeof(within)));
    else if (isfinite(knee))
        dlb_text_printf(&out->note,
                        "With the offered settings there is no knee up to %.4g "
                        "workers. ",
                        n_most);
}

static void rate_columns(struct dlb_sheet *out)
{
    dlb_sheet_column(out, "samples/s", DLB_ROLE_Y, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_COUNT);
}

static void rate_values(const json_t *doc, const json_t *cell, struct dlb_sheet *out)
{
    dlb_sheet_estimate(out, json_object_get(cell, dlb_ranked_rate(doc)));
}

static void by_workers(const json_t *doc, struct dlb_sheet *out)
{
    dlb_label *names = dlb_labels_without(doc, DLB_WORKERS);
    struct series *series = series_of(doc, names);
    const json_t *cell;
    size_t i;
    out->chart = DLB_CHART_LINES;
    dlb_sheet_column(out, "settings", DLB_ROLE_SERIES, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "workers", DLB_ROLE_X, DLB_UNIT_COUNT);
    rate_columns(out);
    for (uint32_t k = 0; k < series->n; k++)
        json_array_foreach(json_object_get(doc, "cells"), i, cell) {
            if (!is_shown(doc, cell) || strcmp(names[i], series->name[k]) != 0)
                continue;
            dlb_sheet_row(out, (int64_t)i);
            dlb_sheet_text(out, names[i][0] ? names[i] : "all cells");
            dlb_sheet_number(out, dlb_json_number(json_object_get(cell, "config"), DLB_WORKERS));
            rate_values(doc, cell, out);
        }
    if (series->n_left_out)
        dlb_text_printf(&out->note,
                        "%u cells are left out: these are the %u combinations with the fastest "
                        "cells. ",
                        series->n_left_out, series->n);
    say_knee(doc, names, out);
    free(series);
    free(names);
}

static void by_cell(const json_t *doc, struct dlb_sheet *out)
{
    uint32_t n, n_all, *shown = dlb_label_fastest(doc, DLB_SHEET_MAX_CELLS, &n, &n_all);
    dlb_label *names = dlb_labels_of(doc);
    out->chart = DLB_CHART_BARS;
    dlb_sheet_column(out, "cell", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    rate_columns(out);
    for (uint32_t i = 0; i < n; i++) {
        const json_t *cell = json_array_get(json_object_get(doc, "cells"), shown[i]);
        dlb_sheet_row(out, shown[i]);
        dlb_sheet_text(out, names[shown[i]]);
        rate_values(doc, cell, out);
    }
    if (n < n_all)
        dlb_text_printf(&out->note, "The fastest %u of %u cells. ", n, n_all);
    free(names);
    free(shown);
}

void dlb_sheet_rates(const json_t *doc, struct dlb_sheet *out)
{
    bool workers = dlb_label_varies(doc, DLB_WORKERS);
    if (json_is_object(json_object_get(doc, "storage")))
        return; /* its cells differ in the work: the curve shows them */
    if (workers)
        by_workers(doc, out);
    else
        by_cell(doc, out);
    out->axis = "samples/s";
    if (out->n_rows > 0)
        mark(doc, workers, out);
}

/* Rows are the other settings, columns the numbers of workers. */
struct grid {
    double *workers;
    uint32_t n;
};

static int by_number(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void columns_of(const json_t *doc, struct grid *grid)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    size_t i;
    grid->workers = dlb_mem_array(json_array_size(cells), sizeof(*grid->workers));
    json_array_foreach(cells, i, cell) {
        double n = dlb_json_number(json_object_get(cell, "config"), DLB_WORKERS);
        bool known = !is_shown(doc, cell) || !isfinite(n);
        for (uint32_t k = 0; k < grid->n; k++)
            known = known || grid->workers[k] == n;
        if (!known)
            grid->workers[grid->n++] = n;
    }
    qsort(grid->workers, grid->n, sizeof(grid->workers[0]), by_number);
}

/* The number of the cell with these settings; where several have them the first. */
static int64_t cell_at(const json_t *doc, dlb_label *names, const char *settings, double workers)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        double n = dlb_json_number(json_object_get(cell, "config"), DLB_WORKERS);
        if (n == workers && is_shown(doc, cell) && strcmp(names[i], settings) == 0)
            return (int64_t)i;
    }
    return DLB_SHEET_NO_CELL;
}

void dlb_sheet_idle(const json_t *doc, struct dlb_sheet *out)
{
    struct grid grid = {.n = 0};
    char title[40];
    if (!dlb_label_varies(doc, DLB_WORKERS) || json_is_object(json_object_get(doc, "storage")))
        return;
    dlb_label *names = dlb_labels_without(doc, DLB_WORKERS);
    struct series *series = series_of(doc, names);
    columns_of(doc, &grid);
    out->chart = DLB_CHART_HEAT;
    dlb_sheet_column(out, "settings", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    for (uint32_t k = 0; k < grid.n; k++) {
        (void)snprintf(title, sizeof(title), "%.4g workers", grid.workers[k]);
        dlb_sheet_column(out, title, DLB_ROLE_PART, DLB_UNIT_FRAC);
    }
    for (uint32_t i = 0; i < series->n; i++) {
        dlb_sheet_row(out, DLB_SHEET_NO_CELL);
        dlb_sheet_text(out, series->name[i][0] ? series->name[i] : "all cells");
        for (uint32_t k = 0; k < grid.n; k++) {
            int64_t at = cell_at(doc, names, series->name[i], grid.workers[k]);
            const json_t *cell =
                at < 0 ? NULL : json_array_get(json_object_get(doc, "cells"), (size_t)at);
            dlb_sheet_of_cell(out, dlb_ranked_share(doc, cell, "gpu_idle_frac"), at);
        }
    }
    if (series->n_left_out)
        dlb_text_printf(&out->note,
                        "The rows are those of the figure above; %u cells are left out. ",
                        series->n_left_out);
    free(grid.workers);
    free(series);
    free(names);
}
