#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
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
    if (isfinite(frac))
        (void)snprintf(out, n, "%.1f", frac * 100);
    else
        (void)snprintf(out, n, "-");
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

static void count_text(double count, char *out, size_t n)
{
    if (isfinite(count))
        (void)dlb_count_text(count < 100 ? count : round(count), out, n);
    else
        (void)snprintf(out, n, "-");
}

static void rate_text(double bytes_per_s, char *out, size_t n)
{
    if (isfinite(bytes_per_s) && bytes_per_s >= 0)
        (void)dlb_rate_text(bytes_per_s, out, n);
    else
        (void)snprintf(out, n, "-");
}

static void duration_text(double ns, char *out, size_t n)
{
    if (isfinite(ns) && ns >= 0)
        (void)dlb_duration_text(ns / 1e9, out, n);
    else
        (void)snprintf(out, n, "-");
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
    (void)snprintf(row[0], sizeof(row[0]), "%s%.0f", most ? ">" : "", n);
    au_text(point, row[1], sizeof(row[1]));
    bar_text(dlb_json_number(point, "au"), dlb_json_number(storage, "gate"), row[2],
             sizeof(row[2]));
    count_text(dlb_json_number(point, "samples_per_s"), row[3], sizeof(row[3]));
    rate_text(dlb_json_number(point, "bytes_per_s"), row[4], sizeof(row[4]));
    duration_text(dlb_json_number(point, "read_p50_ns"), row[5], sizeof(row[5]));
    duration_text(dlb_json_number(point, "read_p99_ns"), row[6], sizeof(row[6]));
    duration_text(dlb_json_number(point, "read_p999_ns"), row[7], sizeof(row[7]));
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

static void baseline(const json_t *storage, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *b = json_object_get(storage, "baseline"), *share = json_object_get(b, "share");
    char theirs[40], ours[40], line[400];
    double median = dlb_json_number(share, "median");
    if (!json_is_object(b))
        return;
    if (!isfinite(median)) {
        (void)snprintf(line, sizeof line, "%.*s: not measured (%.*s)",
                       DLB_CUT(dlb_text_shown(b, "program"), 20),
                       DLB_CUT(dlb_text_shown(b, "reason"), 300));
    } else {
        rate_text(dlb_json_number(b, "bytes_per_s"), theirs, sizeof theirs);
        rate_text(dlb_json_number(b, "pipeline_bytes_per_s"), ours, sizeof ours);
        (void)snprintf(
            line, sizeof line,
            "%.*s: %s; the pipeline, alternating with it: %s, %.2f of that (%.2f to %.2f)%s",
            DLB_CUT(dlb_text_shown(b, "program"), 20), theirs, ours, median,
            dlb_json_number(share, "low"), dlb_json_number(share, "high"),
            json_is_true(json_object_get(storage, "capped")) ? "; its accelerators needed no more"
                                                             : "");
    }
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_findings_storage(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *s = json_object_get(doc, "storage");
    uint32_t n_words = n_columns ? n_columns : 100;
    bool ranks = json_array_size(json_object_get(doc, "ranks")) > 1;
    char line[400], iops[40];
    double headroom = dlb_json_number(s, "headroom_frac");

    curve(s, n_columns, out);
    (void)snprintf(line, sizeof line,
                   "> the largest number that is fed; p50 to p99.9: latency of reads%s",
                   ranks ? "; accelerators of each rank, rates of all" : "");
    dlb_text_fold(out, line, 0, n_words);
    count_text(dlb_json_number(s, "iops"), iops, sizeof iops);
    (void)snprintf(line, sizeof line, "gate %.0f%%; %s reads/s at that number",
                   dlb_json_number(s, "gate") * 100, iops);
    if (isfinite(headroom))
        (void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
                       "; the best rate measured is %.1f%% above what they need", headroom * 100);
    dlb_text_fold(out, line, 0, n_words);
    baseline(s, n_words, out);
    dlb_findings_reasons(doc, n_columns, out);
}
