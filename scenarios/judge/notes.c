#include "scenarios/judge/notes.h"

#include "scenarios/judge/cache_summary.h"
#include "scenarios/judge/judge.h"
#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NOTED 0.02 /* what a GPU's calibrated step promises */
#define BURST_NOTED 0.2 /* of a window */

bool dlb_note(json_t *list, const char *fmt, ...)
{
    char text[700];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return json_array_append_new(list, dlb_json_safe_text(text)) == 0;
}

/* Median of the later half of the reference's runs against the earlier half's. */
static double drift_of(const json_t *reference)
{
    double *rates = calloc(json_array_size(reference) + 1, sizeof(double));
    double drift = (double)NAN;
    uint32_t n = 0;
    const json_t *doc;
    size_t i;
    if (!rates)
        return drift;
    json_array_foreach(reference, i, doc) {
        double rate = dlb_json_number(doc, "n_samples") / dlb_json_number(doc, "window_ns");
        if (isfinite(rate) && rate > 0)
            rates[n++] = rate;
    }
    if (n >= 2)
        drift = dlb_median(rates + (n - n / 2), n / 2) / dlb_median(rates, n / 2) - 1;
    free(rates);
    return drift;
}

bool dlb_skipped_text(const json_t *doc, char *text, size_t n_text)
{
    uint64_t n = dlb_json_u64(doc, "n_skipped", 0), n_cut = dlb_json_u64(doc, "n_cut_shards", 0);
    char samples[60] = "", shards[60] = "";
    if (n > 0)
        (void)snprintf(samples, sizeof(samples), "%llu sample%s%s", (unsigned long long)n,
                       n == 1 ? "" : "s", n_cut > 0 ? " and " : "");
    if (n_cut > 0)
        (void)snprintf(shards, sizeof(shards), "%llu time%s the rest of a shard",
                       (unsigned long long)n_cut, n_cut == 1 ? "" : "s");
    char epochs[40] = "";
    if (json_array_size(json_object_get(doc, "epochs")) > 1)
        (void)snprintf(epochs, sizeof(epochs), " in %zu epochs",
                       json_array_size(json_object_get(doc, "epochs")));
    (void)snprintf(text, n_text, "skipped what could not be read or decoded: %s%s%s", samples,
                   shards, epochs);
    return n > 0 || n_cut > 0;
}

static bool note_skipped(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    char text[200];
    if (!dlb_skipped_text(cell->shown, text, sizeof(text)))
        return true;
    const json_t *names = json_object_get(cell->shown, "skipped");
    const char *first = json_string_value(json_array_get(names, 0));
    return dlb_note(notes, "cell %u: %s%s%s", number, text, first ? ", first: " : "",
                    first ? first : "");
}

static bool note_idle_workers(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    uint64_t n = dlb_json_u64(cell->shown, "n_idle_workers", 0);
    if (n == 0)
        return true;
    return dlb_note(
        notes,
        "cell %u: there are fewer shards than workers, so %llu of %.0f workers had nothing to "
        "do: write more shards, or use fewer workers",
        number, (unsigned long long)n, cell->n_workers);
}

static bool note_io(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    const json_t *io = json_object_get(cell->shown, "io");
    const char *reason = json_string_value(json_object_get(io, "reason"));
    if (!reason)
        return true;
    return dlb_note(notes, "cell %u: loader.io = \"%s\", but %s reads were synchronous: %s", number,
                    dlb_json_text(io, "asked"),
                    strcmp(dlb_json_text(io, "used"), "mixed") == 0 ? "some workers\'" : "all",
                    reason);
}

/* More reads at once than there ever are. */
static bool note_depth(const struct dlb_plan *plan, const struct dlb_judged_cell *cell,
                       uint32_t number, json_t *notes)
{
    const json_t *io = json_object_get(cell->shown, "io");
    double batch_size = dlb_json_number(plan->cells[number].config, "loader.batch_size");
    double n_reads = dlb_json_number(io, "requests") - dlb_json_number(io, "resubmitted");
    double most = batch_size * ceil(n_reads / dlb_json_number(cell->shown, "worker_samples"));
    double depth = dlb_json_number(io, "depth");
    if (!plan->io_depth_said || !(depth > most))
        return true;
    return dlb_note(
        notes,
        "cell %u: loader.io_depth = %.0f is never reached: a worker reads ahead within one "
        "batch, and one of loader.batch_size = %.0f takes at most %.0f reads",
        number, depth, batch_size, most);
}

