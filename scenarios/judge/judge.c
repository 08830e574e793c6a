#include "scenarios/judge/judge.h"

#include "core/base/err.h"
#include "scenarios/judge/cache_summary.h"
#include "scenarios/judge/not_modelled.h"
#include "scenarios/judge/notes.h"
#include "scenarios/judge/workers.h"
#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_status(const json_t *doc, const char *status)
{
    return strcmp(dlb_json_text(doc, "status"), status) == 0;
}

static double sum_ns(const json_t *doc, const char *table, const char *stage)
{
    return dlb_json_number(json_object_get(json_object_get(doc, table), stage), "sum_ns");
}

/* Each with loader.num_workers. */
static uint32_t n_loaders(const json_t *config)
{
    return json_is_true(json_object_get(config, "accelerators.shared_workers"))
               ? 1
               : (uint32_t)dlb_json_u64(config, "accelerators.count", 1);
}

/* Delivered and skipped samples are those expected, to the last one. Only where shards are read in
 * order and drop_last drops what does not fill a worker's last batch, a sample that is skipped
 * moves others into that batch or takes its place in it: each worker's sum is then off by less than
 * a batch. 0: by nothing. */
static uint64_t slack_of(const struct dlb_plan_cell *planned)
{
    const json_t *config = planned->config;
    bool skips = strcmp(dlb_json_text(config, "dataset.on_error"), "skip") == 0;
    uint64_t workers = dlb_json_u64(config, "loader.num_workers", 0);
    if (!planned->iterable || !skips || !json_is_true(json_object_get(config, "loader.drop_last")))
        return 0;
    return (workers ? workers : 1) * n_loaders(config) *
           dlb_json_u64(config, "loader.batch_size", 1);
}

/* What a run must satisfy before its speed means anything. Returns true and says what is wrong. */
static bool is_wrong(const struct dlb_plan_cell *planned, const json_t *doc, char *reason,
                     size_t n_reason)
{
    const json_t *epoch;
    size_t i;
    if (dlb_json_u64(doc, "n_checksum_mismatches", 0) > 0) {
        (void)snprintf(reason, n_reason,
                       "%.0f batches reached the device with other bytes than the workers wrote",
                       dlb_json_number(doc, "n_checksum_mismatches"));
        return true;
    }
    bool cut = dlb_json_u64(doc, "n_cut_shards", 0) > 0; /* how many that cost is not known */
    uint64_t slack = slack_of(planned);
    json_array_foreach(json_object_get(doc, "epochs"), i, epoch) {
        uint64_t samples = dlb_json_u64(epoch, "samples", 0);
        uint64_t unique = dlb_json_u64(epoch, "unique", samples);
        uint64_t expected = dlb_json_u64(epoch, "expected", 0);
        /* What ranks are padded with is another rank's. */
        if (samples - unique > dlb_json_u64(epoch, "padded", 0)) {
            (void)snprintf(reason, n_reason, "epoch %zu delivered %llu of %llu samples twice", i,
                           (unsigned long long)(samples - unique), (unsigned long long)samples);
            return true;
        }
        uint64_t skipped = dlb_json_u64(epoch, "skipped", 0), found = samples + skipped;
        if (!json_is_true(json_object_get(epoch, "whole")) || found == expected ||
            (found < expected && (cut || expected - found < slack)) ||
            (found > expected && found - expected < slack && skipped > 0))
            continue;
        char and_skipped[60] = "";
        if (skipped > 0)
            (void)snprintf(and_skipped, sizeof(and_skipped), " and skipped %llu",
                           (unsigned long long)skipped);
        (void)snprintf(reason, n_reason, "epoch %zu delivered %llu samples%s instead of %llu", i,
                       (unsigned long long)samples, and_skipped, (unsigned long long)expected);
        return true;
    }
    return false;
}

