/* A track of a timeline as spans that nest, with their names.
 *
 * Floor 5, private to bench/trace. Control thread. */
#ifndef DLB_BENCH_TRACE_SPANS_H
#define DLB_BENCH_TRACE_SPANS_H

#include "core/measure/timeline.h"

#include <stdbool.h>
#include <stdint.h>

/* What a record is called. */
struct dlb_span_name {
    const char *name;  /* what is seen: "read", "blocked", "wait", "step", ... */
    const char *table; /* where summary.json has its sum: "worker", "loop", "device", "python" */
    const char *stage; /* the stage's name there; raw words of another program */
};

struct dlb_trace_span {
    uint64_t start_ns, end_ns;
    struct dlb_span_name is; /* is.table NULL: it encloses others and counts in no table */
    uint64_t sample;
    uint32_t batch;
    uint16_t epoch;
    bool measured;
};

struct dlb_trace_spans {
    struct dlb_trace_span *at; /* [n] by start; of those that start together, the longest first;
                                  owned */
    size_t n;
};

/* Spans around what a worker did for each batch are added. Of a completed timeline (complete.h). */
void dlb_trace_spans_of(const struct dlb_timeline *timeline, const struct dlb_timeline_track *track,
                        struct dlb_trace_spans *out);
void dlb_trace_spans_free(struct dlb_trace_spans *spans);

/* The track's name for people: "worker 3", "training loop". */
void dlb_trace_track_name(const struct dlb_timeline *timeline,
                          const struct dlb_timeline_track *track, char *text, size_t n_text);

#endif
