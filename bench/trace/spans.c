#include "bench/trace/spans.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What waits are called; other stages have their own names. */
static const char *worker_name(uint8_t stage)
{
    bool blocked = stage == DLB_WS_WAIT_CREDIT || stage == DLB_WS_WAIT_SLOT;
    return blocked ? "blocked" : dlb_worker_stage_names[stage];
}

static const char *device_name(uint8_t stage)
{
    return stage == DLB_DS_COMPUTE ? "step" : stage == DLB_DS_COPY ? "copy" : "idle";
}

/* False: there is no such stage. */
static bool name_of_program(const struct dlb_trace_names *names, uint8_t stage,
                            struct dlb_span_name *out)
{
    if (stage >= names->n)
        return false;
    const char *own = names->at[stage].stage, *part = names->at[stage].part;
    *out = (struct dlb_span_name){part[0] ? part : own, "python", own};
    return true;
}

/* False: it is no span of the track. */
static bool name_of(const struct dlb_timeline *timeline, const struct dlb_timeline_track *track,
                    uint8_t stage, struct dlb_span_name *out)
{
    bool other = dlb_timeline_track(timeline, DLB_TRACK_INTERPRETER, 0) != NULL;
    if (stage == DLB_TRACE_WINDOW)
        return false;
    if (other && track->track <= DLB_TRACK_INTERPRETER)
        return name_of_program(&timeline->names, stage, out);
    if (track->track == DLB_TRACK_WORKER || track->track == DLB_TRACK_PIN) {
        if (stage >= DLB_WS_COUNT)
            return false;
        *out = (struct dlb_span_name){worker_name(stage), "worker", dlb_worker_stage_names[stage]};
        return true;
    }
    if (track->track == DLB_TRACK_LOOP) {
        if (stage >= DLB_CS_COUNT)
            return false;
        *out = (struct dlb_span_name){stage == DLB_CS_INPUT_WAIT ? "wait"
                                                                 : dlb_consumer_stage_names[stage],
                                      "loop", dlb_consumer_stage_names[stage]};
        return true;
    }
    if (stage >= DLB_DS_COUNT)
        return false;
    *out = (struct dlb_span_name){device_name(stage), "device", dlb_device_stage_names[stage]};
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct dlb_trace_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->is.table != NULL) - (y->is.table != NULL); /* a batch is around its only part */
}

static bool same_batch(const struct dlb_trace_record *a, const struct dlb_trace_record *b)
{
    return a->batch == b->batch && a->epoch == b->epoch;
}

/* A span around the records of each batch, but for one of which the beginning may be lost. */
static void add_batches(const struct dlb_timeline_track *track, struct dlb_trace_spans *out)
{
    for (uint64_t first = 0, next; first < track->n; first = next) {
        const struct dlb_trace_record *one = &track->record[first];
        uint64_t start_ns = one->start_ns, end_ns = one->end_ns;
        for (next = first + 1; next < track->n && same_batch(one, &track->record[next]); next++) {
            const struct dlb_trace_record *more = &track->record[next];
            start_ns = more->start_ns < start_ns ? more->start_ns : start_ns;
            end_ns = more->end_ns > end_ns ? more->end_ns : end_ns;
        }
        if (one->batch != DLB_TRACE_NO_BATCH && !(first == 0 && track->n_lost > 0))
            out->at[out->n++] = (struct dlb_trace_span){.start_ns = start_ns,
                                                        .end_ns = end_ns,
                                                        .is.name = "batch",
                                                        .sample = DLB_TRACE_NO_SAMPLE,
                                                        .batch = one->batch,
                                                        .epoch = one->epoch,
                                                        .measured = one->measured};
    }
}

void dlb_trace_spans_of(const struct dlb_timeline *timeline, const struct dlb_timeline_track *track,
                        struct dlb_trace_spans *out)
{
    /* Each record may be the only one of its batch. */
    *out = (struct dlb_trace_spans){dlb_mem_array(2 * track->n, sizeof(*out->at)), 0};
    for (uint64_t k = 0; k < track->n; k++) {
        const struct dlb_trace_record *one = &track->record[k];
        struct dlb_span_name is;
        if (name_of(timeline, track, one->stage, &is))
            out->at[out->n++] = (struct dlb_trace_span){
                one->start_ns, one->end_ns, is, one->sample, one->batch, one->epoch, one->measured};
    }
    if (track->track == DLB_TRACK_WORKER)
        add_batches(track, out);
    qsort(out->at, out->n, sizeof(*out->at), by_start);
}

void dlb_trace_spans_free(struct dlb_trace_spans *spans)
{
    free(spans->at);
    *spans = (struct dlb_trace_spans){NULL, 0};
}

void dlb_trace_track_name(const struct dlb_timeline *timeline,
                          const struct dlb_timeline_track *track, char *text, size_t n_text)
{
    static const char *const names[DLB_TRACK_COUNT] = {
        [DLB_TRACK_WORKER] = "worker",           [DLB_TRACK_SENDER] = "sender of worker",
        [DLB_TRACK_PIN] = "pin thread",          [DLB_TRACK_LOOP] = "training loop",
        [DLB_TRACK_INTERPRETER] = "interpreter", [DLB_TRACK_COPY] = "copy stream",
        [DLB_TRACK_COMPUTE] = "compute stream",
    };
    bool numbered =
        track->track <= DLB_TRACK_SENDER || dlb_timeline_track(timeline, track->track, 1) != NULL;
    if (numbered)
        (void)snprintf(text, n_text, "%s %u", names[track->track], track->index);
    else
        (void)snprintf(text, n_text, "%s", names[track->track]);
}
