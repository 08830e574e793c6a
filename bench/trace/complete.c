#include "bench/trace/complete.h"

#include "core/base/mem.h"

#include <stdlib.h>

/* The stages of loaders/torch/dlbench_stamps.py that end a batch: in a worker, and in its loop. */
enum { COLLATE = 2, NEXT = 3 };

/* A batch that the training loop took. */
struct ready {
    uint32_t loader, worker;
    uint64_t ready_ns, taken_ns;
    uint32_t batch;
    uint16_t epoch;
};

struct readies {
    struct ready *at;
    size_t n;
};

static int by_end(const void *a, const void *b)
{
    const struct ready *x = a, *y = b;
    if (x->loader != y->loader)
        return x->loader < y->loader ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (x->ready_ns > y->ready_ns) - (x->ready_ns < y->ready_ns);
}

static int by_taking(const void *a, const void *b)
{
    const struct ready *x = a, *y = b;
    if (x->loader != y->loader)
        return x->loader < y->loader ? -1 : 1;
    return (x->taken_ns > y->taken_ns) - (x->taken_ns < y->taken_ns);
}

static struct readies find_ready(const struct dlb_timeline *timeline)
{
    struct readies out = {NULL, 0};
    size_t n = 0;
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        n += timeline->track[i].track == DLB_TRACK_LOOP ? timeline->track[i].n : 0;
    out.at = dlb_mem_array(n, sizeof(*out.at));
    for (uint32_t i = 0; i < timeline->n_tracks; i++) {
        const struct dlb_timeline_track *track = &timeline->track[i];
        for (uint64_t k = 0; track->track == DLB_TRACK_LOOP && k < track->n; k++) {
            const struct dlb_trace_record *one = &track->record[k];
            if (one->stage == DLB_TRACE_READY)
                out.at[out.n++] = (struct ready){track->loader, (uint32_t)one->sample,
                                                 one->start_ns, one->end_ns,
                                                 one->batch,    one->epoch};
        }
    }
    return out;
}

/* Gives the records from `first` to `last` the batch's number. */
static void number(struct dlb_timeline_track *track, uint64_t first, uint64_t last,
                   const struct ready *batch)
{
    for (uint64_t k = first; batch && k <= last; k++) {
        track->record[k].batch = batch->batch;
        track->record[k].epoch = batch->epoch;
    }
}

/* All that a track did since the last batch belongs to the one that this stage ends. n_workers: of
 * a loader; 0: it is no worker's track. */
static void number_track(struct dlb_timeline_track *track, const struct readies *ready,
                         uint32_t n_workers)
{
    bool worker = track->track == DLB_TRACK_WORKER;
    uint64_t first = 0;
    for (uint64_t k = 0; k < track->n; k++) {
        const struct dlb_trace_record *one = &track->record[k];
        if (one->stage != (worker ? COLLATE : NEXT))
            continue;
        const struct ready key = {.loader = track->loader,
                                  .worker = n_workers > 0 ? track->index % n_workers : 0,
                                  .ready_ns = one->end_ns,
                                  .taken_ns = one->end_ns};
        number(track, first, k,
               bsearch(&key, ready->at, ready->n, sizeof(key), worker ? by_end : by_taking));
        first = k + 1;
    }
}

static uint32_t count(const struct dlb_timeline *timeline, enum dlb_track track)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        n += timeline->track[i].track == track;
    return n;
}

static void number_batches(struct dlb_timeline *timeline)
{
    struct readies ready = find_ready(timeline);
    uint32_t n_loaders = count(timeline, DLB_TRACK_INTERPRETER);
    uint32_t n_workers = n_loaders ? count(timeline, DLB_TRACK_WORKER) / n_loaders : 0;

    qsort(ready.at, ready.n, sizeof(*ready.at), by_end);
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        if (timeline->track[i].track == DLB_TRACK_WORKER)
            number_track(&timeline->track[i], &ready, n_workers);
    qsort(ready.at, ready.n, sizeof(*ready.at), by_taking);
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        if (timeline->track[i].track == DLB_TRACK_INTERPRETER)
            number_track(&timeline->track[i], &ready, 0);
    free(ready.at);
}

/* The last record; NULL: nothing was measured. */
static const struct dlb_trace_record *window_of(const struct dlb_timeline_track *track)
{
    for (uint64_t k = track ? track->n : 0; k > 0; k--)
        if (track->record[k - 1].stage == DLB_TRACE_WINDOW)
            return &track->record[k - 1];
    return NULL;
}

/* As sums of stamps count them: when they end. */
static void measure_program(struct dlb_timeline *timeline, struct dlb_timeline_track *track)
{
    const struct dlb_trace_record *window =
        window_of(dlb_timeline_track(timeline, DLB_TRACK_INTERPRETER, track->loader));
    for (uint64_t k = 0; window && k < track->n; k++) {
        struct dlb_trace_record *one = &track->record[k];
        one->measured = one->end_ns > window->start_ns && one->end_ns <= window->end_ns;
    }
}

static bool is_step(const struct dlb_trace_record *one)
{
    return one->stage == DLB_DS_COMPUTE;
}

/* A step counts with its copy, which began before it. Each has one of both, in the same order. */
static void measure_device(struct dlb_timeline *timeline, struct dlb_timeline_track *compute)
{
    const struct dlb_timeline_track *copies =
        dlb_timeline_track(timeline, DLB_TRACK_COPY, compute->index);
    const struct dlb_trace_record *window = window_of(compute);
    uint64_t n_copies = copies ? copies->n : 0;
    for (uint64_t k = compute->n; window && k > 0; k--) {
        struct dlb_trace_record *one = &compute->record[k - 1];
        if (one->stage == DLB_TRACE_WINDOW)
            continue;
        one->measured = one->start_ns >= window->start_ns && one->start_ns < window->end_ns;
        if (is_step(one) && n_copies > 0)
            copies->record[--n_copies].measured = one->measured;
    }
}

void dlb_trace_complete(struct dlb_timeline *timeline)
{
    bool other = count(timeline, DLB_TRACK_INTERPRETER) > 0;
    if (other)
        number_batches(timeline);
    for (uint32_t i = 0; i < timeline->n_tracks; i++) {
        struct dlb_timeline_track *track = &timeline->track[i];
        if (track->track == DLB_TRACK_COMPUTE)
            measure_device(timeline, track);
        else if (other && track->track <= DLB_TRACK_INTERPRETER)
            measure_program(timeline, track);
    }
}
