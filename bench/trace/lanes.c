/* The first measured steps as lanes: per track, spans of whole nanoseconds since the first step.
 * What a worker does for one batch is summed by stage and drawn in that order within the batch,
 * because its samples are too short to be seen. */
#include "bench/trace/trace.h"

#include "bench/trace/spans.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORKERS 16 /* that are drawn */
#define MAX_NAMES 32

struct range {
    uint64_t start_ns, end_ns, n_steps, first_step;
    bool numbered; /* first_step is known: no step was lost */
};

struct lanes {
    struct range range;
    const char *name[MAX_NAMES]; /* borrowed */
    uint32_t n_names;
    json_t *spans; /* of the current track */
};

/* From the first measured step that all tracks still know of. */
static struct range find_range(const struct dlb_timeline *timeline)
{
    const struct dlb_timeline_track *steps = dlb_timeline_track(timeline, DLB_TRACK_COMPUTE, 0);
    struct range out = {.numbered = !steps || steps->n_lost == 0};
    uint64_t known_ns = 0;
    for (uint32_t i = 0; i < timeline->n_tracks; i++) {
        const struct dlb_timeline_track *track = &timeline->track[i];
        if (track->n_lost > 0 && track->n > 0 && track->record[0].end_ns > known_ns)
            known_ns = track->record[0].end_ns;
    }
    for (uint64_t k = 0; steps && k < steps->n && out.n_steps < DLB_LANE_STEPS; k++) {
        const struct dlb_trace_record *one = &steps->record[k];
        if (one->stage != DLB_DS_COMPUTE || !one->measured)
            continue;
        if (one->start_ns < known_ns) {
            out.first_step++;
            continue;
        }
        if (out.n_steps++ == 0)
            out.start_ns = one->start_ns;
        out.end_ns = one->end_ns;
    }
    return out;
}

static uint32_t name_number(struct lanes *lanes, const char *name)
{
    uint32_t i = 0;
    while (i < lanes->n_names && strcmp(lanes->name[i], name) != 0)
        i++;
    if (i == lanes->n_names && i < MAX_NAMES)
        lanes->name[lanes->n_names++] = name;
    return i < MAX_NAMES ? i : MAX_NAMES - 1;
}

/* Adds what of a span lies within the range. */
static void add(struct lanes *lanes, const char *name, uint64_t start_ns, uint64_t end_ns,
                uint32_t batch)
{
    const struct range *range = &lanes->range;
    uint64_t from = start_ns > range->start_ns ? start_ns : range->start_ns;
    uint64_t to = end_ns < range->end_ns ? end_ns : range->end_ns;
    if (to <= from)
        return;
    json_t *one = json_array();
    dlb_json_append(one, json_integer(name_number(lanes, name)));
    dlb_json_append(one, json_integer((json_int_t)(from - range->start_ns)));
    dlb_json_append(one, json_integer((json_int_t)(to - from)));
    dlb_json_append(one, batch == DLB_TRACE_NO_BATCH ? json_null() : json_integer(batch));
    dlb_json_append(lanes->spans, one);
}

/* The time of each stage that no stage within it takes; spans[0] is around all of them. */
struct parts {
    struct {
        const char *name;
        uint64_t ns;
    } at[MAX_NAMES];
    uint32_t n;
};

static void add_part(struct parts *parts, const char *name, uint64_t plus_ns, uint64_t minus_ns)
{
    uint32_t i = 0;
    while (i < parts->n && strcmp(parts->at[i].name, name) != 0)
        i++;
    if (i == MAX_NAMES)
        return;
    if (i == parts->n)
        parts->at[parts->n++].name = name;
    parts->at[i].ns += plus_ns - minus_ns; /* may wrap until the stage around it is added */
}

