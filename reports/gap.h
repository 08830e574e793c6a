/* The in-memory ladder, for the reports that people read.
 *
 * Floor 4. Control thread. */
#ifndef DLB_REPORTS_GAP_H
#define DLB_REPORTS_GAP_H

#include "reports/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the document is one of `dlbench gap`. */
bool dlb_gap_is(const json_t *doc);

/* The ladder, the kernel's account of each rung, the decomposition, and the sentences. Tables
 * fit n_columns, sentences n_words. */
void dlb_gap_tables(const json_t *doc, uint32_t n_columns, uint32_t n_words, struct dlb_text *out);

#endif
