/* An estimate of a document: {"median", "low", "high", "interval"}.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_ESTIMATE_H
#define DLB_REPORTS_ESTIMATE_H

#include <jansson.h>

/* An end of its interval, by its key. NaN: not measured; the ends of one repetition ("none") are
 * its median, and no interval. */
double dlb_estimate_end(const json_t *estimate, const char *key);

#endif
