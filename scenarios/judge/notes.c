#include "scenarios/judge/notes.h"

#include "scenarios/judge/classes.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/host/osacct.h"
#include "core/measure/window_bias.h"
#include "scenarios/judge/cache_summary.h"
#include "scenarios/judge/lost.h"
#include "scenarios/judge/noise.h"
#include "scenarios/judge/note.h"
#include "scenarios/judge/python.h"
#include "scenarios/judge/step_note.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIFT_NOTED 0.05 /* of the reference cell, from the first blocks to the last */
#define BURST_NOTED 0.2  /* of a window */

/* Median of the later half of the reference's runs against the earlier half's. */
static double drift_of(const struct dlb_reps *reference)
{
    double *rates = dlb_mem_array(reference->n, sizeof(*rates)), drift = (double)NAN;
    uint32_t n = 0;
    for (uint32_t i = 0; i < reference->n; i++) {
        double rate = dlb_cell_result_samples_per_s(&reference->rep[i]);
        if (isfinite(rate) && rate > 0)
            rates[n++] = rate;
    }
    if (n >= 2)
        drift = dlb_median(rates + (n - n / 2), n / 2) / dlb_median(rates, n / 2) - 1;
    free(rates);
    return drift;
}

bool dlb_skipped_text(const struct dlb_cell_result *rep, char *text, size_t n_text)
{
    uint64_t n = dlb_count_or_zero(rep->workers.n_skipped),
             n_cut = dlb_count_or_zero(rep->workers.n_cut_shards);
    struct dlb_lost lost = dlb_cell_result_lost(rep);
    char samples[80] = "", shards[80] = "", epochs[40] = "";
    if (lost.n > 0 && !lost.unknown)
        (void)snprintf(samples, sizeof(samples), "%llu of %llu samples (%.3g%%)%s",
                       (unsigned long long)lost.n, (unsigned long long)lost.of,
                       100 * dlb_lost_frac(&lost), n_cut > 0 ? ", " : "");
    else if (n > 0) /* ahead of what was delivered */
        (void)snprintf(samples, sizeof(samples), "%llu sample%s%s", (unsigned long long)n,
                       n == 1 ? "" : "s", n_cut > 0 ? ", " : "");
    if (n_cut > 0)
        (void)snprintf(shards, sizeof(shards), "%llu time%s the rest of a shard%s",
                       (unsigned long long)n_cut, n_cut == 1 ? "" : "s",
                       lost.unknown ? " (its length is not known)" : "");
    if (rep->loop.n_epochs > 1)
        (void)snprintf(epochs, sizeof(epochs), " in %u epochs", rep->loop.n_epochs);
    (void)snprintf(text, n_text, "skipped what could not be read or decoded: %s%s%s", samples,
                   shards, epochs);
    return n > 0 || n_cut > 0;
}

static void note_skipped(const struct dlb_reps *reps, const struct dlb_cell_result *shown,
                         uint32_t number, json_t *notes)
{
    char text[200];
    const struct dlb_cell_result *rep = dlb_reps_skipped(reps, shown).named;
    bool named = rep->workers.n_skipped_named > 0;
    if (dlb_skipped_text(rep, text, sizeof(text)))
        dlb_note(notes, DLB_NOTE_SAMPLES_SKIPPED, "cell %u%s: %s%s%s", number,
                 reps->n > 1 ? ", in one repetition" : "", text, named ? ", first: " : "",
                 named ? rep->workers.skipped[0] : "");
}

static void note_idle_workers(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    uint32_t n = cell->shown->workers.n_idle;
    if (n > 0)
        dlb_note(notes, DLB_NOTE_IDLE_WORKERS,
                 "cell %u: there are fewer shards than workers, so %u of %.0f workers had nothing "
                 "to do: write more shards, or use fewer workers",
                 number, n, cell->n_workers);
}

