/* A result as rows for data frames: one for each repetition. The columns are those of
 * dlbench.tables(...)["repetitions"] in python/dlbench.py; docs/results.md describes them.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_ROWS_H
#define DLB_REPORTS_ROWS_H

#include <jansson.h>

/* Appends flat objects to the array `rows`, their members in the order of the columns. A document
 * of an earlier version gives what it has. */
void dlb_rows_add(const json_t *doc, json_t *rows);

#endif
