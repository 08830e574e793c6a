#include "scenarios/judge/judge.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/shell.h"
#include "scenarios/judge/cache_summary.h"
#include "scenarios/judge/fault.h"
#include "scenarios/judge/gain.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/lost.h"
#include "scenarios/judge/no_difference.h"
#include "scenarios/judge/noise.h"
#include "scenarios/judge/not_modelled.h"
#include "scenarios/judge/notes.h"
#include "scenarios/judge/raced.h"
#include "scenarios/judge/python.h"
#include "scenarios/judge/rates.h"
#include "scenarios/judge/recommend.h"
#include "scenarios/judge/workers.h"
#include "scenarios/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(struct dlb_judged_cell *out, enum dlb_code code)
{
    out->status = DLB_CELL_FAILED;
    out->code = code;
    out->error = dlb_code_status(code);
}

static void judge_status(const struct dlb_plan_cell *planned, const struct dlb_reps *reps,
                         bool interrupted, bool raced, struct dlb_judged_cell *out)
{
    out->code = DLB_N_CODES;
    if (planned->skipped || reps->n == 0) {
        out->status = DLB_CELL_SKIPPED;
        out->code = planned->skipped ? planned->code : DLB_N_CODES;
        (void)snprintf(out->reason, sizeof(out->reason), "%s",
                       planned->skipped ? planned->reason
                       : interrupted    ? "interrupted before it ran"
                       : raced ? "not run: the time of sweep.max_minutes was spent before its turn"
                               : "not run: the experiment ended before its turn");
        return;
    }
    out->status = DLB_CELL_OK;
    for (uint32_t i = 0; i < reps->n && out->status == DLB_CELL_OK; i++) {
        const struct dlb_cell_result *rep = &reps->rep[i];
        if (rep->status == DLB_REP_FAILED) {
            dlb_cut_text(out->reason, sizeof(out->reason), rep->reason);
            fail(out, rep->code < DLB_N_CODES ? rep->code : DLB_ERR_WORKER);
            out->error = rep->error;
            if (rep->code == DLB_ERR_PYTHON_SETTING_MISSING) /* there is nothing to measure */
                out->status = DLB_CELL_SKIPPED;
            continue;
        }
        enum dlb_code fault = dlb_fault_of(planned, rep, out->reason, sizeof(out->reason));
        if (fault < DLB_N_CODES)
            fail(out, fault);
    }
    if (out->status == DLB_CELL_OK &&
        dlb_reps_disagree(planned, reps, out->reason, sizeof(out->reason)))
        fail(out, DLB_ERR_CONTENT_DIFFERS);
}

/* The repetition whose rate is nearest the median. */
static const struct dlb_cell_result *choose_shown(const struct dlb_reps *reps, double median)
{
    const struct dlb_cell_result *shown = reps->n > 0 ? &reps->rep[0] : NULL;
    double nearest = INFINITY;
    for (uint32_t i = 0; i < reps->n; i++) {
        double off = fabs(dlb_cell_result_samples_per_s(&reps->rep[i]) - median);
        if (off < nearest) {
            nearest = off;
            shown = &reps->rep[i];
        }
    }
    return shown;
}

/* Whether drop_last drops all samples; if so, writes that to `reason`. */
static bool nothing_but_rest(const struct dlb_plan_cell *planned, uint64_t n_stored,
                             const struct dlb_cell_result *rep, char *reason, size_t n_reason)
{
    const struct dlb_spec *spec = planned->spec;
    uint64_t n_ranks = dlb_spec_ranks(spec);
    if (!spec->loader.drop_last || rep->loop.n_epochs == 0 || rep->loop.epoch[0].n_expected > 0)
        return false;
    char each[80] = "", samples[40] = "the samples";
    if (n_stored > 0)
        (void)snprintf(samples, sizeof(samples), "%llu samples", (unsigned long long)n_stored);
    if (n_ranks > 1)
        (void)snprintf(each, sizeof(each), ", divided by %llu ranks,", (unsigned long long)n_ranks);
    else if (planned->iterable)
        (void)snprintf(each, sizeof(each), ", divided by the workers,");
    (void)snprintf(reason, n_reason,
                   "%s%s make no full batch of %lld: lower loader.batch_size%s or set "
                   "loader.drop_last=false",
                   samples, each, (long long)spec->loader.batch_size,
                   n_ranks > 1 ? " or run.world" : "");
    return true;
}

