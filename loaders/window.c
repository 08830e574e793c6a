#include "loaders/window.h"

#include <string.h>

void dlb_window_open(struct dlb_window *window, uint64_t n_warmup)
{
    *window = (struct dlb_window){.n_warmup = n_warmup};
}

/* Length of what [a, b) and [c, d) share. */
static uint64_t overlap_ns(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t from = a > c ? a : c, to = b < d ? b : d;
    return to > from ? to - from : 0;
}

/* Closes the interval of the last step: it is whole now that the next one's start is known. */
static void close_interval(const struct dlb_window *window, const struct dlb_step *step,
                           struct dlb_consumed *out)
{
    const struct dlb_step *last = &window->last;
    uint64_t from = last->times.step_end_ns, to = step->times.step_start_ns;
    uint64_t gap_ns = to - from;
    uint64_t input_ns = overlap_ns(from, to, step->wait_start_ns, step->wait_end_ns);
    uint64_t copy_from = step->times.copy_start_ns > step->wait_end_ns ? step->times.copy_start_ns
                                                                       : step->wait_end_ns;
    uint64_t copy_ns = overlap_ns(from, to, copy_from, step->times.copy_end_ns);
    uint64_t other_ns = gap_ns - input_ns - copy_ns;

    out->n_steps++;
    out->n_samples += last->n_samples;
    out->n_bytes += last->n_bytes;
    out->window_ns = step->times.step_start_ns - window->start_ns;
    out->busy_ns += last->times.step_end_ns - last->times.step_start_ns;
    out->idle_input_ns += input_ns;
    out->idle_copy_ns += copy_ns;
    out->idle_other_ns += other_ns;
    if (step->first_of_epoch) {
        out->epoch_idle_ns += gap_ns;
        out->epoch_other_ns += other_ns;
    }
    dlb_hist_add(&out->device[DLB_DS_COMPUTE], last->times.step_end_ns - last->times.step_start_ns);
    dlb_hist_add(&out->device[DLB_DS_COPY], last->times.copy_end_ns - last->times.copy_start_ns);
    dlb_hist_add(&out->device[DLB_DS_EXPOSED_COPY], copy_ns);
    dlb_hist_add(&out->device[DLB_DS_IDLE_INPUT], input_ns);
    dlb_hist_add(&out->device[DLB_DS_IDLE_OTHER], other_ns);
}

void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out)
{
    if (step->first_of_epoch && window->n_seen > 0 && step->epoch < DLB_MAX_EPOCHS_KEPT)
        out->epoch[step->epoch].gap_ns = step->times.step_start_ns - window->last.times.step_end_ns;
    if (window->n_seen == window->n_warmup)
        window->start_ns = step->times.step_start_ns;
    else if (window->n_seen > window->n_warmup)
        close_interval(window, step, out);
    window->n_seen++;
    window->last = *step;
}