static void note_io(const struct dlb_cell_result *shown, uint32_t number, json_t *notes)
{
    static const char *const chosen[] = {
        [DLB_IO_USED_SYNC] = "samples were read one after the other",
        [DLB_IO_USED_MIXED] = "both ways were used",
        [DLB_IO_USED_URING] = "samples were read through io_uring"};
    const struct dlb_io_result *io = &shown->workers.io;
    if (io->reason[0] && io->asked == DLB_READ_AUTO)
        dlb_note(notes, DLB_NOTE_IO_CHOSEN, "cell %u: loader.io = \"auto\": %s: %s", number,
                 chosen[io->used], io->reason);
    else if (io->reason[0])
        dlb_note(notes, DLB_NOTE_IO_NOT_AS_ASKED,
                 "cell %u: loader.io = \"%s\", but %s reads were synchronous: %s", number,
                 dlb_read_io_names[io->asked],
                 io->used == DLB_IO_USED_MIXED ? "some workers\'" : "all", io->reason);
}

/* loader.io_depth is larger than any batch. */
static void note_depth(const struct dlb_plan *plan, const struct dlb_judged_cell *cell,
                       uint32_t number, json_t *notes)
{
    const struct dlb_workers_result *workers = &cell->shown->workers;
    double batch_size = (double)plan->cells[number].spec->loader.batch_size;
    double n_reads = dlb_measured(workers->io.n_requests) - dlb_measured(workers->io.n_resubmitted);
    double most = batch_size * ceil(dlb_per_sample_read(workers, n_reads));
    double depth = dlb_measured(workers->io.depth);
    if (plan->io_depth_said && depth > most)
        dlb_note(
            notes, DLB_NOTE_IO_DEPTH_UNUSED,
            "cell %u: loader.io_depth = %.0f is never reached: a worker reads ahead within one "
            "batch, and one of loader.batch_size = %.0f takes at most %.0f reads",
            number, depth, batch_size, most);
}

/* Whether an earlier pass over the same data ended in the same way. */
static bool is_told(const struct dlb_reps *warm, uint32_t number)
{
    const struct dlb_cell_result *pass = &warm->rep[number];
    for (uint32_t i = 0; i < number; i++) {
        const struct dlb_cell_result *other = &warm->rep[i];
        if (other->index == pass->index && other->status == pass->status &&
            strcmp(other->reason, pass->reason) == 0)
            return true;
    }
    return false;
}

static void note_warm(const struct dlb_plan *plan, const struct dlb_reps *warm, json_t *notes)
{
    for (uint32_t i = 0; i < warm->n; i++) {
        const struct dlb_cell_result *pass = &warm->rep[i];
        bool several = plan->n_warms > 1 && pass->index < plan->n_warms;
        if (pass->status != DLB_REP_OK && !is_told(warm, i))
            dlb_note(notes, DLB_NOTE_WARM_PASS, "warm pass %s%s%s%s: %s", several ? "over " : "",
                     several ? plan->warms[pass->index].dataset.path : "", several ? " " : "",
                     dlb_rep_status_name(pass->status), pass->reason);
    }
}

static const struct dlb_cell_result *first_failure(const struct dlb_reps *reps)
{
    for (uint32_t i = 0; i < reps->n; i++) {
        if (reps->rep[i].status == DLB_REP_FAILED)
            return &reps->rep[i];
    }
    return NULL;
}

/* How many ceilings failed first as this one did; none where an earlier one tells of it. */
static uint32_t n_failed_alike(const struct dlb_plan *plan, const struct dlb_results *results,
                               uint32_t number)
{
    const struct dlb_cell_result *failed = first_failure(&results->ceilings[number]);
    uint32_t n = 0;
    for (uint32_t c = 0; failed && c < plan->n_ceilings; c++) {
        const struct dlb_cell_result *other = first_failure(&results->ceilings[c]);
        if (!other || other->block != failed->block || strcmp(other->reason, failed->reason) != 0)
            continue;
        if (c < number)
            return 0;
        n++;
    }
    return n;
}

/* The first failure of the ceilings, one note for those alike, and every failure of the
 * reference. */
