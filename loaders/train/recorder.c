#include "loaders/train/recorder.h"

#include "loaders/train/idle.h"

void dlb_recorder_open(struct dlb_recorder *recorder, const struct dlb_trace *trace, uint32_t nth)
{
    *recorder = (struct dlb_recorder){.loop = dlb_trace_ring(trace, DLB_TRACK_LOOP, nth),
                                      .copy = dlb_trace_ring(trace, DLB_TRACK_COPY, nth),
                                      .compute = dlb_trace_ring(trace, DLB_TRACK_COMPUTE, nth)};
}

void dlb_recorder_at(struct dlb_recorder *recorder, uint32_t epoch, const struct dlb_batch *batch)
{
    dlb_trace_at_batch(recorder->loop, epoch, batch ? batch->number : DLB_TRACE_NO_BATCH);
}

void dlb_recorder_taken(struct dlb_recorder *recorder, const struct dlb_step *step,
                        const struct dlb_batch *batch)
{
    struct dlb_trace_ring *loop = recorder->loop;
    uint64_t ready_ns = batch->ready_ns < batch->taken_ns ? batch->ready_ns : batch->taken_ns;

    dlb_recorder_at(recorder, step->epoch, batch);
    if (batch->index) /* its worker has written the batch's number to its own ring */
        return;
    dlb_trace_at_sample(loop, batch->worker);
    dlb_trace_add(loop, DLB_TRACE_READY, false, ready_ns, batch->taken_ns);
    dlb_trace_at_sample(loop, DLB_TRACE_NO_SAMPLE);
}

void dlb_recorder_stepped(struct dlb_recorder *recorder, const struct dlb_step *step,
                          const struct dlb_batch *batch)
{
    const struct dlb_dev_times *times = &step->times;

    if (!recorder->compute)
        return;
    dlb_trace_at_batch(recorder->copy, step->epoch, batch->number);
    dlb_trace_at_batch(recorder->compute, step->epoch, batch->number);
    dlb_trace_add(recorder->copy, DLB_DS_COPY, false, times->copy_start_ns, times->copy_end_ns);
    if (recorder->any) {
        struct dlb_idle idle = dlb_idle_between(&recorder->last, step);
        for (uint32_t i = 0; i < idle.n; i++)
            dlb_trace_add(recorder->compute, (uint8_t)idle.piece[i].why, false,
                          idle.piece[i].start_ns, idle.piece[i].end_ns);
    }
    dlb_trace_add(recorder->compute, DLB_DS_COMPUTE, false, times->step_start_ns,
                  times->step_end_ns);
    recorder->last = *step;
    recorder->any = true;
}

void dlb_recorder_close(struct dlb_recorder *recorder, const struct dlb_window *window)
{
    uint64_t start_ns = window->start_ns, end_ns = start_ns + window->share.window_ns;

    if (end_ns == start_ns) /* no complete window */
        return;
    dlb_trace_at_batch(recorder->compute, 0, DLB_TRACE_NO_BATCH);
    dlb_trace_add(recorder->compute, DLB_TRACE_WINDOW, true, start_ns, end_ns);
}
