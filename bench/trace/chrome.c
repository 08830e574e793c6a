/* Chrome's trace JSON ("Trace Event Format"): a process for the loader and one for each
 * accelerator, a thread for each track, complete events (X) that nest, and flows (s, f) from
 * the read of each sample to its batch's step. Times are microseconds since the first span. */
#include "bench/trace/trace.h"

#include "bench/trace/complete.h"
#include "bench/trace/spans.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LOADER = 1, FIRST_ACCELERATOR }; /* processes */

/* Where the read of a sample began. */
struct origin {
    uint32_t loader, batch;
    uint16_t epoch;
    uint32_t tid;
    uint64_t start_ns;
};

#define PIECE_BYTES ((size_t)1 << 20) /* that are written at once */

struct writer {
    struct dlb_timeline *timeline;
    const struct dlb_trace_facts *facts;
    const char *path;
    struct dlb_text out; /* what is not written yet */
    int fd, rc;
    struct dlb_err *err;
    struct origin *origin; /* [n_origins] in the order of by_batch */
    size_t n_origins;
    uint64_t n_spans, n_flows, n_lost;
};

static int by_batch(const void *a, const void *b)
{
    const struct origin *x = a, *y = b;
    if (x->loader != y->loader)
        return x->loader < y->loader ? -1 : 1;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

static bool is_device(const struct dlb_timeline_track *track)
{
    return track->track >= DLB_TRACK_LOOP;
}

static uint32_t pid_of(const struct dlb_timeline_track *track)
{
    return is_device(track) ? FIRST_ACCELERATOR + track->index : LOADER;
}

/* Microseconds with all their nanoseconds. */
static void put_us(struct writer *w, const char *key, uint64_t ns)
{
    dlb_text_printf(&w->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_ts(struct writer *w, uint64_t at_ns)
{
    put_us(w, "ts", at_ns - w->timeline->start_ns);
}

/* As a JSON string, in quotes. */
static void put_text(struct writer *w, const char *words)
{
    json_t *safe = dlb_json_safe_text(words);
    char *text = dlb_mem_check(json_dumps(safe, JSON_ENCODE_ANY));
    dlb_text_append(&w->out, text, strlen(text));
    free(text);
    json_decref(safe);
}

/* Writes what there is, once it is at least this much; nothing after an error. */
static void flush(struct writer *w, size_t least_bytes)
{
    if (w->out.len_bytes < least_bytes)
        return;
    if (w->rc == DLB_OK)
        w->rc = dlb_write_all(w->fd, w->path, w->out.data, w->out.len_bytes, w->err);
    w->out.len_bytes = 0;
}

static void put_span(struct writer *w, uint32_t pid, uint32_t tid,
                     const struct dlb_trace_span *span)
{
    dlb_text_printf(&w->out, ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u", pid, tid);
    put_ts(w, span->start_ns);
    put_us(w, "dur", span->end_ns - span->start_ns);
    dlb_text_printf(&w->out, ",\"name\":");
    put_text(w, span->is.name);
    dlb_text_printf(&w->out, ",\"cat\":\"%s\",\"args\":{\"measured\":%d",
                    span->is.table ? span->is.table : "batch", span->measured);
    if (span->is.table) {
        dlb_text_printf(&w->out, ",\"stage\":");
        put_text(w, span->is.stage);
    }
    if (span->batch != DLB_TRACE_NO_BATCH)
        dlb_text_printf(&w->out, ",\"epoch\":%u,\"batch\":%u", span->epoch, span->batch);
    if (span->sample != DLB_TRACE_NO_SAMPLE)
        dlb_text_printf(&w->out, ",\"sample\":%" PRIu64, span->sample);
    dlb_text_printf(&w->out, "}}");
    w->n_spans++;
    flush(w, PIECE_BYTES);
}

static void put_name(struct writer *w, const char *what, uint32_t pid, uint32_t tid,
                     const char *name)
{
    dlb_text_printf(
        &w->out, ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":", pid,
        tid, what);
    put_text(w, name);
    dlb_text_printf(&w->out, "}}");
}

static void put_order(struct writer *w, const char *what, uint32_t pid, uint32_t tid)
{
    dlb_text_printf(
        &w->out,
        ",\n{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"sort_index\":"
        "%u}}",
        pid, tid, what, tid ? tid : pid);
}

static void put_flow(struct writer *w, char phase, uint64_t id, uint32_t pid, uint32_t tid,
                     uint64_t at_ns)
{
    dlb_text_printf(&w->out,
                    ",\n{\"ph\":\"%c\",\"id\":%" PRIu64
                    ",\"pid\":%u,\"tid\":%u,\"name\":\"sample\","
                    "\"cat\":\"flow\"%s",
                    phase, id, pid, tid, phase == 's' ? "" : ",\"bp\":\"e\"");
    put_ts(w, at_ns);
    dlb_text_printf(&w->out, "}");
    flush(w, PIECE_BYTES);
}

static void put_track(struct writer *w, const struct dlb_timeline_track *track, uint32_t tid)
{
    struct dlb_trace_spans spans;
    char name[64], title[128];
    dlb_trace_track_name(w->timeline, track, name, sizeof(name));
    (void)snprintf(title, sizeof(title), "%s", name);
    if (track->n_lost > 0)
        (void)snprintf(title, sizeof(title), "%s (its first %" PRIu64 " records are lost)", name,
                       track->n_lost);
    put_name(w, "thread_name", pid_of(track), tid, title);
    put_order(w, "thread_sort_index", pid_of(track), tid);
    dlb_trace_spans_of(w->timeline, track, &spans);
    for (size_t i = 0; i < spans.n; i++)
        put_span(w, pid_of(track), tid, &spans.at[i]);
    dlb_trace_spans_free(&spans);
    w->n_lost += track->n_lost;
}

/* The reads of all batches, on the tracks that loaded them. */
static void find_origins(struct writer *w)
{
    const struct dlb_timeline *timeline = w->timeline;
    size_t n = 0;
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        n += is_device(&timeline->track[i]) ? 0 : timeline->track[i].n;
    w->origin = dlb_mem_array(n, sizeof(*w->origin));
    for (uint32_t i = 0; i < timeline->n_tracks; i++) {
        const struct dlb_timeline_track *track = &timeline->track[i];
        bool loads = track->track == DLB_TRACK_WORKER || track->track == DLB_TRACK_INTERPRETER;
        for (uint64_t k = 0; loads && k < track->n; k++) {
            const struct dlb_trace_record *one = &track->record[k];
            /* READ, and what another program calls so, is the first of its table. */
            if (one->batch != DLB_TRACE_NO_BATCH && one->stage == DLB_WS_READ)
                w->origin[w->n_origins++] =
                    (struct origin){track->loader, one->batch, one->epoch, i + 1, one->start_ns};
        }
    }
    qsort(w->origin, w->n_origins, sizeof(*w->origin), by_batch);
}

/* The first of a batch's; w->n_origins: there is none. */
static size_t first_origin(const struct writer *w, const struct origin *key)
{
    size_t low = 0, high = w->n_origins;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_batch(&w->origin[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_flows(struct writer *w, const struct dlb_timeline_track *compute, uint32_t tid)
{
    for (uint64_t k = 0; k < compute->n; k++) {
        const struct dlb_trace_record *step = &compute->record[k];
        const struct origin key = {compute->loader, step->batch, step->epoch, 0, 0};
        if (step->stage != DLB_DS_COMPUTE)
            continue;
        for (size_t i = first_origin(w, &key);
             i < w->n_origins && by_batch(&w->origin[i], &key) == 0; i++) {
            const struct origin *from = &w->origin[i];
            if (from->start_ns > step->start_ns)
                continue;
            put_flow(w, 's', ++w->n_flows, LOADER, from->tid, from->start_ns);
            put_flow(w, 'f', w->n_flows, pid_of(compute), tid, step->start_ns);
        }
    }
}

/* The measured window, on a track of its own. */
static void put_window(struct writer *w, const struct dlb_timeline_track *compute, uint32_t tid)
{
    for (uint64_t k = 0; k < compute->n; k++) {
        const struct dlb_trace_record *one = &compute->record[k];
        if (one->stage != DLB_TRACE_WINDOW)
            continue;
        put_name(w, "thread_name", pid_of(compute), tid, "measured window");
        put_order(w, "thread_sort_index", pid_of(compute), tid);
        dlb_text_printf(&w->out, ",\n{\"ph\":\"X\",\"pid\":%u,\"tid\":%u", pid_of(compute), tid);
        put_ts(w, one->start_ns);
        put_us(w, "dur", one->end_ns - one->start_ns);
        dlb_text_printf(&w->out, ",\"name\":\"measured window\",\"cat\":\"window\"}");
    }
}

static void put_head(struct writer *w)
{
    const struct dlb_trace_facts *facts = w->facts;
    dlb_text_printf(&w->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":\"dlbench\","
                             "\"version\":");
    put_text(w, facts->version);
    dlb_text_printf(&w->out, ",\"result\":");
    put_text(w, facts->run_name);
    dlb_text_printf(&w->out,
                    ",\"repetition\":%u,\"start_ns\":%" PRIu64 "},\n\"traceEvents\":[\n"
                    "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":"
                    "\"loader\"}}",
                    facts->block, w->timeline->start_ns, LOADER);
    put_order(w, "process_sort_index", LOADER, 0);
}

static int put_all(void *ctx, int fd, struct dlb_err *err)
{
    struct writer *w = ctx;
    const struct dlb_timeline *timeline = w->timeline;

    w->fd = fd;
    w->err = err;
    put_head(w);
    for (uint32_t i = 0; i < timeline->n_tracks; i++) {
        const struct dlb_timeline_track *track = &timeline->track[i];
        char name[64];
        put_track(w, track, i + 1);
        if (track->track != DLB_TRACK_COMPUTE)
            continue;
        (void)snprintf(name, sizeof(name), "accelerator %u", track->index);
        put_name(w, "process_name", pid_of(track), 0, name);
        put_order(w, "process_sort_index", pid_of(track), 0);
        put_window(w, track, timeline->n_tracks + 1 + track->index);
    }
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        if (timeline->track[i].track == DLB_TRACK_COMPUTE)
            put_flows(w, &timeline->track[i], i + 1);
    dlb_text_printf(&w->out, "\n]}\n");
    flush(w, 0);
    return w->rc;
}

int dlb_trace_write(struct dlb_timeline *timeline, const struct dlb_trace_facts *facts,
                    const char *path, uint64_t *n_spans, uint64_t *n_lost, struct dlb_err *err)
{
    struct writer w = {.timeline = timeline, .facts = facts, .path = path};
    dlb_trace_complete(timeline);
    find_origins(&w);
    int rc = dlb_make_file_atomic(path, put_all, &w, err);
    *n_spans = w.n_spans;
    *n_lost = w.n_lost;
    dlb_text_free(&w.out);
    free(w.origin);
    return rc;
}
