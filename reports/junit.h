/* What rules came to, as JUnit XML, which CI systems show.
 *
 * Floor 4. One thread. */
#ifndef DLB_REPORTS_JUNIT_H
#define DLB_REPORTS_JUNIT_H

#include "reports/text.h"

#include <stdbool.h>

/* Appends a suite with a test for each outcome in the document's "rules"; without any, one test
 * that passed: the command itself. `strict`: what is unclear failed; else it was skipped. */
void dlb_junit_render(const json_t *doc, bool strict, struct dlb_text *out);

#endif
