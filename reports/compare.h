/* A comparison of two results, as text: the document that scenarios/compare makes.
 *
 * Floor 4. One thread. */
#ifndef DLB_REPORTS_COMPARE_H
#define DLB_REPORTS_COMPARE_H

#include "reports/markup.h"
#include "reports/text.h"

#include <stdbool.h>

/* Whether the document compares results, and is none itself. */
bool dlb_compare_is(const json_t *doc);

/* "after against before": what follows B's and A's last slash. */
void dlb_compare_title(const json_t *doc, struct dlb_text *out, enum dlb_markup how);

/* Appends the answer, a row for each pair of cells, and what differs beside. n_columns: the width;
 * 0: no limit. `all`: differences that explain nothing, too. */
void dlb_compare_render(const json_t *doc, uint32_t n_columns, bool all, struct dlb_text *out);

/* Parts of it, of a document's "compare", in lines that are not folded: what B is, and by how much;
 * A and B; how certain it is. */
void dlb_compare_answer(const json_t *compare, struct dlb_text *out);
void dlb_compare_sides(const json_t *compare, struct dlb_text *out);
void dlb_compare_meaning(const json_t *compare, struct dlb_text *out);

#endif
