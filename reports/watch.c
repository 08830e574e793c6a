#include "reports/watch.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/table.h"
#include "reports/title.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EPOCHS 20 /* shown of each document */

/* Ranks of columns: where the width is short, the highest is dropped first. */
enum { ALWAYS, FIRST, SECOND, THIRD };

typedef char cell_text[DLB_TABLE_CELL_CAP];

bool dlb_watch_is(const json_t *doc)
{
    return strcmp(dlb_json_text(doc, "command"), "watch") == 0;
}

static const json_t *watch_of(const json_t *doc)
{
    return json_object_get(doc, "watch");
}

/* As the begin of a sentence. */
static const char *name_of(const json_t *watch)
{
    return strcmp(dlb_json_text(watch, "mode"), "replay") == 0 ? "Replayed" : "Live";
}

static void put_ns(cell_text out, double ns)
{
    if (isfinite(ns) && ns >= 0)
        (void)dlb_duration_text(ns * 1e-9, out, DLB_TABLE_CELL_CAP);
    else
        (void)snprintf(out, DLB_TABLE_CELL_CAP, "-");
}

static void put_count(cell_text out, double count)
{
    if (isfinite(count))
        (void)dlb_count_text(count < 100 ? count : round(count), out, DLB_TABLE_CELL_CAP);
    else
        (void)snprintf(out, DLB_TABLE_CELL_CAP, "-");
}

static void put_percent(cell_text out, double frac)
{
    if (fabs(frac) < 1e6)
        (void)snprintf(out, DLB_TABLE_CELL_CAP, "%.1f", frac * 100);
    else
        (void)snprintf(out, DLB_TABLE_CELL_CAP, "-");
}

static const struct {
    const char *title;
    uint32_t rank;
} columns[] = {{"", ALWAYS},        {"steps", ALWAYS},    {"samples/s", ALWAYS},
               {"steps/s", SECOND}, {"waits %", ALWAYS},  {"wait p50", FIRST},
               {"p99", FIRST},      {"longest", SECOND},  {"step p50", SECOND},
               {"start", THIRD},    {"first wait", THIRD}};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* Of a document's `watch`, or of one of its epochs. */
static void put_row(cell_text *row, const char *name, const json_t *figures)
{
    const json_t *waits = json_object_get(figures, "waits");
    (void)snprintf(row[0], DLB_TABLE_CELL_CAP, "%.*s", DLB_CUT(name, DLB_TABLE_CELL_CAP - 1));
    put_count(row[1], dlb_json_number(figures, "steps"));
    put_count(row[2], dlb_json_number(figures, "samples_per_s"));
    put_count(row[3], dlb_json_number(figures, "steps_per_s"));
    put_percent(row[4], dlb_json_number(figures, "wait_frac"));
    put_ns(row[5], dlb_json_number(waits, "p50_ns"));
    put_ns(row[6], dlb_json_number(waits, "p99_ns"));
    put_ns(row[7], dlb_json_number(waits, "max_ns"));
    put_ns(row[8], dlb_json_number(json_object_get(figures, "step_to_step"), "p50_ns"));
    put_ns(row[9], dlb_json_number(figures, "start_ns"));
    put_ns(row[10], dlb_json_number(figures, "first_wait_ns"));
}

static void add_epochs(struct dlb_table *table, const json_t *doc, const char *prefix)
{
    const json_t *epochs = json_object_get(watch_of(doc), "epochs"), *epoch;
    char name[64];
    size_t i;
    json_array_foreach(epochs, i, epoch) {
        const char *ended = dlb_json_text(epoch, "ended");
        if (i == MAX_EPOCHS)
            break;
        (void)snprintf(name, sizeof name, "%sepoch %.0f%s", prefix,
                       fmin(fmax(dlb_json_number(epoch, "number"), 0), 1e9),
                       strcmp(ended, "exhausted") == 0 ? ""
                       : strcmp(ended, "left") == 0    ? " (left)"
                                                       : " (running)");
        put_row(&table->cell[(size_t)table->n_rows++ * N_COLUMNS], name, epoch);
    }
}

