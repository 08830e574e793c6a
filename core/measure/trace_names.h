/* The kinds of tracks of a timeline, and what the stages of their records are.
 *
 * Floor 1. Constants. */
#ifndef DLB_CORE_MEASURE_TRACE_NAMES_H
#define DLB_CORE_MEASURE_TRACE_NAMES_H

#include "core/measure/meters.h"

#include <stdbool.h>
#include <stdint.h>

enum dlb_track {
    DLB_TRACK_WORKER,      /* enum dlb_worker_stage; of another program, its own stages */
    DLB_TRACK_SENDER,      /* another program's thread that hands a worker's batches over */
    DLB_TRACK_PIN,         /* the pin thread: DLB_WS_PIN; of another program, its own stages */
    DLB_TRACK_INTERPRETER, /* another program's loop, which asks its loader for batches */
    DLB_TRACK_LOOP,        /* enum dlb_consumer_stage, of one accelerator */
    DLB_TRACK_COPY,        /* DLB_DS_COPY */
    DLB_TRACK_COMPUTE,     /* the other enum dlb_device_stage */
    DLB_TRACK_COUNT,
};

/* Stages of no table. */
enum {
    DLB_TRACE_READY = 254, /* of the loop, for a batch of another program: from when it was ready to
                              when it was taken; its worker is the record's `sample` */
    DLB_TRACE_WINDOW = 255, /* COMPUTE and INTERPRETER, the last record: what is measured, spans
                               from start to end */
};

/* Stages of another program: as it names them, and as which part of the work they count ("read",
 * "decode", "transform", "collate"), or "" for none of these. */
#define DLB_TRACE_MAX_NAMES 32
struct dlb_trace_names {
    uint32_t n;
    struct {
        char stage[48], part[16];
    } at[DLB_TRACE_MAX_NAMES];
};

/* "worker", "loop", ...: the first part of args.stage in a trace. */
extern const char *const dlb_track_names[DLB_TRACK_COUNT];

#endif