/* More epochs would deliver as little: the data are what to look at. */
static void fail_unreadable(const struct dlb_spec *spec, const struct dlb_cell_result *rep,
                            struct dlb_judged_cell *out)
{
    char skipped[200];
    bool named = rep->workers.n_skipped_named > 0;
    char *word = dlb_shell_word(spec->dataset.path);
    (void)dlb_skipped_text(rep, skipped, sizeof(skipped));
    fail(out, DLB_ERR_NOTHING_READABLE);
    (void)snprintf(out->reason, sizeof(out->reason),
                   "no sample was delivered: %s%s%.*s; look at the data with `dlbench inspect "
                   "%s`, and check dataset.codec",
                   skipped, named ? ", first: " : "",
                   DLB_CUT(named ? rep->workers.skipped[0] : "", 300), word);
    free(word);
}

/* A cell without a single window has no result, however well its processes ended. */
static void judge_emptiness(const struct dlb_plan_cell *planned, uint64_t n_stored,
                            const struct dlb_reps *reps, bool interrupted,
                            struct dlb_judged_cell *out)
{
    if (out->status != DLB_CELL_OK || out->n_values > 0)
        return;
    if (interrupted) {
        out->status = DLB_CELL_SKIPPED;
        (void)snprintf(out->reason, sizeof(out->reason),
                       "interrupted before anything was measured");
        return;
    }
    const struct dlb_cell_result *rep = &reps->rep[0];
    struct dlb_lost lost = dlb_cell_result_lost(rep);
    if (lost.n > 0 && lost.n == lost.of) {
        fail_unreadable(planned->spec, rep, out);
        return;
    }
    char skipped[200];
    bool skips = dlb_skipped_text(rep, skipped, sizeof(skipped));
    fail(out, DLB_ERR_TOO_FEW_BATCHES);
    if (nothing_but_rest(planned, n_stored, rep, out->reason, sizeof(out->reason)))
        return;
    char shared[48] = "";
    if (planned->spec->accelerators.count > 1)
        (void)snprintf(shared, sizeof(shared), " for %lld accelerators",
                       (long long)planned->spec->accelerators.count);
    int at = snprintf(
        out->reason, sizeof(out->reason),
        "no batch was measured: the epochs hold %llu batches%s, of which %lld are warm-up and 1 "
        "closes the window; raise run.epochs, or lower run.warmup_batches or loader.batch_size",
        (unsigned long long)dlb_count_or_zero(rep->loop.n_batches), shared,
        (long long)planned->spec->run.warmup_batches);
    if (skips && at > 0 && (size_t)at < sizeof(out->reason))
        (void)snprintf(out->reason + at, sizeof(out->reason) - (size_t)at, " (%s)", skipped);
}

/* One figure of each repetition over another; NaN where one is missing. */
struct ratio {
    size_t part, whole; /* offsets in struct dlb_share */
};
#define RATIO(part, whole)                                                                         \
    (struct ratio)                                                                                 \
    {                                                                                              \
        offsetof(struct dlb_share, part), offsetof(struct dlb_share, whole)                        \
    }

static double ratio_of(const struct dlb_cell_result *rep, struct ratio ratio)
{
    const char *total = (const char *)&rep->loop.total;
    return dlb_measured(*(const uint64_t *)(const void *)(total + ratio.part)) /
           dlb_measured(*(const uint64_t *)(const void *)(total + ratio.whole));
}

/* Median over repetitions, or the largest; NaN when there is none. */
static double over_reps(const struct dlb_reps *reps, struct ratio ratio, bool max)
{
    double *values = dlb_mem_array(reps->n, sizeof(double)), out = (double)NAN;
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++) {
        double value = ratio_of(&reps->rep[i], ratio);
        if (isfinite(value))
            values[n++] = value;
    }
    if (n > 0 && max) {
        out = values[0];
        for (uint32_t k = 1; k < n; k++)
            out = fmax(out, values[k]);
    } else if (n > 0) {
        out = dlb_median(values, n);
    }
    free(values);
    return out;
}