static void note_failures(const struct dlb_plan *plan, const struct dlb_results *results,
                          json_t *notes)
{
    for (uint32_t c = 0; c < plan->n_ceilings; c++) {
        const struct dlb_reps *reps = &results->ceilings[c];
        uint32_t n = n_failed_alike(plan, results, c);
        char of[64] = "the ceiling";
        if (n == 0)
            continue;
        if (n > 1)
            (void)snprintf(of, sizeof of, "%u ceilings", n);
        const struct dlb_cell_result *failed = first_failure(reps);
        dlb_note(notes, DLB_NOTE_CEILING_FAILED, "%s could not be measured%s (block %u): %s", of,
                 failed != reps->rep ? " in every repetition" : "", failed->block + 1,
                 failed->reason);
    }
    for (uint32_t i = 0; i < results->reference.n; i++) {
        const struct dlb_cell_result *rep = &results->reference.rep[i];
        if (rep->status == DLB_REP_FAILED)
            dlb_note(notes, DLB_NOTE_REFERENCE_FAILED,
                     "the reference cell %lld failed at the start of block %u: %s",
                     (long long)plan->reference, rep->block + 1, rep->reason);
    }
}

/* Several training processes would load at the same time; one thread cannot. */
static void note_inline(const struct dlb_judged_cell *cell, uint32_t number, json_t *notes)
{
    uint32_t n = cell->shown->loop.n_accelerators / dlb_cell_result_n_ranks(cell->shown);
    if (n >= 2 && cell->n_workers == 0)
        dlb_note(notes, DLB_NOTE_ONE_THREAD_LOADS,
                 "cell %u: loader.num_workers = 0, so one thread loaded for all %u accelerators, "
                 "one after the other: give each a worker",
                 number, n);
}

/* Whether the epochs held fewer batches than were to be measured. */
static bool is_short(const struct dlb_spec *spec, const struct dlb_judged_cell *cell)
{
    const struct dlb_cell_result *shown = cell->shown;
    if (cell->status != DLB_CELL_OK || !shown || shown->status != DLB_REP_OK)
        return false;
    uint64_t n = shown->loop.total.n_steps;
    return n != DLB_NOT_MEASURED &&
           n < (uint64_t)spec->run.max_batches * shown->loop.n_accelerators;
}

/* " (and 3 more)"; "" for one. */
static const char *and_more(uint32_t n, char *text, size_t n_text)
{
    text[0] = '\0';
    if (n > 1)
        (void)snprintf(text, n_text, " (and %u more)", n - 1);
    return text;
}

/* Only for the first such cell: the others load the same data. */
static void note_short(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    uint32_t first = 0, n = 0;
    char others[40];
    for (uint32_t i = j->n_cells; i-- > 0;)
        if (is_short(plan->cells[i].spec, &j->cells[i])) {
            first = i;
            n++;
        }
    if (n == 0)
        return;
    const struct dlb_loop_result *loop = &j->cells[first].shown->loop;
    dlb_note(j->notes, DLB_NOTE_TOO_SHORT,
             "cell %u%s measured %llu batches of run.max_batches = %lld: the epochs hold no more; "
             "raise run.epochs",
             first, and_more(n, others, sizeof(others)),
             (unsigned long long)(loop->total.n_steps / loop->n_accelerators),
             (long long)plan->cells[first].spec->run.max_batches);
}

/* The summary has one `dataset`, even if data sets were swept. */
static void note_data(const struct dlb_plan *plan, json_t *notes)
{
    const struct dlb_axis *on_error = dlb_axes_find(&plan->axes, &dlb_dataset_group, "on_error");
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        if (axis->group != &dlb_dataset_group || axis == on_error ||
            json_array_size(axis->values) < 2)
            continue;
        dlb_note(notes, DLB_NOTE_DATA_SWEPT,
                 "%s is swept: the data set described above is the first cell's, those of the "
                 "others are in their settings",
                 axis->key);
        return;
    }
}

/* The cell with the largest figure of those that are noted, and how many these are. */
struct worst {
    double off;
    uint32_t at, n;
};

