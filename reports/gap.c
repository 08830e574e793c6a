#include "reports/gap.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/estimate.h"
#include "reports/findings.h"
#include "reports/reasons.h"
#include "reports/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of columns: where the width is short, the highest is dropped first. */
enum { ALWAYS, FIRST, SECOND, THIRD, FOURTH };

#define NAME_BYTES 30   /* that are shown of a name */
#define FIGURE_BYTES 22 /* no count or duration has more; two of them fit in a cell */

typedef char cell_text[DLB_TABLE_CELL_CAP];

static const json_t *rungs_of(const json_t *doc)
{
    return json_object_get(json_object_get(doc, "gap"), "rungs");
}

bool dlb_gap_is(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "gap"));
}

static void put(cell_text out, const char *text)
{
    dlb_cut_text(out, NAME_BYTES + 1, text);
}

static void put_seconds(cell_text out, double seconds, bool sign)
{
    char text[40];
    if (!isfinite(seconds)) {
        put(out, "-");
        return;
    }
    (void)dlb_duration_text(fabs(seconds), text, sizeof(text));
    (void)snprintf(out, DLB_TABLE_CELL_CAP, "%s%s", seconds < 0 ? "-" : sign ? "+" : "", text);
}

static void put_count(cell_text out, double count)
{
    if (isfinite(count))
        (void)dlb_table_count(round(count), FIGURE_BYTES, out, DLB_TABLE_CELL_CAP);
    else
        put(out, "-");
}

static void put_pair(cell_text out, const char *a, const char *between, const char *b)
{
    (void)snprintf(out, DLB_TABLE_CELL_CAP, "%.*s%.3s%.*s", FIGURE_BYTES, a, between, FIGURE_BYTES,
                   b);
}

static void put_ratio(cell_text out, double ratio)
{
    if (!isfinite(ratio) || fabs(ratio) > 1e9)
        put(out, "-");
    else
        (void)snprintf(out, DLB_TABLE_CELL_CAP, ratio < 99.95 ? "%.2fx" : "%.0fx", ratio);
}

static void put_range(cell_text out, const json_t *seconds)
{
    char low[40], high[40];
    double a = dlb_estimate_end(seconds, "low"), b = dlb_estimate_end(seconds, "high");
    if (!isfinite(a) || !isfinite(b)) {
        put(out, "-");
        return;
    }
    (void)dlb_duration_text(fabs(a), low, sizeof(low));
    (void)dlb_duration_text(fabs(b), high, sizeof(high));
    put_pair(out, low, "-", high);
}

static bool is_ok(const json_t *rung)
{
    return strcmp(dlb_json_text(rung, "status"), "ok") == 0;
}

/* A rung that was not measured has a row without figures. A step below the noise is none. */
static void ladder_row(const json_t *rung, double noise_frac, cell_text *row)
{
    const json_t *seconds = json_object_get(rung, "seconds");
    double median = dlb_json_number(seconds, "median"),
           step = dlb_json_number(rung, "step_seconds");
    put(row[0], dlb_text_shown(rung, "rung"));
    if (is_ok(rung))
        put_seconds(row[1], dlb_json_number(seconds, "median"), false);
    else
        put(row[1], dlb_text_shown(rung, "status"));
    put_range(row[2], seconds);
    put_ratio(row[3], dlb_json_number(rung, "ratio_to_direct"));
    put_ratio(row[4], dlb_json_number(rung, "ratio_to_floor"));
    if (fabs(step) < noise_frac * fmax(median, median - step))
        put(row[5], "(noise)");
    else
        put_seconds(row[5], step, true);
}

static void calls_text(cell_text out, const json_t *calls)
{
    cell_text n, longest;
    put_count(n, dlb_json_number(calls, "count"));
    put_seconds(longest, dlb_json_number(calls, "max_ns") * 1e-9, false);
    put_pair(out, n, " / ", longest);
}

static void kernel_row(const json_t *rung, double noise_frac, cell_text *row)
{
    const json_t *os = json_object_get(rung, "os"), *process = json_object_get(os, "process");
    const json_t *loop = json_array_get(json_object_get(os, "threads"), 0);
    cell_text a, b;
    (void)noise_frac;
    put(row[0], dlb_text_shown(rung, "rung"));
    put_seconds(row[1], dlb_json_number(process, "cpu_ns") * 1e-9, false);
    put_seconds(row[2], dlb_json_number(loop, "runqueue_wait_ns") * 1e-9, false);
    put_seconds(row[3], dlb_json_number(loop, "blocked_ns") * 1e-9, false);
    put_count(a, dlb_json_number(process, "voluntary_switches"));
    put_count(b, dlb_json_number(process, "involuntary_switches"));
    put_pair(row[4], a, "/", b);
    put_count(row[5], dlb_json_number(process, "minor_faults"));
    put_seconds(row[6], dlb_json_number(json_object_get(os, "faults"), "seconds"), false);
    calls_text(row[7], json_object_get(os, "copy_calls"));
    calls_text(row[8], json_object_get(os, "sync_calls"));
}

struct column {
    const char *title;
    uint32_t rank;
};
static const struct column ladder[] = {{"rung", ALWAYS},    {"an epoch", ALWAYS},
                                       {"range", THIRD},    {"of direct", ALWAYS},
                                       {"of floor", FIRST}, {"step", SECOND}};
