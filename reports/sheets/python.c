/* Of cells that PyTorch loads: where Python's time goes, and what the same work takes in C. */
#include "core/base/json.h"
#include "reports/ranked.h"
#include "reports/sheets/fills.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const stages[] = {"read", "decode", "transform", "collate"};

/* Of the first cell that was measured in C, too. */
static const json_t *compared(const json_t *doc, int64_t *index)
{
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        const json_t *in_c = json_object_get(cell, "in_c");
        *index = (int64_t)i;
        if (dlb_json_number(in_c, "runs") >= 1 && dlb_json_is_true(in_c, "same_work") &&
            isfinite(dlb_json_number(in_c, "python_sample_ns")))
            return in_c;
    }
    return NULL;
}

static void in_c_row(const char *name, double python, double c, int64_t cell, struct dlb_sheet *out)
{
    dlb_sheet_row(out, cell);
    dlb_sheet_text(out, name);
    dlb_sheet_number(out, python);
    dlb_sheet_number(out, c);
}

void dlb_sheet_in_c(const json_t *doc, struct dlb_sheet *out)
{
    int64_t cell = DLB_SHEET_NO_CELL;
    const json_t *in_c = compared(doc, &cell);
    const json_t *c = json_object_get(in_c, "stages_ns"),
                 *python = json_object_get(in_c, "python_stages_ns");
    if (!in_c)
        return;
    out->chart = DLB_CHART_GROUPS;
    out->axis = "time of a worker for one sample";
    dlb_sheet_column(out, "operation", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "PyTorch", DLB_ROLE_PART, DLB_UNIT_NS);
    dlb_sheet_column(out, "this hardware, in C", DLB_ROLE_PART, DLB_UNIT_NS);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
        in_c_row(stages[i], dlb_json_number(python, stages[i]), dlb_json_number(c, stages[i]), cell,
                 out);
    in_c_row("all", dlb_json_number(in_c, "python_sample_ns"), dlb_json_number(in_c, "sample_ns"),
             cell, out);
    dlb_text_printf(&out->note, "Of cell %lld. ", (long long)cell);
}

void dlb_sheet_python(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *cell = dlb_ranked_offered(doc),
                 *list = json_object_get(json_object_get(cell, "python"), "stages"), *stage;
    const json_t *index = json_object_get(cell, "index");
    size_t i;
    out->chart = DLB_CHART_BARS;
    out->axis = "time, summed over the workers";
    dlb_sheet_column(out, "stage", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "counts as", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "how often", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "each", DLB_ROLE_NONE, DLB_UNIT_NS);
    dlb_sheet_column(out, "in all", DLB_ROLE_Y, DLB_UNIT_NS);
    json_array_foreach(list, i, stage) {
        double count = dlb_json_number(stage, "count"), sum = dlb_json_number(stage, "sum_ns");
        dlb_sheet_row(out, json_is_integer(index) ? json_integer_value(index) : DLB_SHEET_NO_CELL);
        dlb_sheet_text(out, dlb_text_shown(stage, "name"));
        dlb_sheet_text(out, dlb_text_shown(stage, "part"));
        dlb_sheet_number(out, count);
        dlb_sheet_number(out, count > 0 ? sum / count : (double)NAN);
        dlb_sheet_number(out, sum);
    }
}