static void take_worse(struct worst *worst, double off, uint32_t cell)
{
    worst->n++;
    if (off > worst->off) {
        worst->off = off;
        worst->at = cell;
    }
}

/* Only for the worst cell. Workers that begin together end together: a window that is not a whole
 * number of their rounds holds a burst more or less than it should. */
static void note_bursts(struct dlb_judgement *j)
{
    struct worst worst = {0};
    char others[40];
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (cell->status != DLB_CELL_OK || cell->n_workers < 2 || !cell->shown ||
            cell->shown->loop.pace.whole_rounds)
            continue;
        double off = cell->n_workers / dlb_measured(cell->shown->loop.total.n_steps);
        if (off > BURST_NOTED)
            take_worse(&worst, off, i);
    }
    if (worst.n == 0)
        return;
    const struct dlb_judged_cell *cell = &j->cells[worst.at];
    dlb_note(j->notes, DLB_NOTE_BURSTS,
             "cell %u%s measured %llu batches of %.0f workers, which can finish together: its "
             "rate may be off by %.0f%%; measure more (run.max_batches, run.epochs)",
             worst.at, and_more(worst.n, others, sizeof(others)),
             (unsigned long long)cell->shown->loop.total.n_steps, cell->n_workers,
             fmin(worst.off, 1) * 100);
}

/* Only for the worst cell: what its window is off by against a long run. */
static void note_bias(struct dlb_judgement *j)
{
    struct worst worst = {0};
    char others[40];
    for (uint32_t i = 0; i < j->n_cells; i++) {
        double off = fabs(j->cells[i].window_bias_frac);
        if (j->cells[i].status == DLB_CELL_OK && off >= DLB_BIAS_SAID)
            take_worse(&worst, off, i);
    }
    if (worst.n > 0)
        dlb_note(j->notes, DLB_NOTE_WINDOW_BIAS,
                 "cell %u%s: by a simulation of its workers its window is %.1f%% too %s against a "
                 "long run, because batch times vary and batches are delivered in order; measure "
                 "more (run.max_batches)",
                 worst.at, and_more(worst.n, others, sizeof(others)), worst.off * 100,
                 j->cells[worst.at].window_bias_frac > 0 ? "fast" : "slow");
}

/* Only for the first cell: a window that does not show a steady state. */
static void note_unsteady(struct dlb_judgement *j)
{
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (cell->status != DLB_CELL_OK || !cell->shown)
            continue;
        if (cell->drained_frac >= DLB_DRAINED_SAID) {
            dlb_note(j->notes, DLB_NOTE_DRAINING,
                     "cell %u used up batches that were ready before its window: the loader alone "
                     "is %.1f%% slower than the rate; measure more (run.max_batches), or raise "
                     "run.warmup_batches",
                     i, cell->drained_frac * 100);
            return;
        }
        if (cell->tells_trend && !cell->stationary) {
            dlb_note(j->notes, DLB_NOTE_NOT_STATIONARY,
                     "cell %u: the two halves of its windows differ by more than the scatter of "
                     "rounds: it was not in a steady state; raise run.warmup_batches",
                     i);
            return;
        }
    }
}

/* A cache that is not in the requested state, and the limits of the proof that it was cold. */
static void note_cache(const struct dlb_reps *reps, const struct dlb_judged_cell *cell,
                       uint32_t number, json_t *notes)
{
    const struct dlb_cell_result *from = dlb_cache_shown(reps, cell->shown);
    enum dlb_cache_label label = dlb_cache_label_of_reps(reps);
    char why[400], text[400];
    if (!from || dlb_cache_n_reps(reps) == 0)
        return;
    const struct dlb_cache_result *cache = &from->cache;
    dlb_cache_why(reps, from, why, sizeof(why));
    if (!dlb_cache_is_as_asked(cache->asked, label))
        dlb_note(notes, DLB_NOTE_CACHE_NOT_AS_ASKED,
                 "cell %u: run.cache = \"%s\" was asked for, but the cache was %s: %s", number,
                 dlb_run_cache_names[cache->asked], dlb_cache_label_name(label), why);
    for (uint32_t i = 0; cache->asked == DLB_RUN_COLD && i < cache->n_limits; i++) {
        (void)snprintf(text, sizeof(text), "cold as far as can be seen from here: %s",
                       cache->limits[i]);
        if (!dlb_note_is_there(notes, DLB_NOTE_COLD_LIMITS, text))
            dlb_note(notes, DLB_NOTE_COLD_LIMITS, "%s", text);
    }
}

