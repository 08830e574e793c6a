/* Where the time goes: of the device's window, of the training loop, of the workers, and how much
 * single steps and waits differ. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "reports/ranked.h"
#include "reports/sheets/fills.h"
#include "reports/sheets/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct part {
    const char *key, *title, *also; /* also: a stage that counts with it, or NULL */
};
/* They add up to the device's window. */
static const struct part window[] = {{"compute", "compute", NULL},
                                     {"exposed_copy", "copy, exposed", NULL},
                                     {"idle_input", "idle: input", NULL},
                                     {"idle_other", "idle: other", NULL}};
/* Likewise, to all that the loop accounts for. */
static const struct part loop[] = {{"input_wait", "waits for a batch", NULL},
                                   {"copy_call", "hands copies over", NULL},
                                   {"step_call", "hands steps over", NULL},
                                   {"host", "computes itself", NULL},
                                   {"device_wait", "waits for steps", "oversleep"},
                                   {"epoch_start", "waits for epochs, others", "barrier"},
                                   {"account", "keeps account", "release"}};
static const struct part work[] = {{"read", "read", NULL},
                                   {"decode", "decode", NULL},
                                   {"transform", "transform", NULL},
                                   {"collate", "collate", NULL},
                                   {"pin", "pin", NULL}};

/* NaN: the stage was not measured. */
static double sum_of(const json_t *stages, const char *key)
{
    const json_t *stage = json_object_get(stages, key);
    if (!json_is_object(stage))
        return (double)NAN;
    return dlb_json_number(stage, "count") > 0 ? dlb_json_number(stage, "sum_ns") : 0;
}

static double sum_of_part(const json_t *stages, const struct part *part)
{
    double own = sum_of(stages, part->key);
    double also = part->also ? sum_of(stages, part->also) : (double)NAN;
    return isnan(also) ? own : isnan(own) ? also : own + also;
}

/* Of the stages that were measured. */
static double sum_of_parts(const json_t *stages, const struct part *parts, size_t n_parts)
{
    double sum = 0;
    for (size_t i = 0; i < n_parts; i++) {
        double own = sum_of_part(stages, &parts[i]);
        sum += isnan(own) ? 0 : own;
    }
    return sum;
}

/* One row for each of the fastest cells: its parts, each over `whole`; nothing for a cell where
 * that is not known. */
static void rows(const json_t *doc, const char *stages, const struct part *parts, size_t n_parts,
                 double (*whole)(const json_t *cell), struct dlb_sheet *out)
{
    uint32_t n, n_all, *shown = dlb_label_fastest(doc, DLB_SHEET_MAX_CELLS, &n, &n_all);
    dlb_label *names = dlb_labels_of(doc);
    for (uint32_t i = 0; i < n; i++) {
        const json_t *cell = json_array_get(json_object_get(doc, "cells"), shown[i]);
        double all = whole(cell);
        if (!(all > 0))
            continue;
        dlb_sheet_row(out, shown[i]);
        dlb_sheet_text(out, names[shown[i]]);
        for (size_t k = 0; k < n_parts; k++)
            dlb_sheet_number(out, sum_of_part(json_object_get(cell, stages), &parts[k]) / all);
    }
    if (n < n_all)
        dlb_text_printf(&out->note, "The fastest %u of %u cells. ", n, n_all);
    free(names);
    free(shown);
}

static double window_ns(const json_t *cell)
{
    const json_t *stages = json_object_get(cell, "device_stages");
    if (!json_object_get(stages, "idle_input")) /* of an earlier version: no whole */
        return (double)NAN;
    return sum_of_parts(stages, window, N(window));
}

