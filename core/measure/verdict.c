#include "core/measure/verdict.h"

#include "core/measure/verdict_words.h"

#include <math.h>

static double frac(double x)
{
    return isnan(x) ? 0.0 : fmin(fmax(x, 0.0), 1.0);
}

/* A duration or ratio that was measured, or zero. */
static double measured_ns(double x)
{
    return isfinite(x) && x > 0.0 ? x : 0.0;
}

static double share_of(double part, double whole)
{
    return whole > 0.0 ? frac(part / whole) : 0.0;
}

static double work_ns(const struct dlb_evidence *e)
{
    double sum = 0.0;
    for (int i = DLB_WS_READ; i <= DLB_WS_COLLATE; i++)
        sum += measured_ns(e->worker_stage_ns[i]);
    return sum;
}

static double pin_ns(const struct dlb_evidence *e)
{
    return fmax(measured_ns(e->pin_stage_ns), measured_ns(e->worker_stage_ns[DLB_WS_PIN]));
}

/* Each loader has a pin thread, while the stages are summed over all workers; without workers the
 * loaders' own threads load. */
static bool pin_lags(const struct dlb_evidence *e)
{
    double n_loaders = fmax((double)e->n_loaders, 1.0);
    return pin_ns(e) / n_loaders > work_ns(e) / fmax((double)e->num_workers, n_loaders);
}

static void look_at_workers(const struct dlb_evidence *e, struct dlb_finding *f)
{
    double work = work_ns(e), largest = 0.0;
    double blocked = measured_ns(e->worker_stage_ns[DLB_WS_WAIT_CREDIT]) +
                     measured_ns(e->worker_stage_ns[DLB_WS_WAIT_SLOT]);

    f->stage = -1;
    for (int i = DLB_WS_READ; i <= DLB_WS_COLLATE; i++) {
        if (measured_ns(e->worker_stage_ns[i]) <= largest)
            continue;
        largest = measured_ns(e->worker_stage_ns[i]);
        f->stage = i;
    }
    f->stage_frac = share_of(largest, work);
    f->blocked_frac = share_of(blocked, work + blocked);
    f->cpus_taken = e->n_cpus > 0 && e->num_workers >= e->n_cpus;
    /* Without workers the loading thread is the consumer, and its run queue is not the workers'. */
    f->runqueue_frac =
        e->num_workers > 0 ? share_of(measured_ns(e->worker_runqueue_ns), work) : 0.0;
}

/* Whether the run with a null source shows that the harness itself is the limit. */
static bool harness_is_near(const struct dlb_finding *f)
{
    return f->harness_frac > DLB_HARNESS_MAX ||
           (f->headroom > 0.0 && f->headroom < DLB_HEADROOM_MIN);
}

static bool harness_bound(const struct dlb_evidence *e, const struct dlb_finding *f)
{
    if (harness_is_near(f))
        return true;
    if (isfinite(e->step_ns) && e->step_ns < DLB_UNACCOUNTED_STEP_NS)
        return f->account_frac + f->unaccounted_frac > DLB_HARNESS_SHORT_MAX;
    return f->unaccounted_frac > DLB_UNACCOUNTED_MAX || f->account_frac > DLB_ACCOUNT_MAX;
}

/* The share of idle time that the loader causes. */
static double loader_frac(const struct dlb_finding *f)
{
    return f->input_frac + f->late_frac;
}

static void look_at_gain(const struct dlb_gain *gain, struct dlb_finding *f)
{
    f->gain_low = gain->n == 1 ? gain->median / DLB_GAIN_OF_ONE : gain->low;
    f->gain_high = gain->n == 1 ? gain->median * DLB_GAIN_OF_ONE : gain->high;
    if (gain->n == 0 || !isfinite(gain->median) || isnan(f->gain_low) || isnan(f->gain_high))
        f->side = DLB_GAIN_UNKNOWN;
    else if (f->gain_low > DLB_GAIN_CLEAR)
        f->side = DLB_GAIN_ABOVE;
    else
        f->side = f->gain_high < DLB_GAIN_CLEAR ? DLB_GAIN_BELOW : DLB_GAIN_ACROSS;
}

/* Where input comes first. A device that hardly waits is not bound by its input, whatever
 * else makes the ceiling faster. */
static bool is_input_bound(const struct dlb_finding *f)
{
    if (f->side == DLB_GAIN_UNKNOWN)
        return loader_frac(f) >= DLB_SHARE_WARN;
    return f->side == DLB_GAIN_ABOVE && loader_frac(f) >= DLB_SHARE_WARN / 2;
}

/* With batches that are ready one takes its step at the least, and the host its copy. The ceiling
 * may copy faster than the cell: it copies one batch again and again, out of the CPU's caches. */
