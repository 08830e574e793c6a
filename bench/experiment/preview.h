/* What an experiment would do, without doing it (--dry-run): its cells, their memory, bytes and
 * time.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_PREVIEW_H
#define DLB_BENCH_EXPERIMENT_PREVIEW_H

#include "scenarios/scenario.h"

#include <jansson.h>
#include <stdint.h>

struct dlb_preview {
    const struct dlb_scenario *scenario;
    const struct dlb_subject *subject;
    const struct dlb_plan *plan;
    uint32_t n_cpus;
    double open_s; /* what opening the data set took: every process does so */
};

/* New reference. */
json_t *dlb_preview_json(const struct dlb_preview *in);

/* The same document as text for people, on stdout; a screen for usual sweeps. */
void dlb_preview_print(const json_t *doc);

#endif
