/* A result as TraceML's final_summary.json, for its viewer and its comparison.
 *
 * Floor 4. One thread. */
#ifndef DLB_REPORTS_TRACEML_H
#define DLB_REPORTS_TRACEML_H

#include "reports/text.h"

#define DLB_TRACEML_SCHEMA 1.9
#define DLB_TRACEML_SUMMARY "Measured by dlbench: means over its window." /* near its beginning */

/* Appends the document for a result of `dlbench run`: its cell, means over the measured window.
 * What dlbench does not measure is null. */
void dlb_traceml_render(const json_t *doc, struct dlb_text *out);

#endif
