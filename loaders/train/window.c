#include "loaders/train/window.h"

#include "core/base/mem.h"
#include "loaders/train/idle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void dlb_window_open(struct dlb_window *window, const struct dlb_window_opts *opts)
{
    *window = (struct dlb_window){
        .pending = dlb_mem_array(2 * (size_t)opts->round, sizeof(*window->pending)),
        .ready_ns = dlb_mem_array(opts->n_workers, sizeof(*window->ready_ns)),
        .n_workers = opts->n_workers,
        .pace = {.round = opts->round, .n_epoch_batches = opts->n_epoch_batches},
        .step_ns = opts->step_ns};
}

void dlb_window_free(struct dlb_window *window)
{
    free(window->pending);
    free(window->ready_ns);
    window->pending = NULL;
    window->ready_ns = NULL;
}

/* The last step, and the interval behind it: it is whole now that the next step's start is known.
 */
static struct dlb_interval interval_of(const struct dlb_step *last, const struct dlb_step *step)
{
    uint64_t from = last->times.step_end_ns, to = step->times.step_start_ns;
    uint64_t gap_ns = to - from, busy_ns = from - last->times.step_start_ns;
    const struct dlb_idle idle = dlb_idle_between(last, step);
    uint64_t copy_ns = dlb_idle_ns(&idle, DLB_DS_EXPOSED_COPY);
    uint64_t other_ns = dlb_idle_ns(&idle, DLB_DS_IDLE_OTHER);
    bool late = step->late && step->wait_end_ns >= last->times.copy_end_ns;

    return (struct dlb_interval){
        .stretch = {.n_steps = 1,
                    .n_samples = last->n_samples,
                    .ns = to - last->times.step_start_ns,
                    .busy_ns = busy_ns,
                    .idle_input_ns = dlb_idle_ns(&idle, DLB_DS_IDLE_INPUT),
                    .idle_copy_ns = copy_ns,
                    .idle_other_ns = other_ns,
                    .late_copy_ns = late ? copy_ns : 0},
        .n_bytes = last->n_bytes,
        .compute_ns = busy_ns,
        .copy_ns = last->times.copy_end_ns - last->times.copy_start_ns,
        .epoch_idle_ns = step->first_of_epoch ? gap_ns : 0,
        .epoch_other_ns = step->first_of_epoch ? other_ns : 0,
        .lead_ns = last->wait_end_ns > last->ready_ns ? last->wait_end_ns - last->ready_ns : 0};
}

static void count(struct dlb_share *share, const struct dlb_interval *interval,
                  struct dlb_consumed *out)
{
    const struct dlb_stretch *one = &interval->stretch;

    share->n_steps++;
    share->n_samples += one->n_samples;
    share->n_bytes += interval->n_bytes;
    share->window_ns += one->ns;
    share->busy_ns += one->busy_ns;
    share->idle_input_ns += one->idle_input_ns;
    share->idle_copy_ns += one->idle_copy_ns;
    share->late_copy_ns += one->late_copy_ns;
    share->idle_other_ns += one->idle_other_ns;
    share->epoch_idle_ns += interval->epoch_idle_ns;
    share->epoch_other_ns += interval->epoch_other_ns;
    dlb_hist_add(&out->device[DLB_DS_COMPUTE], interval->compute_ns);
    dlb_hist_add(&out->device[DLB_DS_COPY], interval->copy_ns);
    dlb_hist_add(&out->device[DLB_DS_EXPOSED_COPY], one->idle_copy_ns);
    dlb_hist_add(&out->device[DLB_DS_IDLE_INPUT], one->idle_input_ns);
    dlb_hist_add(&out->device[DLB_DS_IDLE_OTHER], one->idle_other_ns);
}

/* Counts what is pending; *sum is its stretch. */
static void flush(struct dlb_window *window, struct dlb_stretch *sum, struct dlb_consumed *out)
{
    double lead_ns = 0;

    for (uint32_t i = 0; i < window->n_pending; i++) {
        const struct dlb_interval *one = &window->pending[i];
        count(&window->share, one, out);
        dlb_stretch_add(sum, &one->stretch);
        lead_ns += (double)one->lead_ns / window->n_pending;
    }
    if (window->share.n_steps == window->n_pending) {
        window->lead_first_ns = lead_ns;
    } else {
        double change_ns = lead_ns - window->lead_last_ns;
        window->lead_steps_ns2 += change_ns * change_ns;
        window->n_lead_steps++;
    }
    window->lead_last_ns = lead_ns;
    dlb_stretch_add(&window->cycle, sum);
    window->n_pending = 0;
}