static double gain_at_most(const struct dlb_evidence *e)
{
    double longest = fmax(frac(e->compute_frac), frac(e->copy_call_frac));
    return longest > 0 ? fmin(e->gain.median, 1 / longest) : e->gain.median;
}

/* Without exposed copies training would be 1 / (1 - share) times as fast at most. Loading that was
 * measured to gain more comes first, however large their share is: they hide behind the steps once
 * batches are in time. A residual that exceeds the wait may be what the ceiling lacks. */
static bool gains_more_than_copies(const struct dlb_evidence *e, const struct dlb_finding *f)
{
    return f->side == DLB_GAIN_ABOVE && loader_frac(f) >= DLB_SHARE_WARN / 2 &&
           loader_frac(f) >= f->residual_frac && gain_at_most(e) > 1 / (1 - f->h2d_frac);
}

/* The reverse: a wait that faster loading would not end has a cause that is not known. */
static bool gain_explains_wait(const struct dlb_finding *f)
{
    return 1 - 1 / f->gain_high >= loader_frac(f) / 2;
}

static enum dlb_verdict_class classify(const struct dlb_evidence *e, struct dlb_finding *f)
{
    if (!e->complete || !isfinite(e->compute_frac) || !isfinite(e->input_frac) ||
        !isfinite(e->h2d_frac) || !isfinite(e->residual_frac))
        return DLB_V_INCOMPLETE;
    if (harness_bound(e, f))
        return DLB_V_HARNESS_BOUND;

    double others = fmax(f->h2d_frac, f->residual_frac);
    look_at_gain(&e->gain, f);
    bool first = loader_frac(f) >= others || gains_more_than_copies(e, f);
    bool waits = first && loader_frac(f) >= DLB_SHARE_WARN;
    if (first && is_input_bound(f))
        return DLB_V_INPUT_BOUND;
    f->ceiling_idle_frac = frac(e->ceiling_idle_frac);
    if (f->ceiling_idle_frac > DLB_CEILING_IDLE_MAX) {
        f->side = DLB_GAIN_UNKNOWN;
        f->starved = waits;
        if (f->starved)
            return DLB_V_HARNESS_BOUND;
    }
    f->input_refuted = waits && f->side == DLB_GAIN_BELOW;
    if (others >= DLB_SHARE_WARN && (!first || f->input_refuted))
        return f->h2d_frac >= others ? DLB_V_H2D_BOUND : DLB_V_RESIDUAL_HEAVY;
    if (f->side == DLB_GAIN_ABOVE || f->side == DLB_GAIN_ACROSS)
        return DLB_V_BORDERLINE;
    if (f->input_refuted && !gain_explains_wait(f))
        return DLB_V_INCOMPLETE; /* idle, and the cause is not known */
    return f->compute_frac >= DLB_COMPUTE_BOUND ? DLB_V_COMPUTE_BOUND : DLB_V_BALANCED;
}

static enum dlb_cause input_cause(const struct dlb_evidence *e, const struct dlb_finding *f)
{
    static const enum dlb_cause by_stage[] = {[DLB_WS_READ] = DLB_CAUSE_READ,
                                              [DLB_WS_DECODE] = DLB_CAUSE_DECODE,
                                              [DLB_WS_TRANSFORM] = DLB_CAUSE_TRANSFORM,
                                              [DLB_WS_COLLATE] = DLB_CAUSE_COLLATE};
    double order_frac = share_of(measured_ns(e->order_wait_ns), measured_ns(e->input_wait_ns));

    /* Checked first: no stage of a sample has part in it. */
    if (frac(e->start_frac) > f->input_frac / 2.0)
        return DLB_CAUSE_START;
    /* Checked before the others, because a worker that waits for a core looks like a slow worker to
     * them. */
    if (f->runqueue_frac > DLB_RUNQUEUE_CLEAR)
        return DLB_CAUSE_CPU;
    if (e->num_workers > 1 && order_frac > DLB_ORDER_CLEAR && f->blocked_frac > DLB_BLOCKED_CLEAR)
        return DLB_CAUSE_ORDER;
    if (pin_lags(e))
        return DLB_CAUSE_PIN;
    if (measured_ns(e->transport_ns) > measured_ns(e->sample_ns))
        return DLB_CAUSE_TRANSPORT;
    return f->stage < 0 ? DLB_CAUSE_NONE : by_stage[f->stage];
}

static enum dlb_cause residual_cause(const struct dlb_evidence *e, const struct dlb_finding *f)
{
    if (f->epoch_frac >= f->residual_frac / 2.0)
        return DLB_CAUSE_NONE;
    if (frac(e->host_frac) >= f->residual_frac / 2.0)
        return DLB_CAUSE_HOST;
    if (f->oversleep_frac >= f->residual_frac / 2.0 || f->runqueue_frac > DLB_RUNQUEUE_CLEAR ||
        f->cpus_taken)
        return DLB_CAUSE_CPU;
    return DLB_CAUSE_NONE;
}