/* Repetitions of one cell see the same samples: their sums must agree. */
static bool disagree(const json_t *reps, char *reason, size_t n_reason)
{
    const json_t *first = NULL, *doc;
    size_t i;
    json_array_foreach(reps, i, doc) {
        const json_t *epoch = json_array_get(json_object_get(doc, "epochs"), 0);
        if (!is_status(doc, "ok") || !json_is_true(json_object_get(epoch, "whole")))
            continue;
        if (!first)
            first = epoch;
        if (strcmp(dlb_json_text(first, "set_checksum"), dlb_json_text(epoch, "set_checksum")) == 0)
            continue;
        (void)snprintf(reason, n_reason,
                       "repetitions delivered different content: set_checksum %s and %s",
                       dlb_json_text(first, "set_checksum"), dlb_json_text(epoch, "set_checksum"));
        return true;
    }
    return false;
}

static void judge_status(const struct dlb_plan_cell *planned, const json_t *reps, bool interrupted,
                         struct dlb_judged_cell *out)
{
    const json_t *doc;
    size_t i;
    if (planned->skipped || json_array_size(reps) == 0) {
        out->status = DLB_CELL_SKIPPED;
        (void)snprintf(out->reason, sizeof(out->reason), "%s",
                       planned->skipped ? planned->reason
                       : interrupted    ? "interrupted before it ran"
                                        : "it did not come to run");
        return;
    }
    out->status = DLB_CELL_OK;
    json_array_foreach(reps, i, doc) {
        bool failed = is_status(doc, "failed");
        if (failed) {
            (void)snprintf(out->reason, sizeof(out->reason), "%s", dlb_json_text(doc, "reason"));
            out->error = (enum dlb_status)dlb_json_u64(doc, "error", DLB_E_WORKER);
        } else if (is_wrong(planned, doc, out->reason, sizeof(out->reason))) {
            failed = true;
            out->error = DLB_E_WORKER;
        }
        if (failed) {
            out->status = DLB_CELL_FAILED;
            return;
        }
    }
    if (disagree(reps, out->reason, sizeof(out->reason))) {
        out->status = DLB_CELL_FAILED;
        out->error = DLB_E_WORKER;
    }
}

/* How many trained at once: counts and stages are those of all of them, times those of one. */
static double n_accelerators(const json_t *doc)
{
    double n = dlb_json_number(json_object_get(doc, "accelerators"), "count");
    return n > 0 ? n : 1;
}

/* Takes the repetitions of one status that have a window. */
static void take_values(const json_t *reps, const char *status, struct dlb_judged_cell *out)
{
    const json_t *doc;
    size_t i;
    json_array_foreach(reps, i, doc) {
        double window_ns = dlb_json_number(doc, "window_ns");
        if (!is_status(doc, status) || !(window_ns > 0))
            continue;
        out->samples_per_s[out->n_values] = dlb_json_number(doc, "n_samples") * 1e9 / window_ns;
        out->steps_per_s[out->n_values] =
            dlb_json_number(doc, "n_steps") / n_accelerators(doc) * 1e9 / window_ns;
        out->block[out->n_values++] = (uint32_t)dlb_json_u64(doc, "block", 0);
    }
}

static bool judge_values(const json_t *reps, uint64_t seed, struct dlb_judged_cell *out)
{
    size_t n = json_array_size(reps) + 1;
    out->samples_per_s = calloc(n, sizeof(double));
    out->steps_per_s = calloc(n, sizeof(double));
    out->block = calloc(n, sizeof(uint32_t));
    if (!out->samples_per_s || !out->steps_per_s || !out->block)
        return false;
    take_values(reps, "ok", out);
    if (out->n_values == 0) /* better a part than nothing: the document says that it is partial */
        take_values(reps, "cancelled", out);
    out->rate = dlb_estimate_median(out->samples_per_s, out->n_values, seed);
    const json_t *doc;
    size_t i;
    double nearest = INFINITY;
    json_array_foreach(reps, i, doc) {
        double window_ns = dlb_json_number(doc, "window_ns");
        double off = fabs(dlb_json_number(doc, "n_samples") * 1e9 / window_ns - out->rate.median);
        if (window_ns > 0 && off < nearest) {
            nearest = off;
            out->shown = doc;
        }
    }
    if (!out->shown)
        out->shown = json_array_get(reps, 0);
    return true;
}

