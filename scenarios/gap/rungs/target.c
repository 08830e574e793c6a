#include "scenarios/gap/rungs/target.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "scenarios/cell/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_CALLS = 100 };
#define SLICE_NS (50 * DLB_NS_PER_MS) /* a wait is cut into slices to notice an interrupt */

static int open_device(struct dlb_gap_target_state *t, const struct dlb_gap_params *params,
                       uint32_t streams, struct dlb_err *err)
{
    const struct dlb_device *device = dlb_device_choose(&params->device, NULL, t->why, err);
    if (!device)
        return (int)err->status;
    t->state = dlb_mem_state(device->state_bytes);
    if (!t->state)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "allocating the device's state");
    t->device = device;
    struct dlb_device_open how = {.opts = &params->device,
                                  .n_bufs = t->n_bufs,
                                  .buf_bytes = dlb_gap_batch_bytes(params),
                                  .seed = (uint64_t)params->seed,
                                  .copy_on_compute = streams == 1};
    int rc = device->open(t->state, &how, err);
    if (rc != DLB_OK)
        return rc;
    dlb_cell_device_name(device, &params->device, t->name, sizeof t->name);
    json_t *facts = device->describe ? device->describe(t->state) : NULL;
    const char *name = dlb_json_text(facts, "name");
    if (name[0])
        (void)snprintf(t->name, sizeof t->name, "%s", name);
    json_decref(facts);
    return DLB_OK;
}

int dlb_gap_target_open(struct dlb_gap_target_state *t, const struct dlb_gap_params *params,
                        uint32_t streams, struct dlb_err *err)
{
    t->streams = streams;
    t->n_bufs = dlb_gap_target_bufs(params, streams);
    if (params->target == DLB_GAP_TARGET_DEVICE)
        return open_device(t, params, streams, err);
    (void)snprintf(t->name, sizeof t->name, "a buffer in this host's memory");
    (void)snprintf(t->why, sizeof t->why, "asked for by gap.target");
    int rc = dlb_gap_map(&t->buffer, dlb_gap_batch_bytes(params), DLB_GAP_PRIVATE,
                         (enum dlb_gap_pages)params->pages, err);
    return rc == DLB_OK ? dlb_gap_populate(&t->buffer, t->cancel, err) : rc;
}

bool dlb_gap_target_close(struct dlb_gap_target_state *t)
{
    if (t->device && t->device->end && !t->device->end(t->state))
        return false;
    if (t->device)
        t->device->close(t->state);
    free(t->state);
    dlb_gap_unmap(&t->buffer);
    t->device = NULL;
    t->state = NULL;
    return true;
}

int dlb_gap_target_pin(struct dlb_gap_target_state *t, const struct dlb_gap_memory *memory,
                       struct dlb_err *err)
{
    t->pinned = true;
    return t->device ? t->device->pin(t->state, memory->addr, memory->n_bytes, err) : DLB_OK;
}

/* Counts as one sync call, whatever the number of slices. */
static int wait_for(struct dlb_gap_target_state *t, uint64_t put, enum dlb_point point,
                    struct dlb_err *err)
{
    struct dlb_dev_times times;
    bool reached = false;
    int rc = DLB_OK;

    if (!t->device)
        return DLB_OK;
    dlb_gap_begin(t->loop);
    uint64_t start_ns = dlb_now_ns();
    while (rc == DLB_OK && !reached) {
        rc = t->device->wait(t->state, (uint32_t)(put % t->n_bufs), point, SLICE_NS, &times,
                             &reached, err);
        if (rc == DLB_OK && !reached && t->cancel && atomic_load(t->cancel))
            rc = dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    }
    dlb_hist_add(&t->sync_calls, dlb_now_ns() - start_ns);
    dlb_gap_end(t->loop, DLB_GAP_PART_sync);
    return rc;
}

int dlb_gap_target_put(struct dlb_gap_target_state *t, const void *batch, size_t n_bytes,
                       struct dlb_err *err)
{
    uint32_t buf = (uint32_t)(t->n_put % t->n_bufs);
    uint64_t n_free = t->streams == 1 && !t->pinned ? t->n_bufs : 1;
    int rc = DLB_OK;

    for (; rc == DLB_OK && t->n_put - t->n_stepped + n_free > t->n_bufs; t->n_stepped++)
        rc = wait_for(t, t->n_stepped, DLB_STEPPED, err);
    if (rc != DLB_OK)
        return rc;
    dlb_gap_begin(t->loop);
    uint64_t start_ns = dlb_now_ns();
    if (t->device) {
        rc = t->device->copy(t->state, buf, batch, n_bytes, err);
    } else {
        memcpy(t->buffer.addr, batch, n_bytes);
        __asm__ volatile(""
                         :
                         : "r"(t->buffer.addr)
                         : "memory"); /* keeps a copy that is never read */
    }
    dlb_hist_add(&t->copy_calls, dlb_now_ns() - start_ns);
    dlb_gap_end(t->loop, DLB_GAP_PART_copy);
    if (rc == DLB_OK && t->device) {
        dlb_gap_begin(t->loop);
        rc = t->device->step(t->state, buf, err);
        dlb_gap_end(t->loop, DLB_GAP_PART_step);
    }
    t->n_put++;
    return rc;
}

int dlb_gap_target_copied(struct dlb_gap_target_state *t, uint64_t put, struct dlb_err *err)
{
    return put < t->n_stepped ? DLB_OK : wait_for(t, put, DLB_COPIED, err);
}

int dlb_gap_target_drain(struct dlb_gap_target_state *t, struct dlb_err *err)
{
    int rc = DLB_OK;
    for (; rc == DLB_OK && t->n_stepped < t->n_put; t->n_stepped++)
        rc = wait_for(t, t->n_stepped, DLB_STEPPED, err);
    return rc;
}

void dlb_gap_target_describe(const struct dlb_gap_target_state *t, struct dlb_rung_device *out)
{
    (void)snprintf(out->kind, sizeof out->kind, "%s", t->device ? t->device->name : "buffer");
    (void)snprintf(out->name, sizeof out->name, "%s", t->name);
    (void)snprintf(out->why, sizeof out->why, "%s", t->why);
    out->emulated = t->device && t->device->emulated;
}

void dlb_gap_target_calls(const struct dlb_hist *calls, struct dlb_rung_calls *out)
{
    bool any = calls->count > 0, many = calls->count >= FEW_CALLS;
    *out = (struct dlb_rung_calls){
        .count = calls->count,
        .sum_ns = calls->sum_ns,
        .p50_ns = many ? dlb_hist_quantile_ns(calls, 0.5) : DLB_NOT_MEASURED,
        .p99_ns = many ? dlb_hist_quantile_ns(calls, 0.99) : DLB_NOT_MEASURED,
        .max_ns = any ? calls->max_ns : DLB_NOT_MEASURED,
    };
}
