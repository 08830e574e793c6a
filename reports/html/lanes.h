/* The timeline of the first measured steps: a lane for each track, drawn as SVG, and a table of the
 * same for those who do not see it.
 *
 * Floor 4, private to reports/html. Control thread. Words of a document are inert. */
#ifndef DLB_REPORTS_HTML_LANES_H
#define DLB_REPORTS_HTML_LANES_H

#include "reports/text.h"

#include <jansson.h>
#include <stdint.h>

/* `result`: the number of the result in the page. Nothing if the document has no timeline. */
void dlb_html_lanes(struct dlb_text *out, const json_t *doc, uint32_t result);

#endif