/* Whether drop_last drops all there is; says so. */
static bool nothing_but_rest(const struct dlb_plan *plan, const struct dlb_plan_cell *planned,
                             const json_t *doc, char *reason, size_t n_reason)
{
    const json_t *config = planned->config,
                 *epoch = json_array_get(json_object_get(doc, "epochs"), 0);
    uint64_t n = plan->host.n_samples;
    uint64_t n_ranks = dlb_json_u64(config, "run.world", 1) * n_loaders(config);
    if (!json_is_true(json_object_get(config, "loader.drop_last")) ||
        dlb_json_u64(epoch, "expected", 1) > 0)
        return false;
    char each[80] = "", samples[40] = "what there is";
    if (n > 0)
        (void)snprintf(samples, sizeof(samples), "%llu samples", (unsigned long long)n);
    if (n_ranks > 1)
        (void)snprintf(each, sizeof(each), ", divided by %llu ranks,", (unsigned long long)n_ranks);
    else if (planned->iterable)
        (void)snprintf(each, sizeof(each), ", divided by the workers,");
    (void)snprintf(reason, n_reason,
                   "%s%s make%s no full batch of %llu: lower loader.batch_size%s or set "
                   "loader.drop_last=false",
                   samples, each, n > 0 ? "" : "s",
                   (unsigned long long)dlb_json_u64(config, "loader.batch_size", 0),
                   n_ranks > 1 ? " or run.world" : "");
    return true;
}

/* A cell without a single window has no result, however well its processes ended. */
static void judge_emptiness(const struct dlb_plan *plan, const struct dlb_plan_cell *planned,
                            const json_t *reps, bool interrupted, struct dlb_judged_cell *out)
{
    const json_t *doc = json_array_get(reps, 0);
    if (out->status != DLB_CELL_OK || out->n_values > 0)
        return;
    if (interrupted) {
        out->status = DLB_CELL_SKIPPED;
        (void)snprintf(out->reason, sizeof(out->reason),
                       "interrupted before anything was measured");
        return;
    }
    char skipped[200];
    bool skips = dlb_skipped_text(doc, skipped, sizeof(skipped));
    unsigned long long n_warmup =
        (unsigned long long)dlb_json_u64(planned->config, "run.warmup_batches", 0);
    out->status = DLB_CELL_FAILED;
    out->error = skips ? DLB_E_FORMAT : DLB_E_CONFIG;
    if (nothing_but_rest(plan, planned, doc, out->reason, sizeof(out->reason)))
        return;
    int at = snprintf(
        out->reason, sizeof(out->reason),
        "no batch was measured: the epochs hold %llu batches, %llu are warm-up and 1 closes the "
        "window; raise run.epochs or lower run.warmup_batches or loader.batch_size",
        (unsigned long long)dlb_json_u64(doc, "n_batches", 0), n_warmup);
    if (skips && at > 0 && (size_t)at < sizeof(out->reason))
        (void)snprintf(out->reason + at, sizeof(out->reason) - (size_t)at, " (%s)", skipped);
}

