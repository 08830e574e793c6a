/* Of a run on several ranks: what each did, and whether the others wait for one. */
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

#define MAX_ROWS 64 /* of more ranks, the first ones and the straggler */

enum { ALWAYS, DONE, WAIT };

static void percent(double frac, char *text)
{
    if (isfinite(frac))
        (void)snprintf(text, DLB_TABLE_CELL_CAP, "%.1f", frac * 100);
    else
        (void)snprintf(text, DLB_TABLE_CELL_CAP, "-");
}

static void count(double n, char *text, size_t n_text)
{
    if (isfinite(n))
        (void)dlb_count_text(round(n), text, n_text);
    else
        (void)snprintf(text, n_text, "-");
}

static void fill_row(const json_t *rank, char (*row)[DLB_TABLE_CELL_CAP])
{
    double done_s = dlb_json_number(rank, "done_s");
    const char *straggler = dlb_json_text(rank, "straggler");
    (void)snprintf(row[0], sizeof(row[0]), "%.0f", dlb_json_number(rank, "rank"));
    (void)snprintf(row[1], sizeof(row[1]), "%.*s", DLB_CUT(dlb_text_shown(rank, "node"), 30));
    count(dlb_json_number(rank, "samples_per_s"), row[2], sizeof(row[2]));
    percent(dlb_json_number(rank, "gpu_idle_frac"), row[3]);
    percent(dlb_json_number(rank, "input_wait_frac"), row[4]);
    (void)snprintf(row[5], sizeof(row[5]), isfinite(done_s) ? "%.2f" : "-", done_s);
    (void)snprintf(row[6], sizeof(row[6]), "%.30s", straggler[0] ? straggler : "");
}

static void table_of(const json_t *ranks, uint32_t n_columns, struct dlb_text *out)
{
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    const json_t *rank;
    size_t i;
    (void)dlb_table_add(table, "rank", ALWAYS, false);
    (void)dlb_table_add(table, "node", ALWAYS, true);
    (void)dlb_table_add(table, "samples/s", ALWAYS, false);
    (void)dlb_table_add(table, "GPU idle %", ALWAYS, false);
    (void)dlb_table_add(table, "input wait %", WAIT, false);
    (void)dlb_table_add(table, "done s", DONE, false);
    (void)dlb_table_add(table, "", ALWAYS, true);
    table->cell = dlb_mem_array(json_array_size(ranks) * table->n_columns, sizeof(*table->cell));
    json_array_foreach(ranks, i, rank)
        if (i < MAX_ROWS || dlb_json_text(rank, "straggler")[0])
            fill_row(rank, &table->cell[(size_t)table->n_rows++ * table->n_columns]);
    (void)dlb_table_render(table, n_columns, out);
    if (table->n_rows < json_array_size(ranks))
        dlb_text_printf(out, "(summary.json has all %zu ranks)\n", json_array_size(ranks));
    free(table->cell);
    free(table);
}

static void rates(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *all = json_object_get(doc, "ranks_samples_per_s"),
                 *barrier = json_object_get(doc, "barrier_us");
    double first_s = dlb_json_number(doc, "first_done_s"),
           last_s = dlb_json_number(doc, "last_done_s");
    char line[400], total[40], worst[40], median[40], ends[120] = "";
    count(dlb_json_number(all, "total"), total, sizeof(total));
    count(dlb_json_number(all, "worst"), worst, sizeof(worst));
    count(dlb_json_number(all, "median"), median, sizeof(median));
    if (isfinite(first_s) && isfinite(last_s))
        (void)snprintf(ends, sizeof(ends),
                       " The first had measured after %.2f s, the last after %.2f s.", first_s,
                       last_s);
    (void)snprintf(line, sizeof(line),
                   "All ranks: %s samples/s; the slowest %s, the median one %s.%s", total, worst,
                   median, ends);
    dlb_text_fold(out, line, 0, n_columns);
    if (json_is_false(json_object_get(doc, "ranks_together")))
        dlb_text_fold(out,
                      "Not all ranks loaded until all had measured: they train whole epochs, the "
                      "cache is cold, or their data ended before. So the rate of all is not the "
                      "sum of theirs, but all samples over the window of the slowest rank "
                      "(ranks_together).",
                      0, n_columns);
    if (!json_is_object(barrier))
        return;
    (void)snprintf(line, sizeof(line), "The barrier over all ranks: p50 %.0f us, p99 %.0f us.",
                   dlb_json_number(barrier, "p50"), dlb_json_number(barrier, "p99"));
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_straggler_text(const json_t *doc, char *text, size_t n_text)
{
    const json_t *s = json_object_get(doc, "straggler");
    text[0] = '\0';
    if (json_is_object(s))
        (void)snprintf(
            text, n_text,
            "%.*s: rank %.0f on %.*s. In each step the others wait %.3g ms for it, %.0f%% "
            "of a step. It took %.3g ms for what takes rank %.0f, the median one, %.3g.",
            DLB_CUT(dlb_text_shown(s, "class"), 30), dlb_json_number(s, "rank"),
            DLB_CUT(dlb_text_shown(s, "node"), 60), dlb_json_number(s, "cost_ms"),
            dlb_json_number(s, "score") * 100, dlb_json_number(s, "part_ms"),
            dlb_json_number(s, "median_rank"), dlb_json_number(s, "median_part_ms"));
}

void dlb_findings_ranks(const json_t *doc, uint32_t n_columns, uint32_t n_words,
                        struct dlb_text *out)
{
    const json_t *ranks = json_object_get(doc, "ranks");
    char line[500];
    if (json_array_size(ranks) < 2)
        return;
    dlb_text_printf(out, "\n");
    table_of(ranks, n_columns, out);
    rates(doc, n_words, out);
    dlb_straggler_text(doc, line, sizeof(line));
    if (line[0])
        dlb_text_fold(out, line, 0, n_words);
}
