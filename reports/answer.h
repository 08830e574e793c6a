/* The answer of a result: verdict, what the accelerator needs and gets, what is recommended,
 * settings, caveats, next step. It comes last and fits a terminal of 24 lines.
 *
 * Floor 4. Control thread. */
#ifndef DLB_REPORTS_ANSWER_H
#define DLB_REPORTS_ANSWER_H

#include "reports/report.h"

/* Appends the answer, folded to `n_columns`. Caveats are one line each, cut, as many as there is
 * room for. With opts->verbose they are left out: dlb_answer_caveats has told them. */
void dlb_answer(const json_t *doc, const struct dlb_report_opts *opts, uint32_t n_columns,
                struct dlb_text *out);

/* What was not modelled and the notes, in full. */
void dlb_answer_caveats(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* Parts of it, for reports that arrange them in another way. The verdict's class, and how bad it
 * is: "INPUT-BOUND (critical: ...), of the best cell, 3". */
void dlb_answer_title(const json_t *doc, char *title, size_t n_title);

/* What the steps could take, and what the cell whose settings are offered gives them. */
void dlb_answer_demand(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* The command to run next, or what to do; nothing where nothing is known. */
void dlb_answer_next(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* The last line: where the result lies. Nothing without a folder. */
void dlb_answer_place(const struct dlb_report_opts *opts, struct dlb_text *out);

#endif