static double zero_if_nan(double value)
{
    return isfinite(value) ? value : 0;
}

/* Batches that all workers may have made before the window began: a window that ends within them
 * shows how fast they are handed out. */
static bool is_beyond_stock(const struct dlb_spec *spec, const struct dlb_cell_result *shown,
                            uint32_t n_workers)
{
    double ahead = n_workers * (double)spec->loader.prefetch_factor;
    double n = dlb_measured(shown->loop.total.n_steps) +
               (double)spec->run.warmup_batches * dlb_cell_result_n_accelerators(shown);
    return n_workers == 0 || !(n <= ahead);
}

static double sum_ns(const struct dlb_stage_result *stage)
{
    return dlb_measured(stage->sum_ns);
}

/* Evidence from the settings. */
static void gather_spec(const struct dlb_spec *spec, const struct dlb_cell_result *shown,
                        struct dlb_evidence *e)
{
    e->n_loaders = dlb_spec_loaders(spec) * dlb_cell_result_n_ranks(shown);
    e->n_idle_workers = shown->workers.n_idle;
    uint32_t n_workers = (uint32_t)spec->loader.num_workers * e->n_loaders;
    e->num_workers = n_workers > e->n_idle_workers ? n_workers - e->n_idle_workers : 0;
    e->pin_memory = spec->loader.pin_memory;
    e->pageable_copy = !spec->loader.pin_memory;
    e->persistent_workers = spec->loader.persistent_workers;
    e->device_prefetch = (uint32_t)spec->device.prefetch;
}

/* Evidence from all repetitions: medians. dlb_rates_fill has set the shares. */
static void gather_accounts(const struct dlb_reps *reps, struct dlb_evidence *e)
{
    e->unaccounted_frac = over_reps(reps, RATIO(unaccounted_ns, wall_ns), false);
    e->unaccounted_max_frac = over_reps(reps, RATIO(unaccounted_ns, wall_ns), true);
    e->cache = dlb_cache_label_of_reps(reps);
}

/* Evidence from the repetition that is shown. */
static void gather_lost(const struct dlb_reps *reps, const struct dlb_cell_result *shown,
                        struct dlb_evidence *e)
{
    struct dlb_skipped skipped = dlb_reps_skipped(reps, shown);
    const struct dlb_workers_result *workers = &skipped.named->workers;
    e->n_lost = skipped.lost.n;
    e->n_lost_of = skipped.lost.of;
    e->n_cut_shards = skipped.n_uncounted_shards;
    e->first_lost = workers->n_skipped_named > 0 ? workers->skipped[0] : NULL;
}

static void gather_stages(const struct dlb_cell_result *shown, struct dlb_evidence *e)
{
    const struct dlb_loop_result *loop = &shown->loop;
    const struct dlb_workers_result *workers = &shown->workers;
    double window_ns = dlb_measured(loop->total.window_ns);
    double windows_ns = window_ns * dlb_cell_result_n_accelerators(shown);
    e->gpu = strncmp(shown->device.name, "emulated", 8) != 0;
    e->oversleep_frac = zero_if_nan(sum_ns(&loop->consumer[DLB_CS_OVERSLEEP]) / windows_ns);
    e->epoch_frac = fmin(zero_if_nan(dlb_measured(loop->total.epoch_other_ns) / window_ns),
                         zero_if_nan(e->residual_frac));
    e->step_ns = dlb_measured(loop->device[DLB_DS_COMPUTE].p50_ns);
    e->account_frac = sum_ns(&loop->consumer[DLB_CS_ACCOUNT]) / windows_ns;
    e->host_frac = zero_if_nan(sum_ns(&loop->consumer[DLB_CS_HOST]) / windows_ns);
    e->copy_call_frac = zero_if_nan(sum_ns(&loop->consumer[DLB_CS_COPY_CALL]) / windows_ns);
    for (int i = 0; i < DLB_WS_COUNT; i++)
        e->worker_stage_ns[i] = zero_if_nan(sum_ns(&workers->stage[i]));
    e->pin_stage_ns = e->worker_stage_ns[DLB_WS_PIN];
    e->worker_runqueue_ns = dlb_measured(workers->runqueue_ns);
    e->order_wait_ns = zero_if_nan(dlb_measured(workers->order_wait_ns));
    e->input_wait_ns = zero_if_nan(sum_ns(&loop->consumer[DLB_CS_INPUT_WAIT]));
}

