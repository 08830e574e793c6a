/* Of a run on several ranks: what each did, and whether the others wait for one. */
#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/sheet.h"
#include "reports/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 64 /* of more ranks, the first ones and the straggler */

enum { ALWAYS, DONE, WAIT };

static void percent(const json_t *rank, const char *key, char cell[DLB_TABLE_CELL_CAP])
{
    (void)dlb_text_percent(DLB_PERCENT_BARE, dlb_json_number(rank, key), cell, DLB_TABLE_CELL_CAP);
}

static const char *count(const json_t *object, const char *key, char text[DLB_TABLE_CELL_CAP])
{
    return dlb_unit_text(DLB_UNIT_COUNT, round(dlb_json_number(object, key)), text,
                         DLB_TABLE_CELL_CAP);
}

static void seconds(double s, char cell[DLB_TABLE_CELL_CAP])
{
    (void)snprintf(cell, DLB_TABLE_CELL_CAP,
                   !isfinite(s)     ? "-"
                   : fabs(s) < 1e12 ? "%.2f"
                                    : "%.3g",
                   s);
}

static void fill_row(const json_t *rank, char (*row)[DLB_TABLE_CELL_CAP])
{
    dlb_text_value(json_object_get(rank, "rank"), row[0], sizeof(row[0]));
    (void)snprintf(row[1], sizeof(row[1]), "%.*s", DLB_CUT(dlb_text_shown(rank, "node"), 30));
    (void)count(rank, "samples_per_s", row[2]);
    percent(rank, "gpu_idle_frac", row[3]);
    percent(rank, "input_wait_frac", row[4]);
    seconds(dlb_json_number(rank, "done_s"), row[5]);
    (void)snprintf(row[6], sizeof(row[6]), "%.*s", DLB_CUT(dlb_json_text(rank, "straggler"), 30));
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

static void rate_line(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *all = json_object_get(doc, "ranks_samples_per_s");
    double first_s = dlb_json_number(doc, "first_done_s"),
           last_s = dlb_json_number(doc, "last_done_s");
    char total[DLB_TABLE_CELL_CAP], worst[DLB_TABLE_CELL_CAP], median[DLB_TABLE_CELL_CAP];
    struct dlb_text line = {0};
    dlb_text_printf(&line, "All ranks: %s samples/s; the slowest %s, the median one %s.",
                    count(all, "total", total), count(all, "worst", worst),
                    count(all, "median", median));
    if (isfinite(first_s) && isfinite(last_s))
        dlb_text_printf(&line, " The first had measured after %.2f s, the last after %.2f s.",
                        first_s, last_s);
    dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
}

static void barrier_line(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *barrier = json_object_get(doc, "barrier_us");
    char line[200], p50[DLB_TABLE_CELL_CAP], p99[DLB_TABLE_CELL_CAP];
    if (!isfinite(dlb_json_number(barrier, "p50")) || !isfinite(dlb_json_number(barrier, "p99")))
        return;
    (void)snprintf(line, sizeof(line), "The barrier over all ranks: p50 %s us, p99 %s us.",
                   count(barrier, "p50", p50), count(barrier, "p99", p99));
    dlb_text_fold(out, line, 0, n_columns);
}

static void rates(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    rate_line(doc, n_columns, out);
    if (json_is_false(json_object_get(doc, "ranks_together")))
        dlb_text_fold(out,
                      "Not all ranks loaded until all had measured: they train whole epochs, the "
                      "cache is cold, or their data ended before. So the rate of all is not the "
                      "sum of theirs, but all samples over the window of the slowest rank "
                      "(ranks_together).",
                      0, n_columns);
    barrier_line(doc, n_columns, out);
}

static void say_cost(const json_t *straggler, struct dlb_text *out)
{
    double cost_ms = dlb_json_number(straggler, "cost_ms"),
           score = dlb_json_number(straggler, "score");
    char text[24];
    if (!isfinite(cost_ms))
        return;
    dlb_text_printf(out, " In each step the others wait %.3g ms for it", cost_ms);
    if (isfinite(score))
        dlb_text_printf(out, ", %s of a step",
                        dlb_text_percent(DLB_PERCENT_WHOLE, score, text, sizeof(text)));
    dlb_text_printf(out, ".");
}

static void say_part(const json_t *straggler, struct dlb_text *out)
{
    double its_ms = dlb_json_number(straggler, "part_ms"),
           usual_ms = dlb_json_number(straggler, "median_part_ms");
    char median[DLB_TABLE_CELL_CAP];
    if (!isfinite(its_ms) || !isfinite(usual_ms))
        return;
    dlb_text_value(json_object_get(straggler, "median_rank"), median, sizeof(median));
    dlb_text_printf(out, " It took %.3g ms for what takes rank %s, the median one, %.3g.", its_ms,
                    median, usual_ms);
}

void dlb_straggler_text(const json_t *doc, struct dlb_text *out)
{
    const json_t *s = json_object_get(doc, "straggler"), *rank = json_object_get(s, "rank");
    char number[DLB_TABLE_CELL_CAP];
    if (!json_is_integer(rank))
        return;
    dlb_text_value(rank, number, sizeof(number));
    dlb_text_printf(out, "%.*s: rank %s on %.*s.", DLB_CUT(dlb_text_shown(s, "class"), 30), number,
                    DLB_CUT(dlb_text_shown(s, "node"), 60));
    say_cost(s, out);
    say_part(s, out);
}

void dlb_findings_ranks(const json_t *doc, uint32_t n_columns, uint32_t n_words,
                        struct dlb_text *out)
{
    const json_t *ranks = json_object_get(doc, "ranks");
    struct dlb_text line = {0};
    if (json_array_size(ranks) < 2)
        return;
    dlb_text_printf(out, "\n");
    table_of(ranks, n_columns, out);
    rates(doc, n_words, out);
    dlb_straggler_text(doc, &line);
    if (line.data)
        dlb_text_fold(out, line.data, 0, n_words);
    dlb_text_free(&line);
}