/* The window is at the place of a round where it opened. */
static void end_round(struct dlb_window *window, const struct dlb_step *step,
                      struct dlb_consumed *out)
{
    struct dlb_pace *pace = &window->pace;
    struct dlb_stretch sum = {0};
    bool within = step->epoch == window->round_epoch && window->round_at >= pace->round;

    flush(window, &sum, out);
    if (within) {
        dlb_stretch_add(&pace->within, &sum);
        dlb_rounds_add(&window->rounds, sum.ns);
    }
    if (step->nth == window->place) {
        dlb_stretch_add(&pace->cycles, &window->cycle);
        pace->n_cycles++;
        window->cycle = (struct dlb_stretch){0};
    }
    window->round_at = step->nth;
    window->round_epoch = step->epoch;
    pace->whole_rounds = true;
}

/* How long a worker took for a batch: from its last one, if that was in this epoch. */
static void time_batch(struct dlb_window *window, const struct dlb_step *step)
{
    uint64_t *before_ns = &window->ready_ns[step->worker % window->n_workers];

    if (step->first_of_epoch)
        memset(window->ready_ns, 0, window->n_workers * sizeof(*window->ready_ns));
    if (*before_ns > 0 && step->ready_ns >= *before_ns)
        dlb_moments_add(&window->batch_ns, (double)(step->ready_ns - *before_ns));
    *before_ns = step->ready_ns;
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

static void begin_epoch(struct dlb_window *window, const struct dlb_step *step,
                        struct dlb_consumed *out)
{
    uint64_t gap_ns = step->times.step_start_ns - window->last.times.step_end_ns;

    if (step->epoch < DLB_MAX_EPOCHS_KEPT && gap_ns > out->epoch[step->epoch].gap_ns)
        out->epoch[step->epoch].gap_ns = gap_ns;
    end_epoch(window);
}

static void measure(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out)
{
    struct dlb_stretch sum = {0};

    if (window->n_pending == 2 * window->pace.round) /* an epoch that never comes to that place */
        flush(window, &sum, out);
    window->pending[window->n_pending++] = interval_of(&window->last, step);
    time_batch(window, step);
    if (step->mark != DLB_MARK_IN)
        end_round(window, step, out);
}

void dlb_window_add(struct dlb_window *window, const struct dlb_step *step,
                    struct dlb_consumed *out)
{
    if (window->closed)
        return;
    if (step->first_of_epoch && window->any)
        begin_epoch(window, step, out);
    dlb_au_step(&window->epoch, step->wait_start_ns, step->times.step_start_ns,
                step->times.step_end_ns, step->n_samples);
    if (window->open) {
        measure(window, step, out);
    } else if (step->mark == DLB_MARK_OPEN) {
        window->open = true;
        window->start_ns = step->times.step_start_ns;
        window->place = window->round_at = step->nth;
        window->round_epoch = step->epoch;
    }
    window->closed = step->mark == DLB_MARK_CLOSE;
    window->any = true;
    window->last = *step;
}

/* By how much batches lay ready for less time at the end than at the beginning; NaN where too few
 * rounds show their scatter, and 0 within it. The scatter is that of successive differences (von
 * Neumann, Annals of Mathematical Statistics 12, 1941), so that a trend does not hide itself. */
static double drained_ns(const struct dlb_window *window)
{
    double change_ns = window->lead_first_ns - window->lead_last_ns;
    double sigma_ns = sqrt(window->lead_steps_ns2 / (2.0 * window->n_lead_steps));

    if (window->n_lead_steps < DLB_DRAINED_MIN_ROUNDS - 1)
        return (double)NAN;
    return change_ns > DLB_TREND_SIGMAS * M_SQRT2 * sigma_ns ? change_ns : 0;
}

static void close_pace(struct dlb_window *window)
{
    struct dlb_pace *pace = &window->pace;

    pace->trend = dlb_rounds_trend(&window->rounds);
    pace->trend_limit = dlb_rounds_trend_limit(&window->rounds);
    pace->batch_cv = dlb_moments_cv(&window->batch_ns);
    pace->drained_frac = window->share.window_ns > 0
                             ? drained_ns(window) / (double)window->share.window_ns
                             : (double)NAN;
}

void dlb_window_close(struct dlb_window *window, struct dlb_consumed *out)
{
    struct dlb_share *share = &window->share;
    struct dlb_au *au = &share->au;
    struct dlb_stretch sum = {0};

    if (share->n_steps == 0)
        flush(window, &sum, out);
    close_pace(window);
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
