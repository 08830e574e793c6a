/* A result as rows for data frames: one for each repetition. The columns are those of
 * dlbench.tables(...)["repetitions"] in python/dlbench.py; docs/results.md describes them.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_ROWS_H
#define DLB_REPORTS_ROWS_H

#include <jansson.h>

/* Makes one flat object after the other, its members in the order of the columns. `take` borrows it
 * until it returns: all rows together may be far larger than the document. A document of an earlier
 * version gives what it has. */
void dlb_rows_each(const json_t *doc, void (*take)(const json_t *row, void *ctx), void *ctx);

#endif
