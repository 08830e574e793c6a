#include "scenarios/judge/raced.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "scenarios/judge/candidates.h"
#include "scenarios/judge/judge.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/note.h"
#include "scenarios/judge/rivals.h"
#include "scenarios/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The losses of a race that has ended; they mean nothing before it has looked. */
static const struct dlb_race_interval *loss_of(const struct dlb_race *race, uint32_t cell)
{
    if (race->stopped == DLB_RACE_GOES_ON || race->n_looked == 0 ||
        isnan(race->cells[cell].loss_frac.median))
        return NULL;
    return &race->cells[cell].loss_frac;
}

/* By the model: at the end of the race, or at its last look. NaN before it has looked, and then for
 * a cell that was dropped. */
static double modelled_loss(const struct dlb_race *race, uint32_t cell)
{
    const struct dlb_race_interval *loss = loss_of(race, cell);
    if (loss)
        return loss->median;
    if (race->n_looked == 0 || race->cells[cell].state == DLB_RACE_DROPPED ||
        isnan(race->cells[cell].probability))
        return (double)NAN;
    return -expm1(-race->cells[cell].behind);
}

static uint32_t n_pairs(const struct dlb_race *race)
{
    uint32_t n = 0;
    for (uint32_t b = race->fresh_from; b < race->n_blocks; b++) {
        const double *row = race->ln_rate + (size_t)b * race->input.n_cells;
        n += isfinite(row[race->recommended]) && isfinite(row[race->rival]);
    }
    return n;
}

/* A single slow run among the few fresh ones weighs much. The model knows all blocks, and such
 * runs. */
static void say_overall(const struct dlb_race *race, double tolerance, char *text, size_t n_text)
{
    const struct dlb_race_interval *all = &race->cells[race->recommended].loss_frac;
    if (race->loss_frac.median > tolerance && isfinite(all->median))
        (void)snprintf(text, n_text,
                       " A few of these runs were slow: by the model of all %u blocks it loses "
                       "%.1f%% (%.1f%% to %.1f%%) to the best.",
                       race->n_blocks, all->median * 100, all->low * 100, all->high * 100);
}

/* One that became as certain with the fresh runs, but had no part in them, or is the rival, whose
 * own loss in them is too uncertain. */
static void say_smaller(const struct dlb_race *race, char *text, size_t n_text)
{
    const uint32_t *rank = race->input.rank;
    double enough = fmin(race->probability, DLB_RACE_PREFER), shown = floor(enough * 1000) / 10;
    int64_t found = -1;
    for (uint32_t i = 0; i < race->input.n_cells; i++)
        if (race->cells[i].state != DLB_RACE_FAILED && race->cells[i].state != DLB_RACE_DROPPED &&
            race->cells[i].probability >= enough && rank[i] < rank[race->recommended] &&
            (found < 0 || rank[i] < rank[found]))
            found = i;
    if (found < 0)
        (void)snprintf(text, n_text, "no smaller cell has %.3g%%", shown);
    else
        (void)snprintf(text, n_text, "cell %lld, which is smaller, has %.3g%%, too, %s",
                       (long long)found, shown,
                       found == race->rival ? "but its fresh runs do not confirm it"
                                            : "and was not measured afresh");
}

static void say_decided(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                        size_t n_text)
{
    char which[40] = "this cell", fresh[160] = "", overall[200] = "", smaller[120];
    if (race->rival < 0) {
        (void)snprintf(text, n_text, "It is the only cell that could be judged.");
        return;
    }
    if (j->recommended != j->best)
        (void)snprintf(which, sizeof(which), "cell %lld", (long long)j->recommended);
    (void)snprintf(fresh, sizeof(fresh),
                   " Measured afresh in %u pairs with cell %lld, its rival, it loses %.1f%% "
                   "(%.3g%% interval %.1f%% to %.1f%%).",
                   n_pairs(race), (long long)race->rival, race->loss_frac.median * 100,
                   race->loss_level * 100, race->loss_frac.low * 100, race->loss_frac.high * 100);
    say_overall(race, j->tolerance, overall, sizeof(overall));
    say_smaller(race, smaller, sizeof(smaller));
    (void)snprintf(text, n_text,
                   "Recommended: %s. It loses less than %.3g%% to the best with a probability of "
                   "%.4g%%; %s.%s%s",
                   which, j->tolerance * 100, floor(race->probability * 1000) / 10, smaller, fresh,
                   overall);
}

static const char *why_undecided(const struct dlb_race *race)
{
    if (race->stopped != DLB_RACE_GOES_ON && race->n_looked > 0 && race->leader < 0)
        return "no cell is left that can be judged";
    switch (race->stopped) {
    case DLB_RACE_BUDGET:
        return "sweep.max_minutes leaves too little time for the runs that a decision takes";
    case DLB_RACE_NOISE:
        return "repetitions of one cell differ too much to decide in reasonable time";
    case DLB_RACE_DECIDED:
        return "the cell that it decided for cannot be judged";
    case DLB_RACE_GOES_ON:
        break;
    }
    return "the sweep did not come to its end";
}

