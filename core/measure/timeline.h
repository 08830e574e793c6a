/* A timeline that was recorded: the records that each ring kept, in a file between the process that
 * measured and the one that shows them.
 *
 * Floor 1. Control thread. The file is of this build of dlbench alone: it is never kept. */
#ifndef DLB_CORE_MEASURE_TIMELINE_H
#define DLB_CORE_MEASURE_TIMELINE_H

#include "core/base/err.h"
#include "core/measure/trace.h"

#include <stdint.h>

struct dlb_timeline_track {
    enum dlb_track track;
    uint32_t index, loader;
    uint64_t n, n_lost;              /* records that are there; overwritten ones */
    uint64_t n_merged;               /* spans that became part of one of both */
    struct dlb_trace_record *record; /* [n] in the order in which they ended; owned */
};

struct dlb_timeline {
    struct dlb_timeline_track *track; /* [n_tracks] by kind, then by index; owned */
    uint32_t n_tracks;
    struct dlb_trace_names names;
    uint64_t start_ns, end_ns; /* of the first span and of the last; equal if there is none */
};

/* Once all writers have ended. Records of one that was killed, or that writes all the same, are
 * left out where they are not whole. */
int dlb_timeline_save(const struct dlb_trace *trace, const char *path, struct dlb_err *err);

/* DLB_ERR_TRACE_DAMAGED if it is not what dlb_timeline_save wrote. Caller frees after success. */
int dlb_timeline_load(struct dlb_timeline *timeline, const char *path, struct dlb_err *err);
void dlb_timeline_free(struct dlb_timeline *timeline);

/* NULL: there is no such track. */
const struct dlb_timeline_track *dlb_timeline_track(const struct dlb_timeline *timeline,
                                                    enum dlb_track track, uint32_t index);

#endif
