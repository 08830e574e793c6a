/* Of a run on several ranks: a row for each. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "reports/findings.h"
#include "reports/sheets/fills.h"

void dlb_sheet_ranks(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *ranks = json_object_get(doc, "ranks"), *rank;
    char number[40];
    size_t i;
    if (json_array_size(ranks) < 2)
        return;
    out->chart = json_array_size(ranks) <= DLB_SHEET_MAX_CELLS ? DLB_CHART_BARS : DLB_CHART_NONE;
    out->axis = "samples/s";
    dlb_sheet_column(out, "rank", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "samples/s", DLB_ROLE_Y, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "GPU idle", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "input wait", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "done", DLB_ROLE_NONE, DLB_UNIT_S);
    dlb_sheet_column(out, "straggler", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    json_array_foreach(ranks, i, rank) {
        struct dlb_text name = {0};
        dlb_text_value(json_object_get(rank, "rank"), number, sizeof(number));
        dlb_text_printf(&name, "%s on %.*s", number, DLB_CUT(dlb_text_shown(rank, "node"), 60));
        dlb_sheet_row(out, DLB_SHEET_NO_CELL);
        dlb_sheet_text(out, name.data);
        dlb_text_free(&name);
        dlb_sheet_number(out, dlb_json_number(rank, "samples_per_s"));
        dlb_sheet_number(out, dlb_json_number(rank, "gpu_idle_frac"));
        dlb_sheet_number(out, dlb_json_number(rank, "input_wait_frac"));
        dlb_sheet_number(out, dlb_json_number(rank, "done_s"));
        dlb_sheet_text(out, dlb_json_text(rank, "straggler"));
    }
    dlb_straggler_text(doc, &out->note);
}
