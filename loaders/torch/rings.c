#include "loaders/torch/rings.h"

#include "core/base/json.h"

#include <stdio.h>
#include <unistd.h>

static json_t *place(const struct dlb_trace *trace, enum dlb_track track, uint32_t nth, uint32_t i)
{
    const struct dlb_trace_ring *ring = dlb_trace_ring_of(trace, track, nth, i);
    return ring ? json_integer((const uint8_t *)ring - trace->memory) : json_null();
}

static json_t *places(const struct dlb_trace *trace, enum dlb_track track, uint32_t nth)
{
    json_t *out = json_array();
    for (uint32_t i = 0; dlb_trace_ring_of(trace, track, nth, i); i++)
        dlb_json_append(out, place(trace, track, nth, i));
    return out;
}

json_t *dlb_torch_rings(const struct dlb_trace *trace, uint32_t nth)
{
    char path[64];

    if (!trace || !trace->memory)
        return NULL;
    (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), trace->fd);
    json_t *out = dlb_json_made(json_pack("{ss}", "path", path));
    dlb_json_put(out, "worker", places(trace, DLB_TRACK_WORKER, nth));
    dlb_json_put(out, "sender", places(trace, DLB_TRACK_SENDER, nth));
    dlb_json_put(out, "interpreter", place(trace, DLB_TRACK_INTERPRETER, nth, 0));
    dlb_json_put(out, "pin", place(trace, DLB_TRACK_PIN, nth, 0));
    return out;
}

void dlb_torch_rings_names(struct dlb_trace *trace, const json_t *names)
{
    const json_t *one;
    size_t i;

    if (!trace || !names)
        return;
    trace->names.n = 0;
    json_array_foreach(names, i, one) {
        if (i == DLB_TRACE_MAX_NAMES)
            break;
        (void)snprintf(trace->names.at[i].stage, sizeof trace->names.at[i].stage, "%s",
                       dlb_json_text(one, "name"));
        (void)snprintf(trace->names.at[i].part, sizeof trace->names.at[i].part, "%s",
                       dlb_json_text(one, "part"));
        trace->names.n++;
    }
}
