/* The first screen of a comparison: what B is, by how much, and how certain that is.
 *
 * Floor 4, private to reports/html. Control thread. Words of a document are inert. */
#ifndef DLB_REPORTS_HTML_COMPARED_H
#define DLB_REPORTS_HTML_COMPARED_H

#include "reports/text.h"

#include <jansson.h>

/* Of a document with "compare". */
void dlb_html_compared(struct dlb_text *out, const json_t *doc);

#endif