/* Sums the spans within spans[first], a batch; returns the first one behind it. */
static size_t sum_parts(const struct dlb_trace_spans *spans, size_t first, struct parts *parts)
{
    const struct dlb_trace_span *batch = &spans->at[first];
    const struct dlb_trace_span *around[8];
    uint32_t depth = 0;
    size_t i = first + 1;
    for (; i < spans->n && spans->at[i].start_ns < batch->end_ns; i++) {
        const struct dlb_trace_span *one = &spans->at[i];
        uint64_t ns = one->end_ns - one->start_ns;
        while (depth > 0 && around[depth - 1]->end_ns <= one->start_ns)
            depth--;
        add_part(parts, one->is.name, ns, 0);
        if (depth > 0)
            add_part(parts, around[depth - 1]->is.name, 0, ns);
        if (depth < sizeof(around) / sizeof(*around))
            around[depth++] = one;
    }
    return i;
}

static void add_batch(struct lanes *lanes, const struct dlb_trace_span *batch,
                      const struct parts *parts)
{
    uint64_t at_ns = batch->start_ns;
    for (uint32_t i = 0; i < parts->n; i++) {
        add(lanes, parts->at[i].name, at_ns, at_ns + parts->at[i].ns, batch->batch);
        at_ns += parts->at[i].ns;
    }
}

static bool is_shown(const struct dlb_timeline *timeline, const struct dlb_timeline_track *track)
{
    const struct dlb_timeline_track *loop = dlb_timeline_track(timeline, DLB_TRACK_LOOP, 0);
    if (track->track == DLB_TRACK_WORKER)
        return (!loop || track->loader == loop->loader) && track->index < MAX_WORKERS;
    /* Without workers an interpreter loads by itself. */
    if (track->track == DLB_TRACK_INTERPRETER && dlb_timeline_track(timeline, DLB_TRACK_WORKER, 0))
        return false;
    return track->index == 0 && track->track != DLB_TRACK_SENDER;
}

/* What it was idle for is seen in the page. */
static const char *lane_name(const struct dlb_span_name *is)
{
    return strcmp(is->name, "idle") == 0 ? is->stage : is->name;
}

static void fill_lane(struct lanes *lanes, const struct dlb_timeline *timeline,
                      const struct dlb_timeline_track *track)
{
    struct dlb_trace_spans spans;
    dlb_trace_spans_of(timeline, track, &spans);
    for (size_t i = 0; i < spans.n;) {
        const struct dlb_trace_span *one = &spans.at[i];
        if (one->is.table) {
            add(lanes, lane_name(&one->is), one->start_ns, one->end_ns, one->batch);
            i++;
        } else {
            struct parts parts = {.n = 0};
            i = sum_parts(&spans, i, &parts);
            if (one->end_ns > lanes->range.start_ns && one->start_ns < lanes->range.end_ns)
                add_batch(lanes, one, &parts);
        }
    }
    dlb_trace_spans_free(&spans);
}

static json_t *track_of(struct lanes *lanes, const struct dlb_timeline *timeline,
                        const struct dlb_timeline_track *track)
{
    char name[64];
    dlb_trace_track_name(timeline, track, name, sizeof(name));
    lanes->spans = json_array();
    if (lanes->range.n_steps > 0 && is_shown(timeline, track))
        fill_lane(lanes, timeline, track);
    return dlb_json_made(json_pack("{ss, ss, si, sI, sI, so}", "name", name, "kind",
                                   dlb_track_names[track->track], "index", (int)track->index,
                                   "spans", (json_int_t)track->n, "lost", (json_int_t)track->n_lost,
                                   "lane", lanes->spans));
}

json_t *dlb_trace_lanes(const struct dlb_timeline *timeline, const struct dlb_trace_facts *facts)
{
    struct lanes lanes = {.range = find_range(timeline)};
    json_t *tracks = json_array(), *names = json_array();
    for (uint32_t i = 0; i < timeline->n_tracks; i++)
        dlb_json_append(tracks, track_of(&lanes, timeline, &timeline->track[i]));
    for (uint32_t i = 0; i < lanes.n_names; i++)
        dlb_json_append(names, dlb_json_safe_text(lanes.name[i]));
    return dlb_json_made(json_pack(
        "{si, so, sI, sI, so, so}", "block", (int)facts->block, "first_step",
        lanes.range.numbered ? json_integer((json_int_t)lanes.range.first_step) : json_null(),
        "steps", (json_int_t)lanes.range.n_steps, "span_ns",
        (json_int_t)(lanes.range.end_ns - lanes.range.start_ns), "names", names, "tracks", tracks));
}