static bool is_failed(const json_t *doc)
{
    return strcmp(dlb_json_text(doc, "status"), "failed") == 0;
}

/* Whether an earlier pass over the same data came to the same. */
static bool is_told(const json_t *warm, size_t number)
{
    static const char *const keys[] = {"index", "status", "reason"};
    const json_t *doc = json_array_get(warm, number);
    for (size_t i = 0; i < number; i++) {
        const json_t *other = json_array_get(warm, i);
        bool same = true;
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            same =
                same && json_equal(json_object_get(doc, keys[k]), json_object_get(other, keys[k]));
        if (same)
            return true;
    }
    return false;
}

static bool note_warm(const struct dlb_plan *plan, const struct dlb_results *results, json_t *notes)
{
    const json_t *doc;
    size_t i;
    bool ok = true;
    json_array_foreach(results->warm, i, doc) {
        const char *status = dlb_json_text(doc, "status");
        uint64_t index = dlb_json_u64(doc, "index", UINT64_MAX);
        const char *path =
            index < plan->n_warms ? dlb_json_text(plan->warms[index], "dataset.path") : "";
        if (strcmp(status, "ok") == 0 || is_told(results->warm, i))
            continue;
        ok = ok && dlb_note(notes, "warm pass %s%s%s%s: %s", plan->n_warms > 1 ? "over " : "",
                            plan->n_warms > 1 ? path : "", plan->n_warms > 1 ? " " : "", status,
                            dlb_json_text(doc, "reason"));
    }
    return ok;
}

/* The first failure of each ceiling, in whichever repetition, and every one of the reference. */
static bool note_failures(const struct dlb_plan *plan, const struct dlb_results *results,
                          json_t *notes)
{
    const json_t *doc;
    size_t i;
    bool ok = true;
    for (uint32_t c = 0; ok && c < plan->n_ceilings; c++)
        json_array_foreach(results->ceilings[c], i, doc) {
            if (!is_failed(doc))
                continue;
            ok = dlb_note(notes, "the ceiling could not be measured%s (block %llu): %s",
                          i > 0 ? " in every repetition" : "",
                          (unsigned long long)dlb_json_u64(doc, "block", 0) + 1,
                          dlb_json_text(doc, "reason"));
            break;
        }
    json_array_foreach(results->reference, i, doc) {
        if (is_failed(doc))
            ok = ok &&
                 dlb_note(notes, "the reference cell %lld failed at the start of block %llu: %s",
                          (long long)plan->reference,
                          (unsigned long long)dlb_json_u64(doc, "block", 0) + 1,
                          dlb_json_text(doc, "reason"));
    }
    return ok;
}

static uint64_t n_accelerators(const json_t *doc)
{
    return dlb_json_u64(json_object_get(doc, "accelerators"), "count", 1);
}

/* Several training loops would load at once; one thread that stands for them cannot. */
static bool note_inline(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    uint64_t n = n_accelerators(cell->shown);
    if (n < 2 || cell->n_workers > 0)
        return true;
    return dlb_note(
        notes,
        "cell %u: loader.num_workers = 0, so one thread loaded for all %llu accelerators, "
        "one after the other: give each a worker",
        number, (unsigned long long)n);
}

/* Said once, for the first such cell: the others differ in how they load, not in what there is. */
static bool note_short(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    uint32_t first = 0, n = 0;
    for (uint32_t i = plan->n_cells; i-- > 0;) {
        const json_t *config = plan->cells[i].config;
        const json_t *shown = j->cells[i].shown;
        uint64_t wanted = dlb_json_u64(config, "run.max_batches", 0);
        if (j->cells[i].status != DLB_CELL_OK ||
            strcmp(dlb_json_text(shown, "status"), "ok") != 0 ||
            dlb_json_u64(shown, "n_steps", wanted * n_accelerators(shown)) >=
                wanted * n_accelerators(shown))
            continue;
        first = i;
        n++;
    }
    if (n == 0)
        return true;
    char others[40] = "";
    if (n > 1)
        (void)snprintf(others, sizeof(others), " (and %u more)", n - 1);
    return dlb_note(
        j->notes,
        "cell %u%s measured %llu batches of run.max_batches = %llu: the epochs hold no more; "
        "raise run.epochs",
        first, others,
        (unsigned long long)(dlb_json_u64(j->cells[first].shown, "n_steps", 0) /
                             n_accelerators(j->cells[first].shown)),
        (unsigned long long)dlb_json_u64(plan->cells[first].config, "run.max_batches", 0));
}

