/* The in-memory ladder, and what PyTorch's last rung takes beyond direct indexing. */
#include "core/base/json.h"
#include "reports/sheets/fills.h"
#include "reports/sheets/labels.h"

#include <math.h>
#include <string.h>

static const json_t *gap_of(const json_t *doc)
{
    return json_object_get(doc, "gap");
}

void dlb_sheet_ladder(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *rung;
    size_t i;
    out->chart = DLB_CHART_RANGES;
    out->log = true;
    out->axis = "an epoch, logarithmic";
    dlb_sheet_column(out, "rung", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "an epoch", DLB_ROLE_Y, DLB_UNIT_S);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_S);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_S);
    dlb_sheet_column(out, "of direct", DLB_ROLE_NONE, DLB_UNIT_RATIO);
    dlb_sheet_column(out, "of floor", DLB_ROLE_NONE, DLB_UNIT_RATIO);
    dlb_sheet_column(out, "repetitions", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "not measured because", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    json_array_foreach(json_object_get(gap_of(doc), "rungs"), i, rung) {
        const json_t *seconds = json_object_get(rung, "seconds");
        dlb_sheet_row(out, DLB_SHEET_NO_CELL);
        dlb_sheet_text(out, dlb_text_shown(rung, "rung"));
        dlb_sheet_estimate(out, seconds);
        dlb_sheet_number(out, dlb_json_number(rung, "ratio_to_direct"));
        dlb_sheet_number(out, dlb_json_number(rung, "ratio_to_floor"));
        dlb_sheet_number(out, (double)json_array_size(json_object_get(seconds, "values")));
        dlb_sheet_text(out, dlb_label_has_status(rung, "ok") ? "" : dlb_text_shown(rung, "reason"));
    }
}

static void part_row(const json_t *part, struct dlb_sheet *out)
{
    dlb_sheet_row(out, DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, dlb_text_shown(part, "part"));
    dlb_sheet_number(out, dlb_json_number(part, "seconds"));
    dlb_sheet_number(out, dlb_json_number(part, "low"));
    dlb_sheet_number(out, dlb_json_number(part, "high"));
    dlb_sheet_number(out, dlb_json_number(part, "frac"));
    dlb_sheet_text(out, dlb_text_shown(part, "label"));
    dlb_sheet_text(out, dlb_text_shown(part, "removed_by"));
}

void dlb_sheet_waterfall(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *gap = gap_of(doc), *parts = json_object_get(gap, "decomposition"), *part;
    double total = dlb_json_number(gap, "total_seconds");
    size_t i;
    if (json_array_size(parts) == 0)
        return;
    out->chart = DLB_CHART_WATERFALL;
    out->axis = "time of an epoch beyond torch-direct";
    dlb_sheet_column(out, "part", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "time", DLB_ROLE_Y, DLB_UNIT_S);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_S);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_S);
    dlb_sheet_column(out, "share", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "known by", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "removed by", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    json_array_foreach(parts, i, part)
        part_row(part, out);
    dlb_sheet_row(out, DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, "all");
    dlb_sheet_number(out, total);
    dlb_sheet_number(out, dlb_json_number(gap, "total_low"));
    dlb_sheet_number(out, dlb_json_number(gap, "total_high"));
    dlb_sheet_number(out, isfinite(total) ? 1 : (double)NAN);
    dlb_sheet_text(out, "");
    dlb_sheet_text(out, "");
}

/* Of dlbench.watch: a row for each epoch. */
void dlb_sheet_epochs(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *epoch;
    size_t i;
    out->chart = DLB_CHART_NONE;
    dlb_sheet_column(out, "epoch", DLB_ROLE_LABEL, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "ended", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "steps", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "samples/s", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "steps/s", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "waits", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "first wait", DLB_ROLE_NONE, DLB_UNIT_NS);
    json_array_foreach(json_object_get(json_object_get(doc, "watch"), "epochs"), i, epoch) {
        dlb_sheet_row(out, DLB_SHEET_NO_CELL);
        dlb_sheet_number(out, dlb_json_number(epoch, "number"));
        dlb_sheet_text(out, dlb_text_shown(epoch, "ended"));
        dlb_sheet_number(out, dlb_json_number(epoch, "steps"));
        dlb_sheet_number(out, dlb_json_number(epoch, "samples_per_s"));
        dlb_sheet_number(out, dlb_json_number(epoch, "steps_per_s"));
        dlb_sheet_number(out, dlb_json_number(epoch, "wait_frac"));
        dlb_sheet_number(out, dlb_json_number(epoch, "first_wait_ns"));
    }
}