static const struct column kernel[] = {
    {"rung", ALWAYS},         {"CPU", ALWAYS},    {"run queue", FIRST},  {"blocked", ALWAYS},
    {"switches", THIRD},      {"faults", ALWAYS}, {"their cost", FIRST}, {"copies/longest", SECOND},
    {"syncs/longest", FOURTH}};

static void render(const json_t *doc, const struct column *columns, uint32_t n, bool only_ok,
                   void (*row)(const json_t *rung, double noise_frac, cell_text *row),
                   uint32_t width, struct dlb_text *out)
{
    double noise_frac = dlb_json_number(doc, "noise_floor_frac");
    const json_t *rungs = rungs_of(doc);
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    const json_t *rung;
    size_t i;
    table->cell = dlb_mem_array(json_array_size(rungs) * n, sizeof(*table->cell));
    for (uint32_t k = 0; k < n; k++)
        (void)dlb_table_add(table, columns[k].title, columns[k].rank, k == 0);
    json_array_foreach(rungs, i, rung) {
        if (!only_ok || is_ok(rung))
            row(rung, noise_frac, &table->cell[(size_t)table->n_rows++ * n]);
    }
    uint32_t n_out = dlb_table_render(table, width, out);
    if (n_out > 0)
        dlb_text_fold(out, "(some columns do not fit here: summary.txt has them)", 0, width);
    free(table->cell);
    free(table);
}

/* One line for each reason, with the rungs that it is about. */
static void reasons(const json_t *rungs, uint32_t n_columns, struct dlb_text *out)
{
    json_t *groups = dlb_reasons_groups(rungs, NULL);
    const json_t *group;
    size_t i;
    json_array_foreach(groups, i, group) {
        const json_t *first = json_array_get(rungs, dlb_reasons_place(group, 0));
        struct dlb_text line = {0};
        dlb_text_printf(&line, "%.*s: ", DLB_CUT(dlb_text_shown(first, "status"), 20));
        for (size_t k = 0; k < json_array_size(group); k++) {
            const json_t *rung = json_array_get(rungs, dlb_reasons_place(group, k));
            dlb_text_printf(&line, "%s%.*s", k > 0 ? ", " : "",
                            DLB_CUT(dlb_text_shown(rung, "rung"), NAME_BYTES));
        }
        dlb_text_printf(&line, ": ");
        dlb_text_plain(&line, dlb_text_shown(first, "reason"), 1000);
        dlb_text_fold(out, line.data, 0, n_columns);
        dlb_text_free(&line);
    }
    json_decref(groups);
}

#define INTERVAL_COLUMNS 90 /* from this width on */

/* "  1.2 s to 1.4 s", or nothing. */
static void put_interval(const json_t *part, struct dlb_text *out)
{
    cell_text low, high;
    if (!isfinite(dlb_json_number(part, "low")) || !isfinite(dlb_json_number(part, "high")))
        return;
    put_seconds(low, dlb_json_number(part, "low"), false);
    put_seconds(high, dlb_json_number(part, "high"), false);
    dlb_text_printf(out, "  %s to %s", low, high);
}

static void decomposition(const json_t *gap, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *part;
    size_t i;
    if (json_array_size(json_object_get(gap, "decomposition")) == 0)
        return;
    dlb_text_printf(out, "\ntorch-dataloader beyond torch-direct:\n");
    json_array_foreach(json_object_get(gap, "decomposition"), i, part) {
        cell_text name, seconds;
        double frac = dlb_json_number(part, "frac");
        put(name, dlb_text_shown(part, "part"));
        put_seconds(seconds, dlb_json_number(part, "seconds"), false);
        dlb_text_printf(out, "  ");
        dlb_text_plain(out, name, sizeof(name));
        dlb_text_printf(out, "%*s %10s", 31 - (int)dlb_text_width(name, sizeof(name)), "", seconds);
        if (isfinite(frac) && fabs(frac) < 1e6)
            dlb_text_printf(out, " %6.1f%%", frac * 100);
        else
            dlb_text_printf(out, "       -");
        if (dlb_json_text(part, "label")[0])
            dlb_text_printf(out, " ");
        dlb_text_plain(out, dlb_json_text(part, "label"), 7);
        if (n_columns == 0 || n_columns >= INTERVAL_COLUMNS)
            put_interval(part, out);
        dlb_text_printf(out, "\n");
    }
}

void dlb_gap_tables(const json_t *doc, uint32_t n_columns, uint32_t n_words, struct dlb_text *out)
{
    const json_t *gap = json_object_get(doc, "gap"), *rungs = rungs_of(doc);
    render(doc, ladder, sizeof(ladder) / sizeof(ladder[0]), false, ladder_row, n_columns, out);
    reasons(rungs, n_words, out);
    dlb_text_printf(out, "\n");
    dlb_text_fold(
        out,
        "An epoch as the kernel accounts it (run queue and blocked: of the training loop, blocked "
        "with time that a hypervisor took; copies and syncs: its calls in all measured epochs; the "
        "rest: of all threads and processes):",
        0, n_words);
    render(doc, kernel, sizeof(kernel) / sizeof(kernel[0]), true, kernel_row, n_columns, out);
    decomposition(gap, n_columns, out);
    dlb_text_printf(out, "\n");
    dlb_text_fold_lines(out, dlb_json_text(gap, "text"), 0, n_words);
    dlb_findings_noise(doc, out);
    dlb_findings_list(doc, "not_modelled", "Not modelled:", n_words, out);
    dlb_findings_list(doc, "notes", "Notes:", n_words, out);
}