/* The summary's `dataset` is one, whatever was swept. */
static bool note_data(const struct dlb_plan *plan, json_t *notes)
{
    const char *key;
    json_t *axis;
    json_object_foreach(plan->axes, key, axis) {
        bool of_data = strncmp(key, "dataset.", 8) == 0 && strcmp(key, "dataset.on_error") != 0;
        if (of_data && json_array_size(axis) > 1)
            return dlb_note(
                notes,
                "%s is swept: the data set described above is the first cell's, those of "
                "the others are in their settings",
                key);
    }
    return true;
}

/* Said once, for the worst cell. Workers that begin together end together: a window of N batches
 * that W workers bring W at a time can begin after one such burst and end within another. */
static bool note_bursts(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    double worst = 0;
    uint32_t at = 0, n = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        double off = cell->n_workers / dlb_json_number(cell->shown, "n_steps");
        if (cell->status != DLB_CELL_OK || cell->n_workers < 2 || !(off > BURST_NOTED))
            continue;
        n++;
        if (off > worst) {
            worst = off;
            at = i;
        }
    }
    if (n == 0)
        return true;
    char others[40] = "";
    if (n > 1)
        (void)snprintf(others, sizeof(others), " (and %u more)", n - 1);
    return dlb_note(
        j->notes,
        "cell %u%s measured %.0f batches of %.0f workers, which can finish together: its "
        "rate may be off by %.0f%%; measure more (run.max_batches, run.epochs)",
        at, others, dlb_json_number(j->cells[at].shown, "n_steps"), j->cells[at].n_workers,
        fmin(worst, 1) * 100);
}

static bool has_text(const json_t *list, const char *text)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry) {
        const char *other = json_string_value(entry);
        if (other && strcmp(other, text) == 0)
            return true;
    }
    return false;
}

/* A cache that is not what was asked for, and what a cold one's proof leaves open. */
static bool note_cache(const json_t *reps, const struct dlb_judged_cell *cell, uint32_t number,
                       json_t *notes)
{
    json_t *cache = dlb_cache_summary(reps, cell->shown);
    const char *asked = dlb_json_text(cache, "asked"), *label = dlb_json_text(cache, "label");
    const json_t *limits = json_object_get(cache, "limits"), *limit;
    bool ok = cache != NULL, ran = json_array_size(json_object_get(cache, "repetitions")) > 0;
    size_t i;

    if (ok && ran && strcmp(asked, "as-is") != 0 && strcmp(asked, label) != 0)
        ok = dlb_note(notes, "cell %u: run.cache = \"%s\" was asked for, but the cache was %s: %s",
                      number, asked, label, dlb_json_text(cache, "why"));
    json_array_foreach(limits, i, limit) {
        char text[300];
        (void)snprintf(text, sizeof(text), "cold as far as can be seen from here: %s",
                       json_string_value(limit));
        if (ok && ran && strcmp(asked, "cold") == 0 && !has_text(notes, text))
            ok = dlb_note(notes, "%s", text);
    }
    json_decref(cache);
    return ok;
}