static void render_table(const json_t *const *docs, uint32_t n, uint32_t width,
                         struct dlb_text *out)
{
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    table->cell = dlb_mem_array((size_t)n * (MAX_EPOCHS + 1) * N_COLUMNS, sizeof(*table->cell));
    for (uint32_t k = 0; k < N_COLUMNS; k++)
        (void)dlb_table_add(table, columns[k].title, columns[k].rank, k == 0);
    for (uint32_t i = 0; i < n; i++)
        put_row(&table->cell[(size_t)table->n_rows++ * N_COLUMNS],
                dlb_text_shown(watch_of(docs[i]), "mode"), watch_of(docs[i]));
    for (uint32_t i = 0; i < n; i++) {
        char prefix[24] = "";
        if (n > 1)
            (void)snprintf(prefix, sizeof prefix, "%.*s, ",
                           DLB_CUT(dlb_text_shown(watch_of(docs[i]), "mode"), 12));
        add_epochs(table, docs[i], prefix);
    }
    (void)dlb_table_render(table, width, out);
    free(table->cell);
    free(table);
    for (uint32_t i = 0; i < n; i++) {
        size_t n_epochs = json_array_size(json_object_get(watch_of(docs[i]), "epochs"));
        if (n_epochs > MAX_EPOCHS)
            dlb_text_printf(out, "(%zu further epochs of the %s loop are in summary.json)\n",
                            n_epochs - MAX_EPOCHS, i ? "second" : "first");
    }
}

static void render_head(const json_t *doc, uint32_t n_words, struct dlb_text *out)
{
    const json_t *watch = watch_of(doc), *environment = json_object_get(doc, "environment");
    char line[512], cost[40] = "";
    double rank = dlb_json_number(doc, "rank"), world = dlb_json_number(doc, "world"),
           cost_ns = dlb_json_number(watch, "cost_ns");
    dlb_report_title(doc, "watch", n_words, out);
    (void)snprintf(line, sizeof line, "loop:   %.*s, %.*s; torch %.*s",
                   DLB_CUT(dlb_text_shown(watch, "loader"), 120),
                   DLB_CUT(strcmp(dlb_json_text(watch, "mode"), "replay") == 0
                               ? "one kept batch is repeated"
                               : "live",
                           40),
                   DLB_CUT(dlb_text_shown(environment, "torch"), 40));
    if (world > 1 && rank >= 0)
        (void)snprintf(line + strlen(line), sizeof line - strlen(line), "; rank %.0f of %.0f",
                       fmin(rank, 1e9), fmin(world, 1e9));
    if (cost_ns >= 0) {
        (void)dlb_duration_text(cost_ns * 1e-9, cost, sizeof cost);
        (void)snprintf(line + strlen(line), sizeof line - strlen(line),
                       "; watching adds %s to a step", cost);
    }
    dlb_text_fold(out, line, 0, n_words);
}

/* Where there are steps and no rate, most epochs were left early. */
static void say_too_few(const json_t *watch, uint32_t n_words, struct dlb_text *out)
{
    double steps = dlb_json_number(watch, "steps");
    char line[256], count[DLB_TABLE_CELL_CAP];
    if (!(steps > 0) || isfinite(dlb_json_number(watch, "steps_per_s")))
        return;
    put_count(count, steps);
    (void)snprintf(
        line, sizeof line,
        "%s loop: %s steps give no rate, because epochs were left after fewer than 11 each. "
        "The training on the last batch of an epoch that was left is not timed.",
        name_of(watch), count);
    dlb_text_fold(out, line, 0, n_words);
}