void dlb_sheet_window(const json_t *doc, struct dlb_sheet *out)
{
    out->chart = DLB_CHART_STACK;
    out->axis = "share of the measured window";
    dlb_sheet_column(out, "cell", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    for (size_t i = 0; i < N(window); i++)
        dlb_sheet_column(out, window[i].title, DLB_ROLE_PART, DLB_UNIT_FRAC);
    rows(doc, "device_stages", window, N(window), window_ns, out);
}

static double loop_ns(const json_t *cell)
{
    return sum_of_parts(json_object_get(cell, "consumer_stages"), loop, N(loop));
}

void dlb_sheet_loop(const json_t *doc, struct dlb_sheet *out)
{
    out->chart = DLB_CHART_STACK;
    out->axis = "share of the training loop's time";
    dlb_sheet_column(out, "cell", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    for (size_t i = 0; i < N(loop); i++)
        dlb_sheet_column(out, loop[i].title, DLB_ROLE_PART, DLB_UNIT_FRAC);
    rows(doc, "consumer_stages", loop, N(loop), loop_ns, out);
}

static double worker_samples(const json_t *cell)
{
    double sum = sum_of_parts(json_object_get(cell, "worker_stages"), work, N(work));
    return sum > 0 ? dlb_json_number(cell, "worker_samples") : (double)NAN;
}

void dlb_sheet_work(const json_t *doc, struct dlb_sheet *out)
{
    out->chart = DLB_CHART_STACK;
    out->axis = "time of a worker for one sample";
    dlb_sheet_column(out, "cell", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    for (size_t i = 0; i < N(work); i++)
        dlb_sheet_column(out, work[i].title, DLB_ROLE_PART, DLB_UNIT_NS);
    rows(doc, "worker_stages", work, N(work), worker_samples, out);
}

static void spread_row(const char *of, const char *stage, const json_t *figures, int64_t cell,
                       struct dlb_sheet *out)
{
    char name[100];
    if (!(dlb_json_number(figures, "count") > 0) || !(dlb_json_number(figures, "p50_ns") > 0))
        return;
    (void)snprintf(name, sizeof(name), "%.*s: %.*s", DLB_CUT(of, 30), DLB_CUT(stage, 60));
    dlb_sheet_row(out, cell);
    dlb_sheet_text(out, name);
    dlb_sheet_number(out, dlb_json_number(figures, "count"));
    dlb_sheet_number(out, dlb_json_number(figures, "p50_ns"));
    dlb_sheet_number(out, dlb_json_number(figures, "p99_ns"));
    dlb_sheet_number(out, dlb_json_number(figures, "p999_ns"));
    dlb_sheet_number(out, dlb_json_number(figures, "max_ns"));
}

static void spread_rows(const char *of, const json_t *stages, int64_t cell, struct dlb_sheet *out)
{
    const char *key;
    json_t *figures;
    json_object_foreach((json_t *)stages, key, figures)
        spread_row(of, key, figures, cell, out);
}

/* Of the cell whose settings are offered, or of a watched loop. */
void dlb_sheet_spread(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *cell = dlb_ranked_offered(doc), *watch = json_object_get(doc, "watch");
    const json_t *index = json_object_get(cell, "index");
    int64_t number = json_is_integer(index) ? json_integer_value(index) : DLB_SHEET_NO_CELL;
    out->chart = DLB_CHART_RANGES;
    out->log = true;
    out->axis = "duration, logarithmic";
    dlb_sheet_column(out, "what", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "how often", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "p50", DLB_ROLE_LOW, DLB_UNIT_NS);
    dlb_sheet_column(out, "p99", DLB_ROLE_Y, DLB_UNIT_NS);
    dlb_sheet_column(out, "p99.9", DLB_ROLE_HIGH, DLB_UNIT_NS);
    dlb_sheet_column(out, "max", DLB_ROLE_PART, DLB_UNIT_NS);
    spread_rows("device", json_object_get(cell, "device_stages"), number, out);
    spread_rows("training loop", json_object_get(cell, "consumer_stages"), number, out);
    spread_rows("worker", json_object_get(cell, "worker_stages"), number, out);
    spread_row("worker", "one read", json_object_get(cell, "reads"), number, out);
    spread_row("loop", "waits", json_object_get(watch, "waits"), number, out);
    spread_row("loop", "step to step", json_object_get(watch, "step_to_step"), number, out);
    if (number >= 0 && json_array_size(json_object_get(doc, "cells")) > 1)
        dlb_text_printf(&out->note, "Of cell %lld, whose settings are offered. ",
                        (long long)number);
}
