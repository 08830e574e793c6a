/* Why cells or rungs of a result were not measured. Those of one status and reason are a group.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_REASONS_H
#define DLB_REPORTS_REASONS_H

#include "reports/text.h"

#include <jansson.h>
#include <stddef.h>

/* The groups of the entries with that status (NULL: of all that are not "ok"), in the order of
 * their first entries. Each is an array of places in `entries`, rising. A new reference. */
json_t *dlb_reasons_groups(const json_t *entries, const char *status);

/* A place of a group. */
size_t dlb_reasons_place(const json_t *group, size_t i);

/* Appends "2-299, 301". Where that is longer than `max` bytes, its end is " and N more". */
void dlb_reasons_ranges(const json_t *group, size_t max, struct dlb_text *out);

#endif
