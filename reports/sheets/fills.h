/* The sheets of the room, by what they show. Each leaves a sheet without rows where the document
 * has nothing of it.
 *
 * Floor 4. Control thread. */
#ifndef DLB_REPORTS_SHEETS_FILLS_H
#define DLB_REPORTS_SHEETS_FILLS_H

#include "reports/sheet.h"

#define DLB_SHEET_MAX_CELLS 40 /* of a chart with a bar for each cell */

void dlb_sheet_changes(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_differences(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_rates(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_idle(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_window(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_loop(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_work(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_spread(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_race(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_in_c(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_python(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_curve(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_ladder(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_waterfall(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_epochs(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_cache(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_ranks(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_nodes(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_cells(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_environment(const json_t *doc, struct dlb_sheet *out);
void dlb_sheet_config(const json_t *doc, struct dlb_sheet *out);

#endif