static void say_undecided(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                          size_t n_text)
{
    char candidates[200], more[80] = "";
    if (j->n_set == 0) {
        (void)snprintf(text, n_text, "Not decided: %s.%s", why_undecided(race),
                       race->n_looked > 0 ? ""
                                          : " No cell has the three repetitions without which "
                                            "nothing is known of the others' chances.");
        return;
    }
    dlb_say_candidates(race, j, candidates, sizeof(candidates));
    if (race->blocks_more > 0)
        (void)snprintf(more, sizeof(more), " A decision would take about %.0f more blocks.",
                       race->blocks_more);
    (void)snprintf(text, n_text,
                   "Not decided: %s. Cells that may lose less than %.3g%% to the best, with their "
                   "probability: %s.%s",
                   why_undecided(race), j->tolerance * 100, candidates, more);
}

/* What the other race found: the hardware's, where PyTorch's cells have the answer. */
static void say_aside(const struct dlb_plan *plan, const struct dlb_judgement *j, char *text,
                      size_t n_text)
{
    const struct dlb_plan_race *held = dlb_plan_deciding(plan);
    char rate[32];
    int64_t at = plan->hardware ? plan->hardware->race.base : -1;
    if (held == plan->hardware || at < 0 || !dlb_is_measured(&j->cells[at]) ||
        !isfinite(j->cells[at].rate.median))
        return;
    int64_t shown = j->recommended >= 0 ? j->recommended : j->best;
    bool own = shown >= 0 && plan->cells[shown].spec->python.loader[0];
    (void)snprintf(text, n_text,
                   " So far what your pipeline does, with %s. What this hardware can do: "
                   "%s samples/s (cell %lld).",
                   own ? "your own loader" : "PyTorch's own loader",
                   dlb_count_text(round(j->cells[at].rate.median), rate, sizeof(rate)),
                   (long long)at);
}

static void describe(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    const struct dlb_plan_race *held = dlb_plan_deciding(plan);
    const struct dlb_race *race = &held->race;
    size_t n_text = sizeof(j->text), at = dlb_say_best(j, j->text, n_text);
    uint32_t n_runs = 0, n_unmeasured = 0, n_blocks = dlb_plan_race_blocks(plan, held);
    if (at == 0)
        return;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        if (j->cells[i].aside)
            continue;
        n_runs += j->cells[i].n_values;
        n_unmeasured += !plan->cells[i].skipped && !dlb_is_measured(&j->cells[i]);
    }
    if (j->recommended >= 0)
        say_decided(race, j, j->text + at, n_text - at);
    else
        say_undecided(race, j, j->text + at, n_text - at);
    at = strlen(j->text);
    (void)snprintf(j->text + at, n_text - at, " %u runs in %u block%s.", n_runs, n_blocks,
                   n_blocks == 1 ? "" : "s");
    at = strlen(j->text);
    if (n_unmeasured > 0)
        (void)snprintf(j->text + at, n_text - at, " %u cell%s not measured.", n_unmeasured,
                       n_unmeasured == 1 ? " was" : "s were");
    at = strlen(j->text);
    dlb_say_unjudged(j, j->text + at, n_text - at);
    at = strlen(j->text);
    say_aside(plan, j, j->text + at, n_text - at);
}

void dlb_recommend_raced(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    const struct dlb_race *race = &dlb_plan_deciding(plan)->race;
    for (uint32_t i = 0; i < j->n_cells; i++)
        j->cells[i].modelled_loss_frac = modelled_loss(&dlb_plan_race_of(plan, i)->race, i);
    dlb_best_by_model(j);
    if (j->best >= 0)
        dlb_rivals_fill(plan, j);
    j->recommended = -1;
    j->n_set = 0;
    if (race->stopped == DLB_RACE_DECIDED && dlb_is_judged(&j->cells[race->recommended]))
        j->recommended = race->recommended;
    j->separable = j->recommended >= 0;
    if (!j->separable)
        dlb_find_candidates(race, j);
    describe(plan, j);
}

/* -1: no cell's median is above the best's by more than the tolerance. */
static int64_t above_best(const struct dlb_judgement *j)
{
    int64_t found = -1;
    double most = j->best >= 0 ? j->cells[j->best].rate.median * (1 + j->tolerance) : INFINITY;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (cell->aside || !dlb_is_judged(cell) || !(cell->rate.median > most))
            continue;
        most = cell->rate.median;
        found = i;
    }
    return found;
}

