#include "scenarios/notes.h"

#include "scenarios/flat.h"
#include "scenarios/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool say(json_t *list, const char *fmt, ...)
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
    json_array_foreach(reference, i, doc)
    {
        double rate = dlb_json_number(doc, "n_samples") / dlb_json_number(doc, "window_ns");
        if (isfinite(rate) && rate > 0)
            rates[n++] = rate;
    }
    if (n >= 2)
        drift = dlb_median(rates + (n - n / 2), n / 2) / dlb_median(rates, n / 2) - 1;
    free(rates);
    return drift;
}

static bool note_skipped_samples(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    uint64_t n = dlb_json_u64(cell->shown, "n_skipped", 0);
    if (n == 0)
        return true;
    const json_t *names = json_object_get(cell->shown, "skipped");
    const char *first = json_string_value(json_array_get(names, 0));
    return say(notes, "cell %u: %llu samples could not be read or decoded and were skipped%s%s",
               number, (unsigned long long)n, first ? ", first: " : "", first ? first : "");
}

static bool note_idle_workers(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    uint64_t n = dlb_json_u64(cell->shown, "n_idle_workers", 0);
    if (n == 0)
        return true;
    return say(
        notes,
        "cell %u: there are fewer shards than workers, so %llu of %.0f workers had nothing to "
        "do: write more shards, or use fewer workers",
        number, (unsigned long long)n, cell->n_workers);
}

static bool note_warm(const struct dlb_results *results, json_t *notes)
{
    const char *status = dlb_json_text(results->warm, "status");
    if (!results->warm || strcmp(status, "ok") == 0)
        return true;
    return say(notes, "warm pass %s: %s", status, dlb_json_text(results->warm, "reason"));
}

static bool note_cells(const struct dlb_plan *plan, const struct dlb_results *results,
                       struct dlb_judgement *j)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < plan->n_cells; i++)
        ok = note_skipped_samples(&j->cells[i], i, j->notes) &&
             note_idle_workers(&j->cells[i], i, j->notes);
    for (uint32_t i = 0; ok && i < plan->n_ceilings; i++) {
        const json_t *doc = json_array_get(results->ceilings[i], 0);
        if (doc && strcmp(dlb_json_text(doc, "status"), "failed") == 0)
            ok = say(j->notes, "the ceiling could not be measured: %s",
                     dlb_json_text(doc, "reason"));
    }
    return ok;
}

static bool list_not_modelled(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    int64_t at = j->recommended >= 0 ? j->recommended : j->best;
    if (at < 0)
        return true;
    const struct dlb_judged_cell *cell = &j->cells[at];
    const json_t *config = plan->cells[at].config;
    bool many_epochs = json_integer_value(json_object_get(config, "run.epochs")) > 1;
    const char *device = dlb_json_text(json_object_get(cell->shown, "device"), "name");
    bool ok = true;
    if (strncmp(device, "emulated", 8) == 0)
        ok = say(j->not_modelled,
                 "the GPU: %s is a timeline with a step time and copy rates, no GPU was measured",
                 device);
    ok = ok && say(j->not_modelled,
                   "the Python interpreter: its cost per sample comes on top, in every worker");
    bool processes = strcmp(dlb_json_text(config, "loader.kind"), "processes") == 0;
    if (cell->n_workers > 0 && processes) {
        bool fresh = strcmp(dlb_json_text(config, "loader.transport"), "fresh") == 0;
        ok = ok && say(j->not_modelled, "%s",
                       fresh ? "handing memory from process to process: batches come in fresh "
                               "shared memory, as in PyTorch, but the system calls that make it "
                               "and send its descriptor are left out"
                             : "fresh shared memory for each batch: slots are mapped once and "
                               "reused; loader.transport = \"fresh\" has PyTorch's page faults");
    } else if (cell->n_workers > 0) {
        ok = ok && say(j->not_modelled,
                       "worker processes: these workers are threads, so fork, transport between "
                       "processes and its page faults are free here; loader.kind = \"processes\" "
                       "has them");
        ok = ok && say(j->not_modelled,
                       "persistent_workers: threads start so fast that it looks free; %s",
                       many_epochs ? "True is recommended because there is more than one epoch"
                                   : "with one epoch there is nothing to persist for");
    }
    if (plan->iterable && json_is_true(json_object_get(config, "loader.shuffle")))
        ok = ok &&
             say(j->not_modelled,
                 "shuffle of iterable data is the data set's own, as in "
                 "WebDataset(...).shuffle(%lld): DataLoader takes no shuffle=True for it",
                 (long long)json_integer_value(json_object_get(config, "loader.shuffle_buffer")));
    return ok;
}

bool dlb_notes_fill(const struct dlb_plan *plan, const struct dlb_results *results,
                    struct dlb_judgement *j)
{
    j->drift_frac = drift_of(results->reference);
    bool ok = true;
    if (isfinite(j->drift_frac) && fabs(j->drift_frac) > DLB_DRIFT_NOTED)
        ok = say(j->notes,
                 "the machine drifted: the reference cell %lld was %.0f%% %s in the later blocks "
                 "than in the earlier ones",
                 (long long)plan->reference, fabs(j->drift_frac) * 100,
                 j->drift_frac > 0 ? "faster" : "slower");
    return ok && note_warm(results, j->notes) && note_cells(plan, results, j) &&
           list_not_modelled(plan, j);
}
