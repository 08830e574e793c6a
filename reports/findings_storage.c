#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/estimate.h"
#include "reports/sheet.h"
#include "reports/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_CELLS 20

/* Ranks of columns: the highest is dropped first. */
enum { ALWAYS, LATENCY, TAIL, BAR };

static void percent_text(double frac, char *out, size_t n)
{
    (void)dlb_text_percent(DLB_PERCENT_BARE, frac, out, n);
}

/* With the range over the repetitions, if they differ. */
static void au_text(const json_t *point, char *out, size_t n)
{
    double low = dlb_json_number(point, "au_low"), high = dlb_json_number(point, "au_high");
    char a[16], b[16], c[16];
    percent_text(dlb_json_number(point, "au"), a, sizeof a);
    percent_text(low, b, sizeof b);
    percent_text(high, c, sizeof c);
    if (isfinite(low) && isfinite(high) && low < high)
        (void)snprintf(out, n, "%.8s (%.8s-%.8s)", a, b, c);
    else
        (void)snprintf(out, n, "%.8s", a);
}

static const char *member_text(const json_t *object, const char *key, enum dlb_unit unit,
                               char text[DLB_TABLE_CELL_CAP])
{
    return dlb_unit_text(unit, dlb_json_number(object, key), text, DLB_TABLE_CELL_CAP);
}

/* A "|" marks the gate. */
static void bar_text(double frac, double gate, char *out, size_t n)
{
    size_t filled = isfinite(frac) ? (size_t)(fmin(fmax(frac, 0), 1) * BAR_CELLS + 0.5) : 0;
    size_t mark = isfinite(gate) ? (size_t)(fmin(fmax(gate, 0), 1) * BAR_CELLS) : BAR_CELLS;
    size_t i = 0;
    for (; i < BAR_CELLS && i + 1 < n; i++)
        out[i] = i == mark ? '|' : i < filled ? '#' : '.';
    out[i] = '\0';
}

static void fill_row(const json_t *storage, const json_t *point, char (*row)[DLB_TABLE_CELL_CAP])
{
    double n = dlb_json_number(point, "accelerators");
    bool most = n == dlb_json_number(storage, "max_accelerators");
    char number[DLB_TABLE_CELL_CAP - 1];
    dlb_text_value(json_object_get(point, "accelerators"), number, sizeof(number));
    (void)snprintf(row[0], sizeof(row[0]), "%s%s", most ? ">" : "", number);
    au_text(point, row[1], sizeof(row[1]));
    bar_text(dlb_json_number(point, "au"), dlb_json_number(storage, "gate"), row[2],
             sizeof(row[2]));
    (void)member_text(point, "samples_per_s", DLB_UNIT_COUNT, row[3]);
    (void)member_text(point, "bytes_per_s", DLB_UNIT_BYTES_PER_S, row[4]);
    (void)member_text(point, "read_p50_ns", DLB_UNIT_NS, row[5]);
    (void)member_text(point, "read_p99_ns", DLB_UNIT_NS, row[6]);
    (void)member_text(point, "read_p999_ns", DLB_UNIT_NS, row[7]);
}

static void curve(const json_t *storage, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *points = json_object_get(storage, "curve"), *point;
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    size_t i;
    (void)dlb_table_add(table, "accelerators", ALWAYS, false);
    (void)dlb_table_add(table, "AU %", ALWAYS, true);
    (void)dlb_table_add(table, "", BAR, true);
    (void)dlb_table_add(table, "samples/s", ALWAYS, false);
    (void)dlb_table_add(table, "read", ALWAYS, false);
    (void)dlb_table_add(table, "p50", LATENCY, false);
    (void)dlb_table_add(table, "p99", TAIL, false);
    (void)dlb_table_add(table, "p99.9", TAIL, false);
    table->cell = dlb_mem_array(json_array_size(points) * table->n_columns, sizeof(*table->cell));
    json_array_foreach(points, i, point)
        fill_row(storage, point, &table->cell[(size_t)table->n_rows++ * table->n_columns]);
    if (table->n_rows > 0)
        (void)dlb_table_render(table, n_columns, out);
    free(table->cell);
    free(table);
}

static void say_share(const json_t *storage, const json_t *baseline, struct dlb_text *line)
{
    const json_t *share = json_object_get(baseline, "share");
    double low = dlb_estimate_end(share, "low"), high = dlb_estimate_end(share, "high");
    char theirs[DLB_TABLE_CELL_CAP], ours[DLB_TABLE_CELL_CAP];
    dlb_text_printf(line, "%s; the pipeline, alternating with it: %s, %.2f of that",
                    member_text(baseline, "bytes_per_s", DLB_UNIT_BYTES_PER_S, theirs),
                    member_text(baseline, "pipeline_bytes_per_s", DLB_UNIT_BYTES_PER_S, ours),
                    dlb_json_number(share, "median"));
    if (isfinite(low) && isfinite(high))
        dlb_text_printf(line, " (%.2f to %.2f)", low, high);
    if (dlb_json_is_true(storage, "capped"))
        dlb_text_printf(line, "; its accelerators needed no more");
}

static void baseline(const json_t *storage, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *b = json_object_get(storage, "baseline");
    struct dlb_text line = {0};
    if (!json_is_object(b))
        return;
    dlb_text_printf(&line, "%.*s: ", DLB_CUT(dlb_text_shown(b, "program"), 20));
    if (isfinite(dlb_json_number(json_object_get(b, "share"), "median")))
        say_share(storage, b, &line);
    else
        dlb_text_printf(&line, "not measured (%.*s)", DLB_CUT(dlb_text_shown(b, "reason"), 300));
    dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
}

/* The gate, and how the largest number that is fed reaches it; what is missing is left out. */
static void reach(const json_t *storage, uint32_t n_columns, struct dlb_text *out)
{
    double gate = dlb_json_number(storage, "gate"),
           headroom = dlb_json_number(storage, "headroom_frac");
    char iops[DLB_TABLE_CELL_CAP], percent[24];
    struct dlb_text line = {0};
    if (isfinite(gate))
        dlb_text_printf(&line, "gate %s; ",
                        dlb_text_percent(DLB_PERCENT_WHOLE, gate, percent, sizeof(percent)));
    dlb_text_printf(&line, "%s reads/s at that number",
                    member_text(storage, "iops", DLB_UNIT_COUNT, iops));
    if (isfinite(headroom))
        dlb_text_printf(&line, "; the best rate measured is %s above what they need",
                        dlb_text_percent(DLB_PERCENT_TENTHS, headroom, percent, sizeof(percent)));
    dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
}

void dlb_findings_storage(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *storage = json_object_get(doc, "storage");
    uint32_t n_words = n_columns ? n_columns : 100;
    bool ranks = json_array_size(json_object_get(doc, "ranks")) > 1;
    char line[200];

    curve(storage, n_columns, out);
    (void)snprintf(line, sizeof line,
                   "> the largest number that is fed; p50 to p99.9: latency of reads%s",
                   ranks ? "; accelerators of each rank, rates of all" : "");
    dlb_text_fold(out, line, 0, n_words);
    reach(storage, n_words, out);
    baseline(storage, n_words, out);
    dlb_findings_reasons(doc, n_columns, out);
}
