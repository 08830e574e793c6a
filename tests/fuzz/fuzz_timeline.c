/* A timeline as the process of a cell left it, in memory that the user's Python code could write
 * to. What is read is completed, made spans and lanes: spans lie within the timeline, and the lanes
 * are JSON. */
#include "bench/trace/complete.h"
#include "bench/trace/spans.h"
#include "bench/trace/trace.h"
#include "core/base/err.h"
#include "core/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* A file without a disk. */
static const char *as_file(const uint8_t *data, size_t n_bytes)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("timeline", MFD_CLOEXEC);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, n_bytes, 0) != (ssize_t)n_bytes)
        abort();
    return path;
}

static void check_track(const struct dlb_timeline *timeline, const struct dlb_timeline_track *track)
{
    struct dlb_trace_spans spans;
    char name[160];
    dlb_trace_track_name(timeline, track, name, sizeof name);
    dlb_trace_spans_of(timeline, track, &spans);
    for (size_t i = 0; i < spans.n; i++) {
        const struct dlb_trace_span *span = &spans.at[i];
        if (span->end_ns < span->start_ns || span->start_ns < timeline->start_ns ||
            span->end_ns > timeline->end_ns)
            DLB_BUG("a span beyond the timeline");
        if (i > 0 && span->start_ns < span[-1].start_ns)
            DLB_BUG("spans out of order");
        if (strlen(span->is.name) > 100)
            DLB_BUG("a name without an end");
    }
    dlb_trace_spans_free(&spans);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_trace_facts facts = {.run_name = "fuzz", .version = "0"};
    struct dlb_timeline timeline;
    struct dlb_err err;
    if (dlb_timeline_load(&timeline, as_file(data, n_bytes), &err) != DLB_OK) {
        if (err.code != DLB_ERR_TRACE_DAMAGED)
            DLB_BUG("another error");
        return 0;
    }
    dlb_trace_complete(&timeline);
    for (uint32_t i = 0; i < timeline.n_tracks; i++)
        check_track(&timeline, &timeline.track[i]);
    json_t *lanes = dlb_trace_lanes(&timeline, &facts);
    free(dlb_json_dumped(lanes, 0));
    json_decref(lanes);
    dlb_timeline_free(&timeline);
    return 0;
}