/* Only for the cell that lost most: the cause is the machine, not a setting. */
static void note_stolen(struct dlb_judgement *j)
{
    double most = 0;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_cell_result *shown = j->cells[i].shown;
        if (shown && shown->loop.machine_stolen_frac > most) {
            most = shown->loop.machine_stolen_frac;
            worst = i;
        }
    }
    if (most >= DLB_OS_STOLEN_NOTED)
        dlb_note(
            j->notes, DLB_NOTE_STEAL,
            "the hypervisor gave %.0f%% of this machine's CPU time to others while cell %u was "
            "measured (steal in /proc/stat): threads that were due ran late, and the figures "
            "include that",
            most * 100, worst);
}

/* Of any repetition: what was measured before stands. */
static void note_stuck(const struct dlb_reps *reps, uint32_t number, json_t *notes)
{
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cell_result *rep = &reps->rep[i];
        if (rep->status != DLB_REP_OK || !rep->stuck_why[0])
            continue;
        dlb_note(notes, DLB_NOTE_WORKER_STUCK,
                 "cell %u: all of repetition %u was measured, but at its end %s%s", number,
                 rep->block + 1, rep->stuck_why,
                 rep->has_workers ? "" : ": what its workers did is not known");
        return;
    }
}

/* The default is long enough for most loaders: verdicts against it look good. */
static void note_assumed_step(const struct dlb_plan *plan, json_t *notes)
{
    if (plan->step_assumed)
        dlb_note(
            notes, DLB_NOTE_STEP_ASSUMED,
            "device.step_ms was not set: verdicts are against the default step of %g ms, which "
            "is no network's; set it to what your training takes for loader.batch_size samples",
            plan->cells[0].spec->device.step_ms);
}

static void note_cell(const struct dlb_plan *plan, const struct dlb_reps *reps, uint32_t number,
                      const struct dlb_judged_cell *cell, json_t *notes)
{
    if (!cell->shown)
        return;
    note_skipped(reps, cell->shown, number, notes);
    note_idle_workers(cell, number, notes);
    note_inline(cell, number, notes);
    note_io(cell->shown, number, notes);
    note_depth(plan, cell, number, notes);
    note_cache(reps, cell, number, notes);
    note_stuck(reps, number, notes);
    dlb_classes_note(cell, number, notes);
    dlb_note_python(&plan->cells[number], cell, number, notes);
}

void dlb_notes_fill(const struct dlb_plan *plan, const struct dlb_results *results,
                    struct dlb_judgement *j)
{
    j->drift_frac = drift_of(&results->reference);
    if (isfinite(j->drift_frac) && fabs(j->drift_frac) > DRIFT_NOTED)
        dlb_note(j->notes, DLB_NOTE_MACHINE_DRIFTED,
                 "the machine drifted: the reference cell %lld was %.0f%% %s in the later blocks "
                 "than in the earlier ones",
                 (long long)plan->reference, fabs(j->drift_frac) * 100,
                 j->drift_frac > 0 ? "faster" : "slower");
    note_warm(plan, &results->warm, j->notes);
    note_failures(plan, results, j->notes);
    note_short(plan, j);
    note_data(plan, j->notes);
    note_bursts(j);
    note_bias(j);
    note_unsteady(j);
    note_stolen(j);
    dlb_noise_note(results, j->notes);
    note_assumed_step(plan, j->notes);
    dlb_note_steps(j, j->notes);
    for (uint32_t i = 0; i < j->n_cells; i++)
        note_cell(plan, &results->cells[i], i, &j->cells[i], j->notes);
}
