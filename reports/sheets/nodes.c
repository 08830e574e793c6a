/* Of a run on several ranks: a row for each machine, where they differ. */
#include "core/base/json.h"
#include "reports/nodes.h"
#include "reports/sheets/fills.h"

void dlb_sheet_nodes(const json_t *doc, struct dlb_sheet *out)
{
    struct dlb_nodes nodes;
    const json_t *node;
    char text[80];
    size_t i;
    if (!dlb_nodes_of(doc, &nodes) || nodes.n_unlike == 0)
        return;
    dlb_sheet_column(out, "machine", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "differs in", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "ranks", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "CPUs", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "CPUs there", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "memory", DLB_ROLE_NONE, DLB_UNIT_BYTES);
    dlb_sheet_column(out, "program", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "data set", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    json_array_foreach(nodes.each, i, node) {
        dlb_sheet_row(out, DLB_SHEET_NO_CELL);
        dlb_sheet_text(out, dlb_text_shown(node, "node"));
        dlb_sheet_text(out, dlb_nodes_unlike(&nodes, node, text, sizeof(text)));
        dlb_sheet_number(out, dlb_json_number(node, "ranks"));
        dlb_sheet_number(out, dlb_json_number(node, "cpus"));
        dlb_sheet_number(out, dlb_json_number(node, "cpus_there"));
        dlb_sheet_number(out, dlb_json_number(node, "ram_bytes"));
        dlb_sheet_text(out, dlb_text_shown(node, "program"));
        dlb_sheet_text(out, dlb_text_shown(node, "data_id"));
    }
}
