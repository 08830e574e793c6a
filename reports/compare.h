/* A comparison of two results, as text: the document that scenarios/compare makes.
 *
 * Floor 4. One thread. */
#ifndef DLB_REPORTS_COMPARE_H
#define DLB_REPORTS_COMPARE_H

#include "reports/text.h"

#include <stdbool.h>

/* Appends the answer, a row for each pair of cells, and what differs beside. n_columns: the width;
 * 0: no limit. `all`: differences that explain nothing, too. */
void dlb_compare_render(const json_t *doc, uint32_t n_columns, bool all, struct dlb_text *out);

#endif
