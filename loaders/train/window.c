#include "loaders/train/window.h"

#include <math.h>

void dlb_window_open(struct dlb_window *window, uint64_t n_warmup, uint64_t max_batches,
                     double step_ns)
{
    *window = (struct dlb_window){.n_warmup = n_warmup,
                                  .n_max = max_batches ? n_warmup + max_batches + 1 : UINT64_MAX,
                                  .step_ns = step_ns};
}

/* Length of what [a, b) and [c, d) share. */
static uint64_t overlap_ns(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t from = a > c ? a : c, to = b < d ? b : d;
    return to > from ? to - from : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Closes the interval of the last step: it is whole now that the next one's start is known. */
static void close_interval(const struct dlb_window *window, const struct dlb_step *step,
                           struct dlb_share *share, struct dlb_consumed *out)
{
    const struct dlb_step *last = &window->last;
    uint64_t from = last->times.step_end_ns, to = step->times.step_start_ns;
    uint64_t gap_ns = to - from;
    uint64_t held_to = from + step->held_input_ns < step->held_until_ns
                           ? from + step->held_input_ns
                           : later(step->held_until_ns, from);
    uint64_t held_ns = overlap_ns(from, to, from, held_to);
    uint64_t input_ns = held_ns +
                        overlap_ns(from + held_ns, to, step->over_start_ns, step->over_end_ns) +
                        overlap_ns(from + held_ns, to, step->wait_start_ns, step->wait_end_ns);
    uint64_t copy_from = later(later(step->times.copy_start_ns, step->wait_end_ns), held_to);
    uint64_t copy_ns = overlap_ns(from, to, copy_from, step->times.copy_end_ns);
    uint64_t other_ns = gap_ns - input_ns - copy_ns;

    share->n_steps++;
    share->n_samples += last->n_samples;
    share->n_bytes += last->n_bytes;
    share->window_ns = step->times.step_start_ns - window->start_ns;
    share->busy_ns += last->times.step_end_ns - last->times.step_start_ns;
    share->idle_input_ns += input_ns;
    share->idle_copy_ns += copy_ns;
    if (step->late && step->wait_end_ns >= last->times.copy_end_ns)
        share->late_copy_ns += copy_ns;
    share->idle_other_ns += other_ns;
    if (step->first_of_epoch) {
        share->epoch_idle_ns += gap_ns;
        share->epoch_other_ns += other_ns;
    }
    dlb_hist_add(&out->device[DLB_DS_COMPUTE], last->times.step_end_ns - last->times.step_start_ns);
    dlb_hist_add(&out->device[DLB_DS_COPY], last->times.copy_end_ns - last->times.copy_start_ns);
    dlb_hist_add(&out->device[DLB_DS_EXPOSED_COPY], copy_ns);
    dlb_hist_add(&out->device[DLB_DS_IDLE_INPUT], input_ns);
    dlb_hist_add(&out->device[DLB_DS_IDLE_OTHER], other_ns);
}

/* Sums; dlb_window_close makes means of them. */
static void end_epoch(struct dlb_window *window)
{
    struct dlb_au *au = &window->share.au;

    if (window->epoch.n_steps > 1) { /* of fewer there is none to tell */
        au->mlperf_v1 += dlb_au_mlperf_v1(&window->epoch, window->step_ns);
        au->mlperf_v2 += dlb_au_mlperf_v2(&window->epoch);
        au->mlperf_v1_samples_per_s += dlb_rate_mlperf_v1(&window->epoch);
        au->mlperf_v2_samples_per_s += dlb_rate_mlperf_v2(&window->epoch);
        window->n_epochs++;
    }
    window->epoch = (struct dlb_au_epoch){0};
}

void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out)
{
    if (window->n_seen == window->n_max)
        return;
    if (step->first_of_epoch && window->n_seen > 0) {
        uint64_t gap_ns = step->times.step_start_ns - window->last.times.step_end_ns;
        if (step->epoch < DLB_MAX_EPOCHS_KEPT && gap_ns > out->epoch[step->epoch].gap_ns)
            out->epoch[step->epoch].gap_ns = gap_ns;
        end_epoch(window);
    }
    dlb_au_step(&window->epoch, step->wait_start_ns, step->times.step_start_ns,
                step->times.step_end_ns, step->n_samples);
    if (window->n_seen == window->n_warmup)
        window->start_ns = step->times.step_start_ns;
    else if (window->n_seen > window->n_warmup)
        close_interval(window, step, &window->share, out);
    window->n_seen++;
    window->last = *step;
}

void dlb_window_close(struct dlb_window *window)
{
    struct dlb_share *share = &window->share;
    struct dlb_au *au = &share->au;
    double window_ns = share->window_ns > 0 ? (double)share->window_ns : (double)NAN;

    end_epoch(window);
    double n = window->n_epochs > 0 ? (double)window->n_epochs : (double)NAN;
    au->nominal = (double)share->n_steps * window->step_ns / window_ns;
    au->measured = (double)share->busy_ns / window_ns;
    au->mlperf_v1 /= n;
    au->mlperf_v2 /= n;
    au->mlperf_v1_samples_per_s /= n;
    au->mlperf_v2_samples_per_s /= n;
}
