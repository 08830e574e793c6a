#include "bench/experiment/tell.h"

#include "core/base/json.h"
#include "core/base/say.h"
#include "core/base/units.h"
#include "scenarios/run/runner.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>

#define LONG_S 1800 /* what takes longer is announced */

/* Options that were set and have no meaning in the only cell there is. */
static void tell_meaningless(const struct dlb_tell *t)
{
    const struct dlb_plan_cell *cell = &t->plan->cells[0];
    if (t->plan->n_cells != 1 || !cell->spec || t->plan->grows) /* other cells may use them */
        return;
    for (const struct dlb_opt_group *const *g = dlb_spec_groups(); *g; g++)
        for (const struct dlb_opt *opt = (*g)->opts;
             opt->key && dlb_spec_section_of(cell->spec, *g); opt++) {
            char key[96];
            (void)snprintf(key, sizeof(key), "%s.%s", (*g)->section, opt->key);
            if (dlb_config_has(t->cfg, key) &&
                !dlb_meaning_has(*g, opt, cell->spec, cell->iterable))
                dlb_say_note("%s (%s) has no meaning with these settings and is left out%s", key,
                             dlb_config_origin(t->cfg, key),
                             *g == &dlb_python_group ? ": loader.kind = \"torch\" uses it" : "");
        }
}

void dlb_tell_left_out(const struct dlb_tell *t)
{
    const char *varies = t->scenario->varies;
    tell_meaningless(t);
    if (t->plan->in_c.why[0])
        dlb_say_note("the same work in C will not be measured beside PyTorch's: %s [%s]",
                     t->plan->in_c.why, dlb_code_name(t->plan->in_c.code));
    if (varies && dlb_config_has(t->cfg, varies))
        dlb_say_note("%s (%s) is what %s looks for, and is left out; %s ends the search", varies,
                     dlb_config_origin(t->cfg, varies), t->scenario->name, t->scenario->until);
    if (t->plan->race && dlb_config_has(t->cfg, "run.repeats"))
        dlb_say_note("run.repeats (%s) is left out: the sweep repeats cells as often as it takes "
                     "to decide; --exhaustive measures each run.repeats times",
                     dlb_config_origin(t->cfg, "run.repeats"));
    if (t->scenario->sweeps && !t->plan->race && dlb_config_has(t->cfg, "sweep.max_minutes"))
        dlb_say_note("sweep.max_minutes (%s) is left out: cells that do other work, a single cell, "
                     "and the cells of an exhaustive sweep are measured run.repeats times each",
                     dlb_config_origin(t->cfg, "sweep.max_minutes"));
    if (json_object_size(dlb_config_axes(t->cfg)) > 0 && !t->scenario->sweeps)
        dlb_say_note("%s sweeps nothing; the sweep.* lists are left out", t->scenario->name);
}

/* A plan that grows has one run yet, and is as long as its answer is far. */
static void tell_growing(const struct dlb_tell *t)
{
    double run_s = dlb_runner_least_s(t->plan, t->subject->shape.n_samples);
    uint32_t least, most;
    char from[40], to[40], run[40];
    t->scenario->n_runs(t->plan, &least, &most);
    dlb_say(stderr,
            "dlbench: %s takes %u to about %u runs of %s each: %s to %s of steps alone; "
            "storage.max_minutes ends it earlier",
            t->scenario->name, least, most, dlb_duration_text(run_s, run, sizeof run),
            dlb_duration_text(run_s * least, from, sizeof from),
            dlb_duration_text(run_s * most, to, sizeof to));
}

/* A race has one block yet, and is as long as it takes to decide. */
static void tell_race(const struct dlb_tell *t)
{
    double most_s = t->subject->spec.sweep.max_minutes * 60;
    double block_s = dlb_runner_least_s(t->plan, t->subject->shape.n_samples);
    char block[40], most[40] = "no limit";
    if (most_s > 0)
        (void)dlb_duration_text(most_s, most, sizeof most);
    (void)dlb_duration_text(block_s, block, sizeof block);
    dlb_say(stderr,
            "dlbench: sweep repeats the cells that may be the answer until one is certain "
            "enough; a block of all takes %s of steps alone; sweep.max_minutes ends it: "
            "%s",
            block, most);
    if (most_s > 0 && DLB_RACE_FIRST_LOOK * block_s > most_s)
        dlb_say(stderr,
                "dlbench: note: a decision takes %d blocks at least: raise "
                "sweep.max_minutes, %s, or sweep fewer settings",
                DLB_RACE_FIRST_LOOK,
                t->subject->spec.run.max_batches == 0 ? "set run.max_batches (0 is whole epochs)"
                                                      : "lower run.max_batches");
}

/* Before a long measurement: how to make it shorter. */
static void tell_long(const struct dlb_tell *t)
{
    double least_s = dlb_runner_least_s(t->plan, t->subject->shape.n_samples);
    char least[40], tasks[40];
    bool whole = t->subject->spec.run.max_batches == 0;
    if (least_s < LONG_S)
        return;
    dlb_say(stderr,
            "dlbench: note: this takes %s at least (%s runs, steps alone); to make it "
            "less, %s run.repeats%s",
            dlb_duration_text(least_s, least, sizeof least),
            dlb_count_text((double)t->plan->n_tasks, tasks, sizeof tasks),
            whole ? "set run.max_batches (0 is whole epochs) or lower" : "lower run.max_batches or",
            t->plan->axes.n > 0 ? ", or sweep fewer settings" : "");
}

void dlb_tell_resumed(const struct dlb_tell *t)
{
    const struct dlb_kept *kept = t->kept;
    char spent[40];
    if (kept->resumes)
        dlb_say(stderr,
                "dlbench: goes on after %s: %u repetitions are taken over; %u of a block "
                "that did not end are kept unjudged, and it runs anew",
                dlb_duration_text(kept->spent.elapsed_s, spent, sizeof spent), kept->n_taken,
                kept->n_unjudged);
}

void dlb_tell_length(const struct dlb_tell *t)
{
    if (t->plan->race)
        tell_race(t);
    else if (t->plan->grows)
        tell_growing(t);
    else
        tell_long(t);
}
