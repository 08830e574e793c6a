/* The first screen of a comparison: what B is, by how much, and how certain that is.
 *
 * Floor 4, private to reports/html. Control thread. Words of a document are inert. */
#ifndef DLB_REPORTS_HTML_COMPARED_H
#define DLB_REPORTS_HTML_COMPARED_H

#include "reports/text.h"

#include <jansson.h>
#include <stdbool.h>

/* Whether the document compares results, and is none itself. */
bool dlb_html_is_comparison(const json_t *doc);

/* Of a document with "compare". */
void dlb_html_compared(struct dlb_text *out, const json_t *doc);

/* "before against after": what follows A's and B's last slash. */
void dlb_html_compared_title(struct dlb_text *out, const json_t *doc);

#endif