/* What the accelerators waited for first batches of epochs, less what a worker takes for one. */
static double start_frac(const struct dlb_spec *spec, const struct dlb_loop_result *loop,
                         const struct dlb_evidence *e)
{
    double waited_ns =
        dlb_measured(loop->total.epoch_idle_ns) - dlb_measured(loop->total.epoch_other_ns);
    double n_borders = loop->n_epochs > 0 ? loop->n_epochs - 1 : 0, sample_ns = e->sample_ns;
    for (int stage = DLB_WS_READ; !e->torch && stage <= DLB_WS_COLLATE; stage++)
        sample_ns += e->worker_stage_ns[stage] / dlb_measured(loop->total.n_samples);
    double fill_ns = n_borders * (double)spec->loader.batch_size * sample_ns;
    double frac = (waited_ns - fill_ns) / dlb_measured(loop->total.window_ns);
    return fmin(fmax(zero_if_nan(frac), 0), zero_if_nan(e->input_frac));
}

static void gather(const struct dlb_plan_cell *planned, const struct dlb_reps *reps,
                   uint32_t n_cpus, const char *undecoded, struct dlb_judged_cell *out)
{
    struct dlb_cell_result none;
    struct dlb_evidence *e = &out->evidence;
    const struct dlb_cell_result *shown = out->shown;
    if (!shown) {
        dlb_cell_result_init(&none);
        shown = &none;
    }
    gather_spec(planned->spec, shown, e);
    gather_accounts(reps, e);
    gather_stages(shown, e);
    gather_lost(reps, shown, e);
    e->undecoded = dlb_codecs[planned->spec->dataset.codec]->identity && undecoded && undecoded[0]
                       ? undecoded
                       : NULL;
    dlb_evidence_of_python(planned->spec, shown->python, e);
    e->start_frac = start_frac(planned->spec, &shown->loop, e);
    e->gpu = e->gpu && out->shown;
    e->n_cpus = n_cpus * dlb_cell_result_n_ranks(shown);
    e->complete = out->status == DLB_CELL_OK && out->n_values > 0 &&
                  is_beyond_stock(planned->spec, shown, e->num_workers);
}

static void judge_evidence(struct dlb_judged_cell *cell)
{
    dlb_judge(&cell->evidence, &cell->verdict);
    if (cell->status != DLB_CELL_OK)
        (void)snprintf(cell->verdict.text, sizeof(cell->verdict.text), "%s: %s",
                       cell->status == DLB_CELL_SKIPPED ? "Skipped" : "Failed", cell->reason);
}

/* The repetitions of the cell's ceiling; NULL without one. */
static const struct dlb_reps *ceilings_of(const struct dlb_plan_cell *planned,
                                          const struct dlb_results *results)
{
    return planned->ceiling < results->n_ceilings ? &results->ceilings[planned->ceiling] : NULL;
}

/* What a cell's own figures say. */
static void look_at(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t i,
                    uint32_t n_cpus, struct dlb_judgement *j)
{
    const struct dlb_plan_cell *planned = &plan->cells[i];
    const struct dlb_reps *reps = &results->cells[i];
    struct dlb_judged_cell *out = &j->cells[i];
    uint64_t n_stored = plan->host.n_samples;
    out->modelled_loss_frac = (double)NAN;
    out->aside = dlb_plan_race_of(plan, i) != dlb_plan_deciding(plan);
    judge_status(planned, reps, results->interrupted, plan->race != NULL, out);
    dlb_rates_fill(planned, n_stored, reps, out);
    out->shown = choose_shown(reps, out->rates[DLB_RATE_WINDOW].over.median);
    judge_emptiness(planned, n_stored, reps, results->interrupted, out);
    gather(planned, reps, n_cpus, plan->host.undecoded, out);
    if (out->status != DLB_CELL_SKIPPED)
        out->ceilings = ceilings_of(planned, results);
    out->n_workers = out->evidence.num_workers + out->evidence.n_idle_workers;
    out->slots_bytes = out->shown ? zero_if_nan(dlb_measured(out->shown->memory.slots_bytes)) : 0;
}