void dlb_raced_note(const struct dlb_judgement *j, json_t *notes)
{
    int64_t at = above_best(j);
    if (at < 0)
        return;
    const struct dlb_judged_cell *best = &j->cells[j->best], *cell = &j->cells[at];
    struct dlb_estimate loss = dlb_paired_loss(cell, best);
    char own[32], other[32];
    if (loss.n == 0 || (loss.n == cell->n_values && loss.n == best->n_values))
        return;
    dlb_note(notes, DLB_NOTE_RACE_BLOCKS,
             "cell %lld has a higher median than cell %lld, the best: %s against %s samples/s. "
             "These are of different blocks (%u and %u), in which the machine need not be equally "
             "fast. Cells are compared within blocks: in the %u that both ran in, cell %lld was "
             "%.1f%% %s",
             (long long)at, (long long)j->best,
             dlb_count_text(round(cell->rate.median), own, sizeof(own)),
             dlb_count_text(round(best->rate.median), other, sizeof(other)), cell->n_values,
             best->n_values, (unsigned)loss.n, (long long)at, fabs(loss.median) * 100,
             loss.median > 0 ? "slower" : "faster");
}

static json_t *interval_json(const struct dlb_race_interval *interval)
{
    if (!interval || isnan(interval->median))
        return json_null();
    return dlb_json_made(json_pack("{sf, sf, sf}", "median", interval->median, "low", interval->low,
                                   "high", interval->high));
}

static json_t *stopped_json(const struct dlb_race *race)
{
    static const char *const names[] = {[DLB_RACE_GOES_ON] = "interrupted",
                                        [DLB_RACE_DECIDED] = "decided",
                                        [DLB_RACE_BUDGET] = "budget",
                                        [DLB_RACE_NOISE] = "noise"};
    for (uint32_t i = 0; i < race->input.n_cells; i++)
        if (race->cells[i].state != DLB_RACE_FAILED)
            return json_string(names[race->stopped]);
    return json_null();
}

/* What a race says; without one, what is known all the same. */
static json_t *race_json(const struct dlb_plan *plan, const struct dlb_plan_race *held,
                         const struct dlb_judgement *j, int64_t recommended)
{
    const struct dlb_race *race = held ? &held->race : NULL;
    bool raced = race && recommended >= 0;
    const struct dlb_race_interval *loss = raced ? &race->loss_frac : race ? NULL : &j->loss_frac;
    double level = !race ? 0.95 : raced ? race->loss_level : (double)NAN;
    if (!loss || isnan(loss->median))
        level = (double)NAN;
    uint32_t n_blocks = held ? dlb_plan_race_blocks(plan, held) : plan->n_blocks;
    return dlb_json_made(json_pack(
        "{so, so, so, so, so, si, so, so}", "cell",
        recommended >= 0 ? json_integer(recommended) : json_null(), "probability",
        dlb_json_real_or_null(raced  ? race->probability
                              : race ? (double)NAN
                                     : j->probability),
        "loss_frac", interval_json(loss), "loss_level", dlb_json_real_or_null(level), "stopped",
        race ? stopped_json(race) : json_null(), "blocks", (int)n_blocks, "blocks_more",
        dlb_json_real_or_null(race ? race->blocks_more : (double)NAN), "noise_floor_frac",
        dlb_json_real_or_null(race ? race->noise_floor_frac : j->noise_floor_frac)));
}

json_t *dlb_raced_detail_json(const struct dlb_plan *plan, const struct dlb_judgement *j)
{
    if (plan->axes.n == 0 || plan->base)
        return json_null();
    const struct dlb_plan_race *held = dlb_plan_deciding(plan), *first = plan->hardware;
    json_t *out = race_json(plan, held, j, j->recommended);
    dlb_json_put(out, "no_difference", json_incref(j->no_difference));
    dlb_json_put(out, "left_out", json_incref(j->left_out));
    dlb_json_put(out, "unmeasured", json_incref(j->unmeasured));
    dlb_json_put(out, "unmeasured_values", dlb_pytorch_unmeasured_values(plan, j));
    bool decided = first && first->race.stopped == DLB_RACE_DECIDED &&
                   dlb_is_judged(&j->cells[first->race.recommended]);
    dlb_json_put(out, "hardware",
                 first && held != first
                     ? race_json(plan, first, j, decided ? first->race.recommended : -1)
                     : json_null());
    return out;
}

json_t *dlb_raced_cell_json(const struct dlb_plan *plan, uint32_t cell)
{
    static const char *const states[] = {[DLB_RACE_RACING] = "racing",
                                         [DLB_RACE_SCREENED] = "screened",
                                         [DLB_RACE_DROPPED] = "dropped",
                                         [DLB_RACE_FINALIST] = "finalist",
                                         [DLB_RACE_FAILED] = "failed"};
    if (!plan->race || plan->cells[cell].skipped)
        return json_null();
    const struct dlb_race *race = &dlb_plan_race_of(plan, cell)->race;
    const struct dlb_race_cell *raced = &race->cells[cell];
    return dlb_json_made(json_pack("{ss, so, so}", "state", states[raced->state], "probability",
                                   dlb_json_real_or_null(raced->probability), "loss_frac",
                                   interval_json(loss_of(race, cell))));
}