/* A step that is not what was asked for, or never was one: everything is held against it. */
static bool note_step(const struct dlb_judged_cell *cell, json_t *notes)
{
    const json_t *device = json_object_get(cell->shown, "device");
    const json_t *step = json_object_get(json_object_get(device, "gpu"), "step");
    double asked_ns = dlb_json_number(step, "asked_ns"), read_ns = dlb_json_number(step, "read_ns");
    double measured_ns = dlb_json_number(step, "measured_ns"), off = measured_ns / asked_ns - 1;
    char text[300];

    if (!isfinite(off) || fabs(off) <= STEP_NOTED)
        return true;
    if (read_ns >= asked_ns)
        (void)snprintf(text, sizeof(text),
                       "a step of %.3g ms was asked for, but reading the batch alone takes the GPU "
                       "%.3g ms, so steps took %.3g ms: raise device.step_ms, or lower "
                       "loader.batch_size",
                       asked_ns / 1e6, read_ns / 1e6, measured_ns / 1e6);
    else
        (void)snprintf(text, sizeof(text),
                       "a step of %.3g ms was asked for, but calibrated to %.3g ms (%+.1f%%): "
                       "other programs on the GPU, or clocks that moved (device.gpu.nvml)",
                       asked_ns / 1e6, measured_ns / 1e6, off * 100);
    return has_text(notes, text) || dlb_note(notes, "%s", text);
}

/* Said once, for the cell that it touched most: it is the machine's, not a setting's. */
static bool note_stolen(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    double most = 0;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        double stolen = dlb_json_number(j->cells[i].shown, "machine_stolen_frac");
        if (stolen > most) {
            most = stolen;
            worst = i;
        }
    }
    return most < DLB_OS_STOLEN_NOTED ||
           dlb_note(
               j->notes,
               "the hypervisor gave %.0f%% of this machine's CPU time to others while cell %u was "
               "measured (steal in /proc/stat): threads that were due came late, and the figures "
               "have that in them",
               most * 100, worst);
}

/* Of whichever repetition: what was measured before stands. */
static bool note_stuck(const json_t *reps, uint32_t number, json_t *notes)
{
    const json_t *doc;
    size_t i;
    json_array_foreach(reps, i, doc) {
        const char *why = dlb_json_text(doc, "stuck_why");
        if (strcmp(dlb_json_text(doc, "status"), "ok") == 0 && why[0])
            return dlb_note(
                notes, "cell %u: all of repetition %llu was measured, but at its end %s%s", number,
                (unsigned long long)dlb_json_u64(doc, "block", 0) + 1, why,
                json_object_get(doc, "worker_stages") ? "" : ": what its workers did is not known");
    }
    return true;
}

/* The default is long enough for most loaders: verdicts against it look good. */
static bool note_assumed_step(const struct dlb_plan *plan, json_t *notes)
{
    return !plan->step_assumed ||
           dlb_note(
               notes,
               "nobody set device.step_ms: all is held against a step of %g ms, the default, which "
               "is no network's; set it to what your training takes for loader.batch_size samples",
               dlb_json_number(plan->cells[0].config, "device.step_ms"));
}

static bool note_cells(const struct dlb_plan *plan, const struct dlb_results *results,
                       struct dlb_judgement *j)
{
    bool ok = note_short(plan, j) && note_data(plan, j->notes) && note_bursts(plan, j) &&
              note_stolen(plan, j) && note_assumed_step(plan, j->notes);
    for (uint32_t i = 0; ok && i < plan->n_cells; i++)
        ok = note_skipped(&j->cells[i], i, j->notes) &&
             note_idle_workers(&j->cells[i], i, j->notes) &&
             note_inline(&j->cells[i], i, j->notes) && note_io(&j->cells[i], i, j->notes) &&
             note_depth(plan, &j->cells[i], i, j->notes) &&
             note_cache(results->cells[i], &j->cells[i], i, j->notes) &&
             note_step(&j->cells[i], j->notes) && note_stuck(results->cells[i], i, j->notes);
    return ok;
}

bool dlb_notes_fill(const struct dlb_plan *plan, const struct dlb_results *results,
                    struct dlb_judgement *j)
{
    j->drift_frac = drift_of(results->reference);
    bool ok = true;
    if (isfinite(j->drift_frac) && fabs(j->drift_frac) > DLB_DRIFT_NOTED)
        ok = dlb_note(
            j->notes,
            "the machine drifted: the reference cell %lld was %.0f%% %s in the later blocks "
            "than in the earlier ones",
            (long long)plan->reference, fabs(j->drift_frac) * 100,
            j->drift_frac > 0 ? "faster" : "slower");
    return ok && note_warm(plan, results, j->notes) && note_failures(plan, results, j->notes) &&
           note_cells(plan, results, j);
}