void dlb_judge_settings(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    bool judged = j->recommended >= 0 || j->n_set > 0;
    int64_t shown = j->recommended >= 0 ? j->recommended : j->best;
    j->pytorch[0] = '\0';
    (void)json_array_clear(j->not_modelled);
    (void)json_array_clear(j->unmeasured);
    if (judged) {
        const struct dlb_cell_result *rep = j->cells[shown].shown;
        j->ragged = dlb_pytorch_is_ragged(plan, plan->cells[shown].spec);
        dlb_pytorch_text(plan->cells[shown].spec, plan->cells[shown].iterable,
                         rep ? rep->python : NULL, j, j->pytorch, sizeof(j->pytorch));
        dlb_pytorch_unmeasured(plan, plan->cells[shown].spec, j);
    }
    dlb_not_modelled_fill(plan, j);
}

void dlb_judge_each(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                    struct dlb_judgement *out)
{
    memset(out, 0, sizeof(*out));
    out->best = out->recommended = -1;
    out->drift_frac = out->noise_floor_frac = out->probability = (double)NAN;
    out->loss_frac = (struct dlb_race_interval){(double)NAN, (double)NAN, (double)NAN};
    out->n_cells = plan->n_cells;
    out->cells = dlb_mem_array(out->n_cells, sizeof(*out->cells));
    out->tolerance = plan->cells[0].spec->sweep.tolerance;
    out->no_difference = dlb_json_made(json_array());
    out->left_out = dlb_json_made(json_array());
    out->unmeasured = dlb_json_made(json_array());
    out->not_modelled = dlb_json_made(json_array());
    out->notes = dlb_json_made(json_array());
    for (uint32_t i = 0; i < out->n_cells; i++)
        look_at(plan, results, i, n_cpus, out);
    dlb_rates_choose(plan->race ? plan->race->rate : DLB_N_RATES, out);
    dlb_gains_fill(out->cells, out->n_cells);
    /* dlb_judge_workers compares cells and needs a first verdict of each, which the second
     * replaces. */
    for (uint32_t i = 0; i < out->n_cells; i++)
        dlb_judge(&out->cells[i].evidence, &out->cells[i].verdict);
    for (uint32_t i = 0; i < out->n_cells; i++) {
        dlb_judge_workers(plan, out, i);
        judge_evidence(&out->cells[i]);
    }
}

void dlb_judge_cells(const struct dlb_plan *plan, const struct dlb_results *results,
                     uint32_t n_cpus, struct dlb_judgement *out)
{
    struct dlb_noise noise;
    dlb_judge_each(plan, results, n_cpus, out);
    if (plan->race)
        dlb_recommend_raced(plan, out);
    else
        dlb_recommend(plan, out);
    dlb_noise_of_cells(out, &noise);
    dlb_noise_judge(plan, &noise, out);
    dlb_no_difference_find(plan, &noise, out);
    dlb_judge_settings(plan, out);
    dlb_notes_fill(plan, results, out);
    if (plan->race)
        dlb_raced_note(out, out->notes);
}

void dlb_judgement_free(struct dlb_judgement *judgement)
{
    for (uint32_t i = 0; i < judgement->n_cells; i++) {
        for (int k = 0; k < DLB_N_RATES; k++)
            free(judgement->cells[i].rates[k].values);
        free(judgement->cells[i].steps_per_s);
        free(judgement->cells[i].block);
    }
    free(judgement->cells);
    free(judgement->set);
    json_decref(judgement->no_difference);
    json_decref(judgement->left_out);
    json_decref(judgement->unmeasured);
    json_decref(judgement->not_modelled);
    json_decref(judgement->notes);
    json_decref(judgement->storage);
    json_decref(judgement->gap);
    memset(judgement, 0, sizeof(*judgement));
}
