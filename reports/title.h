/* The first words of a result's text, by which its summary.txt is known again.
 *
 * Floor 4. Control thread. */
#ifndef DLB_REPORTS_TITLE_H
#define DLB_REPORTS_TITLE_H

#include "reports/text.h"

#include <jansson.h>
#include <stdbool.h>

#define DLB_REPORT_TEXT_COLUMNS 100 /* of summary.txt */

/* "dlbench sweep: NAME (PARTIAL)", folded. `command`: that of the document, or another. */
void dlb_report_title(const json_t *doc, const char *command, uint32_t n_columns,
                      struct dlb_text *out);

/* Whether the text, which a zero ends, begins as the summary.txt of this document, whatever the
 * command, and whether or not that was partial. */
bool dlb_report_is_of(const json_t *doc, const char *text);

#endif
