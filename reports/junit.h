/* What rules came to, as JUnit XML, which CI systems show.
 *
 * Floor 4. One thread. */
#ifndef DLB_REPORTS_JUNIT_H
#define DLB_REPORTS_JUNIT_H

#include "reports/text.h"

#include <stdbool.h>

/* Appends a suite with a test for each outcome in the document's "rules". `strict`: what is unclear
 * failed; else it was skipped. `exit_code`: of the measurement, before rules. Where it is not 0, or
 * there are no rules, there is a test for the command itself, which is an error or passed. */
void dlb_junit_render(const json_t *doc, bool strict, int exit_code, struct dlb_text *out);

#endif
