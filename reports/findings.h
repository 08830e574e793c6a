/* The parts of a result in words, shared by the reports that people read.
 *
 * Floor 4. Control thread. Typed reading throughout: a field that is absent or null reads "-",
 * never 0. */
#ifndef DLB_REPORTS_FINDINGS_H
#define DLB_REPORTS_FINDINGS_H

#include "reports/text.h"

#include <jansson.h>
#include <stdint.h>

/* What was run, on which data and device. */
void dlb_findings_head(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* A row per cell that ran; what was skipped or failed, below it, with the reasons. */
void dlb_findings_table(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* What was skipped or failed, with the reasons. */
void dlb_findings_reasons(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* Of a document with `storage`: how many accelerators, why not more, and the curve. */
void dlb_findings_storage(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* Of the best cell, where it drove several accelerators: their utilisation by each definition, and
 * how long reads took. */
void dlb_findings_accelerators(const json_t *doc, uint32_t n_columns, struct dlb_text *out);
/* A title and a line or more for each sentence of an array in the document; nothing for an empty
 * one. */
void dlb_findings_list(const json_t *doc, const char *key, const char *title, uint32_t n_columns,
                       struct dlb_text *out);

/* DataLoader's arguments of the recommended cell, or of the best where none is recommended, and
 * what was swept that it does not take. Nothing where the best is INCOMPLETE or HARNESS-BOUND. */
void dlb_findings_settings(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

/* Verdict, recommendation, settings to paste, what was not modelled, notes. */
void dlb_findings_words(const json_t *doc, uint32_t n_columns, struct dlb_text *out);

#endif
