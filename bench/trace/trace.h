/* A timeline as files for people: Chrome's trace JSON, which ui.perfetto.dev opens, and the first
 * steps as lanes for the page.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_TRACE_TRACE_H
#define DLB_BENCH_TRACE_TRACE_H

#include "core/base/err.h"
#include "core/measure/timeline.h"

#include <jansson.h>
#include <stdint.h>

/* Steps that the lanes show. */
#define DLB_LANE_STEPS 100

struct dlb_trace_facts {
    const char *run_name, *version; /* raw; for the file's head */
    uint32_t block;                 /* which repetition it is */
};

/* Writes the file whole or not at all. Completes the timeline. *n_spans and *n_lost: spans in it,
 * and records that rings had no room for. */
int dlb_trace_write(struct dlb_timeline *timeline, const struct dlb_trace_facts *facts,
                    const char *path, uint64_t *n_spans, uint64_t *n_lost, struct dlb_err *err);

/* `timeline` of summary.schema.json, of a timeline that was written. New reference. */
json_t *dlb_trace_lanes(const struct dlb_timeline *timeline, const struct dlb_trace_facts *facts);

#endif
