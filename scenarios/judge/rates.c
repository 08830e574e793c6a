#include "scenarios/judge/rates.h"

#include "core/base/mem.h"
#include "core/measure/window_bias.h"
#include "scenarios/spec/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The epoch that the user will run. */
struct wanted {
    double n_batches, n_samples; /* of an accelerator; NaN: not known */
};

static struct wanted wanted_epoch(const struct dlb_plan_cell *planned, uint64_t n_stored)
{
    const struct dlb_spec *spec = planned->spec;
    bool made = strcmp(dlb_spec_format(spec)->name, "synthetic") == 0;
    uint64_t n_there = made ? (uint64_t)spec->generate.samples : n_stored;
    uint64_t n = spec->run.epoch_samples > 0 ? (uint64_t)spec->run.epoch_samples : n_there;
    struct wanted out = {.n_batches = dlb_spec_epoch_batches(spec, planned->iterable, n)};
    double share = (double)n / (double)spec->run.world / (double)spec->accelerators.count;
    double full = out.n_batches * (double)spec->loader.batch_size;
    out.n_samples = spec->loader.drop_last ? fmin(full, share) : share;
    return out;
}

static double per_s(const struct dlb_cell_result *rep, double n_samples, double ns)
{
    return n_samples * 1e9 / ns * dlb_cell_result_n_accelerators(rep);
}

/* Samples of an accelerator's step. */
static double samples_of_step(const struct dlb_stretch *stretch)
{
    return (double)stretch->n_samples / (double)stretch->n_steps;
}

/* An epoch of which samples are skipped has smaller batches, or fewer: then it is taken to have as
 * many in `wanted` as were made of those of the measured epochs. */
static void time_epoch(const struct dlb_cell_result *rep, double wanted, struct dlb_epoch_time *out)
{
    struct dlb_pace pace = rep->loop.pace;
    if (dlb_cell_result_lost(rep).n > 0 && pace.n_cycles > 0) {
        double made = (double)pace.cycles.n_steps / pace.n_cycles;
        wanted = wanted / pace.n_epoch_batches * made;
        pace.n_epoch_batches = made;
    }
    dlb_pace_epoch(&pace, wanted, out);
}

/* The repetition's time, as `kind` sees it; for the window, its shares alone. */
static struct dlb_epoch_time time_of(const struct dlb_cell_result *rep, enum dlb_rate_kind kind,
                                     const struct wanted *wanted)
{
    const struct dlb_share *total = &rep->loop.total;
    double ns = dlb_measured(total->window_ns);
    struct dlb_epoch_time out = {.ns = ns,
                                 .border_ns = (double)NAN,
                                 .busy_frac = dlb_measured(total->busy_ns) / ns,
                                 .input_frac = dlb_measured(total->idle_input_ns) / ns,
                                 .copy_frac = dlb_measured(total->idle_copy_ns) / ns,
                                 .late_copy_frac = dlb_measured(total->late_copy_ns) / ns,
                                 .other_frac = dlb_measured(total->idle_other_ns) / ns};
    if (kind == DLB_RATE_WITHIN)
        dlb_pace_within(&rep->loop.pace, &out);
    else if (kind == DLB_RATE_EPOCH)
        time_epoch(rep, wanted->n_batches, &out);
    return out;
}

/* Of samples that were delivered: skipped ones are not. */
static double rate_of(const struct dlb_cell_result *rep, enum dlb_rate_kind kind,
                      const struct wanted *wanted)
{
    struct dlb_epoch_time time = time_of(rep, kind, wanted);
    if (kind == DLB_RATE_WINDOW)
        return dlb_cell_result_samples_per_s(rep);
    if (kind == DLB_RATE_WITHIN)
        return per_s(rep, samples_of_step(&rep->loop.pace.within), time.ns);
    struct dlb_lost lost = dlb_cell_result_lost(rep);
    double lost_frac = lost.n > 0 ? (double)lost.n / (double)lost.of : 0;
    return per_s(rep, wanted->n_samples * (1 - lost_frac), time.ns);
}

/* Whether the repetition is among those that are judged. */
static bool is_taken(const struct dlb_cell_result *rep, enum dlb_rep_status status)
{
    return rep->status == status && isfinite(dlb_cell_result_samples_per_s(rep));
}

static enum dlb_rep_status status_taken(const struct dlb_reps *reps)
{
    for (uint32_t i = 0; i < reps->n; i++)
        if (is_taken(&reps->rep[i], DLB_REP_OK))
            return DLB_REP_OK;
    return DLB_REP_CANCELLED; /* interrupted: show a part; the document says that it is partial */
}

static double median_of(double *values, uint32_t n, bool all)
{
    uint32_t n_finite = 0;
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            values[n_finite++] = values[i];
    return n_finite > 0 && (n_finite == n || !all) ? dlb_median(values, n_finite) : (double)NAN;
}

/* Medians of the shares over the repetitions; NaN where one of them has none. */
static struct dlb_epoch_time median_time(const struct dlb_reps *reps, enum dlb_rep_status status,
                                         enum dlb_rate_kind kind, const struct wanted *wanted)
{
    enum { N = sizeof(struct dlb_epoch_time) / sizeof(double) };
    struct dlb_epoch_time *times = dlb_mem_array(reps->n, sizeof(*times)), out;
    double *column = dlb_mem_array(reps->n, sizeof(*column)), medians[N];
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++)
        if (is_taken(&reps->rep[i], status))
            times[n++] = time_of(&reps->rep[i], kind, wanted);
    for (size_t k = 0; k < N; k++) {
        for (uint32_t i = 0; i < n; i++)
            column[i] = ((const double *)&times[i])[k];
        medians[k] = median_of(column, n, kind != DLB_RATE_WINDOW);
    }
    memcpy(&out, medians, sizeof(out));
    free(times);
    free(column);
    return out;
}

