/* The race: what each cell loses to the best, how often it ran, and what became of it. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/sheets/fills.h"
#include "reports/sheets/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runner {
    double loss;
    uint32_t cell;
};

static int by_loss(const void *a, const void *b)
{
    const struct runner *x = a, *y = b;
    return x->loss < y->loss ? -1 : x->loss > y->loss ? 1 : x->cell < y->cell ? -1 : 1;
}

static void columns(struct dlb_sheet *out)
{
    out->chart = DLB_CHART_RANGES;
    out->axis = "loss to the best cell";
    dlb_sheet_column(out, "cell", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "race", DLB_ROLE_SERIES, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "runs", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "last in block", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "probability", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "loss", DLB_ROLE_Y, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_FRAC);
}

/* When it ran last, of the blocks from 1 on. NaN: never, or an older result does not say. */
static double last_block(const json_t *cell)
{
    const json_t *block;
    double last = (double)NAN;
    size_t i;
    json_array_foreach(json_object_get(cell, "blocks"), i, block)
        last = fmax(last, json_number_value(block) + 1);
    return last;
}

static void row(const json_t *cell, const char *name, uint32_t index, struct dlb_sheet *out)
{
    const json_t *race = json_object_get(cell, "race"), *loss = json_object_get(race, "loss_frac");
    dlb_sheet_row(out, index);
    dlb_sheet_text(out, name);
    dlb_sheet_text(out, dlb_text_shown(race, "state"));
    dlb_sheet_number(out, dlb_json_number(cell, "repeats"));
    dlb_sheet_number(out, last_block(cell));
    dlb_sheet_number(out, dlb_json_number(race, "probability"));
    dlb_sheet_estimate(out, loss);
}

/* Why it ended. */
static void note(const json_t *doc, uint32_t n_shown, uint32_t n, struct dlb_sheet *out)
{
    const json_t *detail = json_object_get(doc, "recommendation_detail");
    const char *stopped = dlb_json_text(detail, "stopped");
    double blocks = dlb_json_number(detail, "blocks");
    if (stopped[0] && isfinite(blocks))
        dlb_text_printf(&out->note, "Blocks: %.0f. It ended by: %.*s. ", fmin(blocks, 1e9),
                        DLB_CUT(stopped, 40));
    if (n_shown < n)
        dlb_text_printf(&out->note, "The %u cells with the least loss, of %u. ", n_shown, n);
}

void dlb_sheet_race(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    struct runner *runners = dlb_mem_array(json_array_size(cells), sizeof(*runners));
    dlb_label *names = dlb_labels_of(doc);
    uint32_t n = 0;
    size_t i;
    json_array_foreach(cells, i, cell) {
        const json_t *race = json_object_get(cell, "race");
        double loss = dlb_json_number(json_object_get(race, "loss_frac"), "median");
        if (json_is_object(race))
            runners[n++] = (struct runner){isfinite(loss) ? loss : INFINITY, (uint32_t)i};
    }
    qsort(runners, n, sizeof(*runners), by_loss);
    columns(out);
    uint32_t n_shown = n < DLB_SHEET_MAX_CELLS ? n : DLB_SHEET_MAX_CELLS;
    for (uint32_t k = 0; k < n_shown; k++)
        row(json_array_get(cells, runners[k].cell), names[runners[k].cell], runners[k].cell, out);
    if (n > 0 && isinf(runners[0].loss)) { /* nothing is known of any cell yet */
        out->chart = DLB_CHART_NONE;
        note(doc, n_shown, n, out);
    } else if (n > 0) {
        dlb_sheet_mark(out, "sweep.tolerance",
                       dlb_json_number(json_object_get(doc, "config"), "sweep.tolerance"), false);
        note(doc, n_shown, n, out);
    }
    free(names);
    free(runners);
}
