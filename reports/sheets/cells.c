/* Every cell of a result, with each of its repetitions. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "reports/ranked.h"
#include "reports/sheets/fills.h"
#include "reports/sheets/labels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_AXES 12

struct shape {
    const char *axis[MAX_AXES];
    struct dlb_label_axis values[MAX_AXES];
    uint32_t n_axes;
    bool mixed, raced;
};

static struct shape shape_of(const json_t *doc)
{
    struct shape shape = {.n_axes = 0};
    const json_t *cell, *axis;
    const char *key, *first = NULL;
    size_t i;
    json_object_foreach((json_t *)json_object_get(doc, "axes"), key, axis) {
        if (shape.n_axes == MAX_AXES || json_array_size(axis) < 2)
            continue;
        dlb_label_axis_open(axis, &shape.values[shape.n_axes]);
        shape.axis[shape.n_axes++] = key;
    }
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const char *own = dlb_json_text(cell, "pipeline");
        shape.raced = shape.raced || json_is_object(json_object_get(cell, "race"));
        shape.mixed = shape.mixed || (first && strcmp(first, own) != 0);
        first = own;
    }
    return shape;
}

static void shape_close(struct shape *shape)
{
    for (uint32_t i = 0; i < shape->n_axes; i++)
        dlb_label_axis_close(&shape->values[i]);
}

static void columns(const struct shape *shape, struct dlb_sheet *out)
{
    dlb_sheet_column(out, "cell", DLB_ROLE_LABEL, DLB_UNIT_COUNT);
    if (shape->mixed)
        dlb_sheet_column(out, "pipeline", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    for (uint32_t i = 0; i < shape->n_axes; i++)
        dlb_sheet_column(out, dlb_label_title(shape->axis[i]), DLB_ROLE_NONE, DLB_UNIT_COUNT);
    if (shape->raced)
        dlb_sheet_column(out, "race", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "samples/s", DLB_ROLE_Y, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "GPU idle", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "input wait", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "gain", DLB_ROLE_NONE, DLB_UNIT_RATIO);
    dlb_sheet_column(out, "read", DLB_ROLE_NONE, DLB_UNIT_BYTES_PER_S);
    dlb_sheet_column(out, "first batch", DLB_ROLE_NONE, DLB_UNIT_NS);
    dlb_sheet_column(out, "memory", DLB_ROLE_NONE, DLB_UNIT_BYTES);
    dlb_sheet_column(out, "verdict", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "repetitions, samples/s", DLB_ROLE_NONE, DLB_UNIT_TEXT);
}

/* "INPUT-BOUND (decode)", or why it did not run. */
static void outcome(const json_t *cell, struct dlb_sheet *out)
{
    const json_t *verdict = json_object_get(cell, "verdict");
    const char *status = dlb_text_shown(cell, "status"), *cause = dlb_json_text(verdict, "cause");
    char text[600];
    if (strcmp(status, "ok") != 0)
        (void)snprintf(text, sizeof(text), "%.*s: %.*s", DLB_CUT(status, 20),
                       DLB_CUT(dlb_text_shown(cell, "reason"), 500));
    else if (cause[0] && strcmp(cause, "none") != 0)
        (void)snprintf(text, sizeof(text), "%.*s (%.*s)",
                       DLB_CUT(dlb_text_shown(verdict, "class"), 40), DLB_CUT(cause, 40));
    else
        (void)snprintf(text, sizeof(text), "%.*s", DLB_CUT(dlb_text_shown(verdict, "class"), 40));
    dlb_sheet_text(out, text);
}

static void repetitions(const json_t *rate, struct dlb_sheet *out)
{
    struct dlb_text words = {0};
    const json_t *value;
    char text[40];
    size_t i;
    json_array_foreach(json_object_get(rate, "values"), i, value) {
        double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
        dlb_text_printf(&words, "%s%s", i ? " " : "",
                        dlb_unit_text(DLB_UNIT_COUNT, number, text, sizeof(text)));
    }
    dlb_sheet_text(out, words.data ? words.data : "");
    dlb_text_free(&words);
}

/* As the number that it may be, so that rows can be sorted by it. In full, if charts show it by its
 * number. */
static void setting(const struct dlb_label_axis *axis, const json_t *value, struct dlb_sheet *out)
{
    char text[DLB_VALUE_CAP + 24];
    bool alike = dlb_label_value(axis, value, text, sizeof(text));
    double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    dlb_sheet_both(out, number, alike && json_is_string(value) ? json_string_value(value) : text);
}

static void row(const json_t *doc, const struct shape *shape, const json_t *cell, int64_t index,
                struct dlb_sheet *out)
{
    const json_t *rate = json_object_get(cell, dlb_ranked_rate(doc)),
                 *config = json_object_get(cell, "config");
    dlb_sheet_row(out, index);
    dlb_sheet_number(out, (double)index);
    if (shape->mixed)
        dlb_sheet_text(out, dlb_text_shown(cell, "pipeline"));
    for (uint32_t i = 0; i < shape->n_axes; i++)
        setting(&shape->values[i], json_object_get(config, shape->axis[i]), out);
    if (shape->raced)
        dlb_sheet_text(out, dlb_text_shown(json_object_get(cell, "race"), "state"));
    dlb_sheet_estimate(out, rate);
    dlb_sheet_number(out, dlb_ranked_share(doc, cell, "gpu_idle_frac"));
    dlb_sheet_number(out, dlb_ranked_share(doc, cell, "input_wait_frac"));
    dlb_sheet_number(
        out, dlb_json_number(json_object_get(json_object_get(cell, "verdict"), "gain"), "median"));
    dlb_sheet_number(out, dlb_json_number(cell, "read_bytes_per_s"));
    dlb_sheet_number(
        out, dlb_json_number(json_array_get(json_object_get(cell, "epochs"), 0), "first_batch_ns"));
    dlb_sheet_number(out, dlb_json_number(json_object_get(cell, "memory"), "peak_pss_bytes"));
    outcome(cell, out);
    repetitions(rate, out);
}

void dlb_sheet_cells(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    size_t i;
    if (json_array_size(cells) == 0)
        return;
    struct shape shape = shape_of(doc);
    columns(&shape, out);
    json_array_foreach(cells, i, cell)
        row(doc, &shape, cell, (int64_t)i, out);
    shape_close(&shape);
    if (json_array_size(cells) > 1) {
        const json_t *best = json_object_get(doc, "best_cell"),
                     *recommended = json_object_get(doc, "recommended_cell");
        if (json_is_integer(best))
            dlb_text_printf(&out->note, "Best: cell %lld. ", (long long)json_integer_value(best));
        if (json_is_integer(recommended))
            dlb_text_printf(&out->note, "Recommended: cell %lld. ",
                            (long long)json_integer_value(recommended));
    }
}