static void say_overlap(const json_t *watch, uint32_t n_words, struct dlb_text *out)
{
    const json_t *epochs = json_object_get(watch, "epochs"), *epoch;
    double shared_ns = -dlb_json_number(watch, "wall_ns");
    char line[256], shared[40];
    size_t i;
    json_array_foreach(epochs, i, epoch)
        shared_ns += dlb_json_number(epoch, "wall_ns");
    if (!(shared_ns > 0) || !isfinite(shared_ns))
        return;
    (void)snprintf(line, sizeof line,
                   "%s loop: epochs overlap for %s, which is counted once. The row of an epoch has "
                   "the waits for its own batches only.",
                   name_of(watch), dlb_duration_text(shared_ns * 1e-9, shared, sizeof shared));
    dlb_text_fold(out, line, 0, n_words);
}

static void say_waits(const json_t *doc, uint32_t n_words, struct dlb_text *out)
{
    const json_t *watch = watch_of(doc);
    char line[512], wait[40], wall[40];
    double wait_ns = dlb_json_number(watch, "wait_ns"), wall_ns = dlb_json_number(watch, "wall_ns"),
           frac = dlb_json_number(watch, "wait_frac");
    if (!(fabs(frac) < 1e6) || !(wait_ns >= 0) || !(wall_ns >= 0))
        return;
    (void)snprintf(line, sizeof line,
                   "%s loop: the host waited for data %.1f%% of the time, %s of %s.",
                   name_of(watch), frac * 100, dlb_duration_text(wait_ns * 1e-9, wait, sizeof wait),
                   dlb_duration_text(wall_ns * 1e-9, wall, sizeof wall));
    dlb_text_fold(out, line, 0, n_words);
}

/* By samples, or by steps where a loop's samples are not known. */
static double rate_ratio(const json_t *live, const json_t *replay)
{
    double ratio =
        dlb_json_number(replay, "samples_per_s") / dlb_json_number(live, "samples_per_s");
    return isfinite(ratio)
               ? ratio
               : dlb_json_number(replay, "steps_per_s") / dlb_json_number(live, "steps_per_s");
}

static void say_headroom(const json_t *const *docs, uint32_t n_words, struct dlb_text *out)
{
    bool first = strcmp(dlb_json_text(watch_of(docs[0]), "mode"), "live") == 0;
    const json_t *live = docs[first ? 0 : 1], *replay = docs[first ? 1 : 0];
    const char *host = dlb_json_text(json_object_get(live, "environment"), "host");
    char line[256];
    double ratio = rate_ratio(watch_of(live), watch_of(replay));
    if (strcmp(dlb_json_text(watch_of(live), "mode"), "live") != 0 ||
        strcmp(dlb_json_text(watch_of(replay), "mode"), "replay") != 0 || !isfinite(ratio))
        return;
    (void)snprintf(line, sizeof line,
                   "With data always ready this loop runs %.2f times as fast: faster loading gains "
                   "that much at most.",
                   fmin(ratio, 1e9));
    dlb_text_fold(out, line, 0, n_words);
    if (strcmp(host, dlb_json_text(json_object_get(replay, "environment"), "host")) != 0)
        dlb_text_fold(out, "The two ran on different hosts: they may not be comparable.", 0,
                      n_words);
}

void dlb_watch_render(const json_t *const *docs, uint32_t n, uint32_t n_columns, uint32_t n_words,
                      struct dlb_text *out)
{
    for (uint32_t i = 0; i < n; i++)
        render_head(docs[i], n_words, out);
    dlb_text_printf(out, "\n");
    render_table(docs, n, n_columns, out);
    dlb_text_printf(out, "\n");
    for (uint32_t i = 0; i < n; i++) {
        say_waits(docs[i], n_words, out);
        say_too_few(watch_of(docs[i]), n_words, out);
        say_overlap(watch_of(docs[i]), n_words, out);
    }
    if (n == 2)
        say_headroom(docs, n_words, out);
    dlb_text_fold(out,
                  "A wait is the host's time in the loader. It is not the GPU's idle time: queued "
                  "steps may run meanwhile.",
                  0, n_words);
}