/* Median over repetitions of a / b; NaN when there is none. */
static double median_ratio(const json_t *reps, const char *a, const char *b, bool max)
{
    double *values = calloc(json_array_size(reps) + 1, sizeof(double));
    double out = (double)NAN;
    uint32_t n = 0;
    const json_t *doc;
    size_t i;
    if (!values)
        return out;
    json_array_foreach(reps, i, doc) {
        double ratio = dlb_json_number(doc, a) / dlb_json_number(doc, b);
        if (isfinite(ratio))
            values[n++] = ratio;
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

static struct dlb_estimate ceiling_ratio(const struct dlb_judged_cell *cell, const json_t *ceilings,
                                         uint64_t seed)
{
    struct dlb_estimate out = {NAN, NAN, NAN, DLB_INTERVAL_NONE, 0};
    double *a = calloc(2 * ((size_t)cell->n_values + 1), sizeof(double));
    double *b = a ? a + cell->n_values + 1 : NULL;
    uint32_t n = 0;
    const json_t *doc;
    size_t i;
    json_array_foreach(ceilings, i, doc) {
        double rate = dlb_json_number(doc, "n_steps") * 1e9 / dlb_json_number(doc, "window_ns");
        for (uint32_t k = 0; a && k < cell->n_values && n < cell->n_values; k++)
            if (isfinite(rate) && cell->block[k] == dlb_json_u64(doc, "block", UINT32_MAX)) {
                a[n] = rate;
                b[n++] = cell->steps_per_s[k];
            }
    }
    if (n > 0)
        out = dlb_estimate_paired_ratio(a, b, n, seed);
    free(a);
    return out;
}

double dlb_judged_read_bytes_per_s(const struct dlb_judged_cell *cell)
{
    return dlb_json_number(cell->shown, "io_bytes") /
           dlb_json_number(cell->shown, "worker_samples") * cell->rate.median;
}

static double zero_if_nan(double value)
{
    return isfinite(value) ? value : 0;
}

/* Batches that all workers may have made before the window began: a window that ends within them
 * shows how fast they are handed out. */
static bool is_beyond_stock(const json_t *config, const json_t *shown, uint32_t n_workers)
{
    double ahead = n_workers * dlb_json_number(config, "loader.prefetch_factor");
    double n = dlb_json_number(shown, "n_steps") +
               dlb_json_number(config, "run.warmup_batches") * n_accelerators(shown);
    return !(n <= ahead); /* without workers there is no such number */
}

static void gather(const struct dlb_plan_cell *planned, const json_t *reps, uint32_t n_cpus,
                   struct dlb_judged_cell *out)
{
    struct dlb_evidence *e = &out->evidence;
    const json_t *config = planned->config, *shown = out->shown;
    double window_ns = dlb_json_number(shown, "window_ns");
    double windows_ns = window_ns * n_accelerators(shown);
    uint32_t n_workers =
        (uint32_t)dlb_json_u64(config, "loader.num_workers", 0) * n_loaders(config);
    e->n_idle_workers = (uint32_t)dlb_json_u64(shown, "n_idle_workers", 0);
    e->num_workers = n_workers > e->n_idle_workers ? n_workers - e->n_idle_workers : 0;
    e->n_loaders = n_loaders(config);
    e->complete = out->status == DLB_CELL_OK && out->n_values > 0 &&
                  is_beyond_stock(config, shown, e->num_workers);
    e->gpu = shown &&
             strncmp(dlb_json_text(json_object_get(shown, "device"), "name"), "emulated", 8) != 0;
    e->compute_frac = median_ratio(reps, "busy_ns", "window_ns", false);
    e->input_frac = median_ratio(reps, "idle_input_ns", "window_ns", false);
    e->h2d_frac = median_ratio(reps, "idle_copy_ns", "window_ns", false);
    e->late_copy_frac = zero_if_nan(median_ratio(reps, "late_copy_ns", "window_ns", false));
    e->residual_frac = median_ratio(reps, "idle_other_ns", "window_ns", false);
    e->unaccounted_frac = median_ratio(reps, "unaccounted_ns", "wall_ns", false);
    e->unaccounted_max_frac = median_ratio(reps, "unaccounted_ns", "wall_ns", true);
    e->oversleep_frac = zero_if_nan(sum_ns(shown, "consumer_stages", "oversleep") / windows_ns);
    e->epoch_frac = fmin(zero_if_nan(dlb_json_number(shown, "epoch_other_ns") / window_ns),
                         zero_if_nan(e->residual_frac));
    e->step_ns = dlb_json_number(
        json_object_get(json_object_get(shown, "device_stages"), "compute"), "p50_ns");
    e->account_frac = sum_ns(shown, "consumer_stages", "account") / windows_ns;
    for (int i = 0; i < DLB_WS_COUNT; i++)
        e->worker_stage_ns[i] =
            zero_if_nan(sum_ns(shown, "worker_stages", dlb_worker_stage_names[i]));
    e->pin_stage_ns = e->worker_stage_ns[DLB_WS_PIN];
    e->worker_runqueue_ns = dlb_json_number(shown, "runqueue_ns");
    e->order_wait_ns = zero_if_nan(dlb_json_number(shown, "order_wait_ns"));
    e->input_wait_ns = zero_if_nan(sum_ns(shown, "consumer_stages", "input_wait"));
    e->n_cpus = n_cpus;
    e->pin_memory = json_is_true(json_object_get(config, "loader.pin_memory"));
    e->pageable_copy = !e->pin_memory;
    e->persistent_workers = json_is_true(json_object_get(config, "loader.persistent_workers"));
    e->device_prefetch = (uint32_t)dlb_json_u64(config, "device.prefetch", 0);
    e->cache = dlb_cache_label_of_reps(reps);
}

static void judge_evidence(struct dlb_judged_cell *cell)
{
    dlb_judge(&cell->evidence, &cell->verdict); /* core/measure/verdict.c */
    if (cell->status != DLB_CELL_OK)
        (void)snprintf(cell->verdict.text, sizeof(cell->verdict.text), "%s: %s",
                       cell->status == DLB_CELL_SKIPPED ? "Skipped" : "Failed", cell->reason);
}

/* All but what other cells say of it. */
static bool judge_alone(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t i,
                        uint32_t n_cpus, struct dlb_judged_cell *out)
{
    const struct dlb_plan_cell *planned = &plan->cells[i];
    const json_t *reps = results->cells[i];
    judge_status(planned, reps, results->interrupted, out);
    if (!judge_values(reps, plan->seed, out))
        return false;
    judge_emptiness(plan, planned, reps, results->interrupted, out);
    gather(planned, reps, n_cpus, out);
    if (out->status != DLB_CELL_SKIPPED && planned->ceiling < plan->n_ceilings) {
        const json_t *ceilings = results->ceilings[planned->ceiling];
        out->evidence.ceiling_ratio = ceiling_ratio(out, ceilings, plan->seed);
        out->evidence.ceiling_busy_frac = median_ratio(ceilings, "busy_ns", "window_ns", false);
    }
    out->ceiling_ratio =
        out->evidence.ceiling_ratio.n ? out->evidence.ceiling_ratio.median : (double)NAN;
    out->n_workers = out->evidence.num_workers + out->evidence.n_idle_workers;
    out->slots_bytes =
        zero_if_nan(dlb_json_number(json_object_get(out->shown, "memory"), "slots_bytes"));
    dlb_judge(&out->evidence, &out->verdict);
    return true;
}

bool dlb_judge_settings(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    bool judged = j->recommended >= 0 || json_array_size(j->set) > 0;
    int64_t shown = j->recommended >= 0 ? j->recommended : j->best;
    j->pytorch[0] = '\0';
    (void)json_array_clear(j->not_modelled);
    if (judged)
        dlb_pytorch_text(plan->cells[shown].config, plan->cells[shown].iterable, j->pytorch,
                         sizeof(j->pytorch));
    return dlb_not_modelled_fill(plan, j);
}

int dlb_judge_cells(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                    struct dlb_judgement *out, struct dlb_err *err)
{
    memset(out, 0, sizeof(*out));
    out->best = out->recommended = -1;
    out->drift_frac = (double)NAN;
    out->cells = calloc(plan->n_cells ? plan->n_cells : 1, sizeof(*out->cells));
    out->not_modelled = json_array();
    out->notes = json_array();
    bool ok = out->cells && out->not_modelled && out->notes;
    for (uint32_t i = 0; ok && i < plan->n_cells; i++)
        ok = judge_alone(plan, results, i, n_cpus, &out->cells[i]);
    for (uint32_t i = 0; ok && i < plan->n_cells; i++) {
        dlb_judge_workers(plan, out->cells, i, &out->cells[i].evidence);
        judge_evidence(&out->cells[i]);
    }
    ok = ok && dlb_recommend(plan, out);
    ok = ok && dlb_judge_settings(plan, out) && dlb_notes_fill(plan, results, out);
    if (ok)
        return DLB_OK;
    dlb_judgement_free(out, plan);
    return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the verdict");
}

void dlb_judgement_free(struct dlb_judgement *judgement, const struct dlb_plan *plan)
{
    for (uint32_t i = 0; judgement->cells && i < plan->n_cells; i++) {
        free(judgement->cells[i].samples_per_s);
        free(judgement->cells[i].steps_per_s);
        free(judgement->cells[i].block);
    }
    free(judgement->cells);
    json_decref(judgement->set);
    json_decref(judgement->not_modelled);
    json_decref(judgement->notes);
    json_decref(judgement->storage);
    memset(judgement, 0, sizeof(*judgement));
}
