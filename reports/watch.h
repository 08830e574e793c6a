/* Results of a watched training loop (python/dlbench.py), for the reports that people read.
 *
 * Floor 4. Control thread. */
#ifndef DLB_REPORTS_WATCH_H
#define DLB_REPORTS_WATCH_H

#include "reports/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the document is one of dlbench.watch. */
bool dlb_watch_is(const json_t *doc);

/* A head, a row for each of n documents, a row for each epoch, and what the figures say. Of a live
 * loop and a replay of it: what data that are always ready would gain. Tables fit n_columns,
 * sentences n_words. */
void dlb_watch_render(const json_t *const *docs, uint32_t n, uint32_t n_columns, uint32_t n_words,
                      struct dlb_text *out);

#endif
