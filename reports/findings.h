/* The parts of a result as text, shared by the reports that people read.
 *
 * Floor 4. Control thread. A field that is absent or null is shown as "-", never as 0. */
#ifndef DLB_REPORTS_FINDINGS_H
#define DLB_REPORTS_FINDINGS_H

#include "reports/text.h"

#include <jansson.h>
#include <stdint.h>

/* What was run, on which data and device. */
void dlb_findings_head(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* What was measured: the table of cells or of accelerators, and what else is known of the best. */
void dlb_findings_measured(const json_t *doc, uint32_t n_columns, uint32_t n_words,
                           struct dlb_text *out);

/* A row for each cell that ran, then the cells that were skipped or failed, with the reasons. */
void dlb_findings_table(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* The cells that were skipped or failed, with the reasons. */
void dlb_findings_reasons(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* For a document with `storage`: how many accelerators, why not more, and the curve. */
void dlb_findings_storage(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* For a run on several ranks: a line each for its machines, their clocks, and MPI. */
void dlb_findings_nodes(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* The machines of such a run, if they differ. */
void dlb_findings_nodes_table(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* For a run on several ranks: what each did. */
void dlb_findings_ranks(const json_t *doc, uint32_t n_columns, uint32_t n_words,
                        struct dlb_text *out);

/* Appends the rank that the others wait for, and why; nothing where there is none. */
void dlb_straggler_text(const json_t *doc, struct dlb_text *out);

/* For a best cell with several accelerators: their utilisation by each definition, and how long
 * reads took. */
void dlb_findings_accelerators(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* Of a cell that PyTorch loaded: what measuring cost, and a row for each stage that was timed.
 * Nothing of other cells. */
void dlb_findings_python(const json_t *cell, uint32_t n_columns, struct dlb_text *out);

/* What dlbench's own loader took for the work of a cell of PyTorch's, where that ran. */
void dlb_findings_in_c(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* A title, and one or more lines for the text of each note of an array in the document; nothing
 * where it is empty. */
void dlb_findings_list(const json_t *doc, const char *key, const char *title, uint32_t n_columns,
                       struct dlb_text *out);

/* DataLoader's arguments for the recommended cell, or for the best cell when none is
 * recommended, and swept settings that DataLoader does not take. Nothing when the best cell is
 * INCOMPLETE or HARNESS-BOUND. */
void dlb_findings_settings(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* The smallest loss that the repetitions can tell; nothing where it is not known. */
void dlb_findings_noise(const json_t *doc, struct dlb_text *out);

#endif