static void fill_values(const struct dlb_reps *reps, enum dlb_rep_status status,
                        const struct wanted *wanted, struct dlb_judged_cell *cell)
{
    for (int kind = 0; kind < DLB_N_RATES; kind++) {
        struct dlb_judged_rate *rate = &cell->rates[kind];
        rate->values = dlb_mem_array(reps->n, sizeof(double));
        uint32_t n = 0;
        for (uint32_t i = 0; i < reps->n; i++)
            if (is_taken(&reps->rep[i], status))
                rate->values[n++] = rate_of(&reps->rep[i], (enum dlb_rate_kind)kind, wanted);
        rate->over = dlb_estimate_median(rate->values, n);
        cell->n_values = n;
    }
}

static void fill_blocks(const struct dlb_reps *reps, enum dlb_rep_status status,
                        struct dlb_judged_cell *cell)
{
    uint32_t n = 0;
    cell->steps_per_s = dlb_mem_array(reps->n, sizeof(double));
    cell->block = dlb_mem_array(reps->n, sizeof(uint32_t));
    for (uint32_t i = 0; i < reps->n; i++) {
        if (!is_taken(&reps->rep[i], status))
            continue;
        cell->steps_per_s[n] = dlb_cell_result_steps_per_s(&reps->rep[i]);
        cell->block[n++] = reps->rep[i].block;
    }
}

#define BIAS_INPUT_MIN 0.01 /* of the time: a window that waits less is set by the device */

/* The pool in the terms of the model. A round takes as long as a batch takes a worker. */
static double bias_of(const struct dlb_plan_cell *planned, const struct dlb_cell_result *rep,
                      double batch_cv, const struct dlb_evidence *e)
{
    const struct dlb_spec *spec = planned->spec;
    uint32_t round = rep->loop.pace.round;
    struct dlb_bias_model model = {.n_workers = round,
                                   .prefetch_factor = (uint32_t)spec->loader.prefetch_factor,
                                   .batch_cv = batch_cv,
                                   .step_per_batch = e->compute_frac / round,
                                   .n_warmup = dlb_spec_warmup(spec, round, (double)NAN),
                                   .n_measured = (uint64_t)(dlb_measured(rep->loop.total.n_steps) /
                                                            dlb_cell_result_n_accelerators(rep))};
    if (round == 1 || e->input_frac < BIAS_INPUT_MIN)
        return 0;
    return spec->loader.order == DLB_ORDER_IN_ORDER ? dlb_window_bias(&model) : (double)NAN;
}

/* The window's own faults: medians; stationary if most repetitions are that can tell. */
static void fill_faults(const struct dlb_plan_cell *planned, const struct dlb_reps *reps,
                        enum dlb_rep_status status, struct dlb_judged_cell *cell)
{
    double *drained = dlb_mem_array(2 * (size_t)reps->n, sizeof(double)), *cv = drained + reps->n;
    const struct dlb_cell_result *last = NULL;
    uint32_t n = 0, n_telling = 0, n_steady = 0;
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_pace *pace = &reps->rep[i].loop.pace;
        if (!is_taken(&reps->rep[i], status) || pace->round == 0)
            continue;
        last = &reps->rep[i];
        drained[n] = pace->drained_frac;
        cv[n++] = pace->batch_cv;
        n_telling += dlb_pace_tells_trend(pace);
        n_steady += dlb_pace_is_stationary(pace);
    }
    cell->tells_trend = n_telling > 0;
    cell->stationary = n_telling > 0 && 2 * n_steady >= n_telling;
    cell->drained_frac = median_of(drained, n, false);
    cell->window_bias_frac =
        last ? bias_of(planned, last, median_of(cv, n, false), &cell->evidence) : (double)NAN;
    free(drained);
}

static void fill_evidence(const struct dlb_epoch_time *shares, struct dlb_evidence *e)
{
    e->compute_frac = shares->busy_frac;
    e->input_frac = shares->input_frac;
    e->h2d_frac = shares->copy_frac;
    e->late_copy_frac = isfinite(shares->late_copy_frac) ? shares->late_copy_frac : 0;
    e->residual_frac = shares->other_frac;
}

void dlb_rates_fill(const struct dlb_plan_cell *planned, uint64_t n_stored,
                    const struct dlb_reps *reps, struct dlb_judged_cell *cell)
{
    struct wanted wanted = wanted_epoch(planned, n_stored);
    enum dlb_rep_status status = status_taken(reps);
    fill_values(reps, status, &wanted, cell);
    fill_blocks(reps, status, cell);
    for (int kind = 0; kind < DLB_N_RATES; kind++) {
        cell->times[kind] = median_time(reps, status, (enum dlb_rate_kind)kind, &wanted);
        if (isfinite(cell->times[kind].ns))
            fill_evidence(&cell->times[kind], &cell->evidence);
    }
    fill_faults(planned, reps, status, cell);
}

void dlb_rates_choose(enum dlb_rate_kind of_race, struct dlb_judgement *j)
{
    bool chosen = of_race < DLB_N_RATES;
    int kind = chosen ? (int)of_race : DLB_N_RATES - 1;
    for (uint32_t i = 0; i < j->n_cells && !chosen; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        while (kind > 0 && cell->status == DLB_CELL_OK && cell->n_values > 0 &&
               cell->rates[kind].over.n < cell->n_values)
            kind--;
    }
    j->ranked_by = (enum dlb_rate_kind)kind;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        struct dlb_judged_cell *cell = &j->cells[i];
        cell->values = cell->rates[kind].values;
        cell->rate = cell->rates[kind].over;
        if (isfinite(cell->times[kind].ns))
            fill_evidence(&cell->times[kind], &cell->evidence);
    }
}