static enum dlb_cause find_cause(const struct dlb_evidence *e, const struct dlb_finding *f)
{
    switch (f->klass) {
    case DLB_V_INPUT_BOUND:
        return input_cause(e, f);
    case DLB_V_H2D_BOUND:
        return DLB_CAUSE_COPY;
    case DLB_V_RESIDUAL_HEAVY:
        return residual_cause(e, f);
    case DLB_V_HARNESS_BOUND:
        return DLB_CAUSE_HARNESS;
    case DLB_V_INCOMPLETE:
    case DLB_V_BORDERLINE:
    case DLB_V_COMPUTE_BOUND:
    case DLB_V_BALANCED:
        break;
    }
    return DLB_CAUSE_NONE;
}

static enum dlb_severity by_share(double share)
{
    if (share >= DLB_SHARE_CRITICAL)
        return DLB_SEVERITY_CRITICAL;
    return share >= DLB_SHARE_WARN ? DLB_SEVERITY_WARN : DLB_SEVERITY_OK;
}

static enum dlb_severity find_severity(const struct dlb_finding *f)
{
    switch (f->klass) {
    case DLB_V_INPUT_BOUND: /* proven: a share just below the threshold is no less */
        return by_share(fmax(DLB_SHARE_WARN, fmax(loader_frac(f), f->h2d_frac)));
    case DLB_V_H2D_BOUND:
        return by_share(f->h2d_frac);
    case DLB_V_RESIDUAL_HEAVY:
        return by_share(f->residual_frac);
    case DLB_V_HARNESS_BOUND: /* the measurement is not valid, however small the share */
        if (f->starved)
            return by_share(loader_frac(f));
        return fmax(fmax(f->account_frac, f->unaccounted_frac), f->harness_frac) >=
                       DLB_SHARE_CRITICAL
                   ? DLB_SEVERITY_CRITICAL
                   : DLB_SEVERITY_WARN;
    case DLB_V_INCOMPLETE:
    case DLB_V_BORDERLINE: /* what a share of 10% would cost is not excluded */
        return DLB_SEVERITY_WARN;
    case DLB_V_COMPUTE_BOUND:
    case DLB_V_BALANCED:
        break;
    }
    return DLB_SEVERITY_OK;
}

/* Of what is missing: whatever the device did, it did not train on the data set. */
static enum dlb_severity lost_severity(const struct dlb_evidence *evidence, double lost_frac)
{
    if (lost_frac >= DLB_SHARE_CRITICAL)
        return DLB_SEVERITY_CRITICAL;
    return lost_frac >= DLB_LOST_WARN || evidence->n_cut_shards > 0 ? DLB_SEVERITY_WARN
                                                                    : DLB_SEVERITY_OK;
}

void dlb_judge(const struct dlb_evidence *evidence, struct dlb_verdict *out)
{
    struct dlb_finding f = {
        .compute_frac = frac(evidence->compute_frac),
        .input_frac = frac(evidence->input_frac),
        .late_frac = fmin(frac(evidence->late_copy_frac), frac(evidence->h2d_frac)),
        .residual_frac = frac(evidence->residual_frac),
        /* Late wake-ups behind queued steps leave no device idle, so each part is limited to the
         * whole. */
        .epoch_frac = fmin(frac(evidence->epoch_frac), frac(evidence->residual_frac)),
        .oversleep_frac = fmin(frac(evidence->oversleep_frac), frac(evidence->residual_frac)),
        .unaccounted_frac = frac(evidence->unaccounted_frac),
        .unaccounted_max_frac = frac(evidence->unaccounted_max_frac),
        .account_frac = frac(evidence->account_frac),
        .harness_frac = frac(evidence->harness_frac),
        .headroom = measured_ns(evidence->harness_headroom),
        .lost_frac = share_of((double)evidence->n_lost, (double)evidence->n_lost_of),
    };

    f.h2d_frac = frac(evidence->h2d_frac) - f.late_frac;
    look_at_workers(evidence, &f);
    f.klass = classify(evidence, &f);
    f.cause = find_cause(evidence, &f);
    *out = (struct dlb_verdict){.klass = f.klass, .cause = f.cause, .severity = find_severity(&f)};
    enum dlb_severity lost = lost_severity(evidence, f.lost_frac);
    out->severity = lost > out->severity ? lost : out->severity;
    out->unexplained = f.klass == DLB_V_INCOMPLETE && f.input_refuted;
    dlb_verdict_words(evidence, &f, out->text, sizeof out->text);
}
