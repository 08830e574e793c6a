/* The figures by which a result compares its cells.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_RANKED_H
#define DLB_REPORTS_RANKED_H

#include <jansson.h>

/* The key of the rate: "samples_per_s", or that within epochs, or of whole ones. Results of older
 * programs have one only. Borrowed from `doc`, or static. */
const char *dlb_ranked_rate(const json_t *doc);

/* A share of the time that the rate is of: "epoch_gpu_idle_frac" beside "epoch_samples_per_s". The
 * key is that of the window's: "gpu_idle_frac". NaN: not measured. */
double dlb_ranked_share(const json_t *doc, const json_t *cell, const char *key);

/* The cell that the result's verdict is about: the best one. NULL: none. Borrowed. */
const json_t *dlb_ranked_best(const json_t *doc);

/* The cell whose settings are offered: the recommended one, else the best. NULL: none. Borrowed. */
const json_t *dlb_ranked_offered(const json_t *doc);
long long dlb_ranked_offered_number(const json_t *doc); /* of that cell; -1: none */

#endif
