#include "scenarios/judge/recommend.h"

#include "core/base/mem.h"
#include "core/measure/race.h"
#include "scenarios/judge/candidates.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/rivals.h"
#include "scenarios/plan/factors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool smaller(const struct dlb_judged_cell *a, const struct dlb_judged_cell *b)
{
    if (a->n_workers != b->n_workers)
        return a->n_workers < b->n_workers;
    return a->slots_bytes < b->slots_bytes;
}

/* The cells that the recommendation leaves out, and why. */
static void say_left_out(const struct dlb_plan *plan, const struct dlb_judgement *j, char *text,
                         size_t n_text)
{
    const struct dlb_judged_cell *best = &j->cells[j->best];
    uint32_t n_unmeasured = 0;
    char keys[120];
    for (uint32_t i = 0; i < j->n_cells; i++)
        n_unmeasured += !dlb_is_measured(&j->cells[i]) && !plan->cells[i].skipped &&
                        j->cells[i].rival && j->cells[i].n_workers < best->n_workers;
    text[0] = '\0';
    if (n_unmeasured > 0)
        (void)snprintf(text, n_text, " %u smaller cell%s not measured.", n_unmeasured,
                       n_unmeasured == 1 ? " was" : "s were");
    size_t at = strlen(text);
    dlb_say_unjudged(j, text + at, n_text - at);
    at = strlen(text);
    if (dlb_rivals_apart(&plan->axes, plan->cells[j->best].spec, keys, sizeof(keys))[0])
        (void)snprintf(
            text + at, n_text - at,
            " Cells of another %s do other work%s: their rates are not compared, and "
            "the highest of all says nothing about the loader.",
            keys,
            strstr(keys, "loader.batch_size") ? " (a batch of any size takes device.step_ms)" : "");
}

/* Whether the cell is compared with others of the best's work. */
static bool takes_part(const struct dlb_judged_cell *cell)
{
    return cell->rival && dlb_is_judged(cell);
}

static void fill_ranks(const struct dlb_judgement *j, uint32_t *rank)
{
    for (uint32_t a = 0; a < j->n_cells; a++)
        for (uint32_t b = a + 1; b < j->n_cells; b++)
            rank[smaller(&j->cells[b], &j->cells[a]) ? a : b]++;
}

/* The model's view of the repetitions: every cell ran in each. Free `race`, `rank` and `levels`. */
struct alike {
    struct dlb_race race;
    uint32_t *rank, *levels;
};

static void record(const struct dlb_judgement *j, struct dlb_race *race)
{
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (!takes_part(cell))
            dlb_race_fail(race, i);
        for (uint32_t k = 0; takes_part(cell) && k < cell->n_values; k++)
            dlb_race_record(race, cell->block[k], i, cell->values[k]);
    }
}

static void judge_alike(const struct dlb_plan *plan, const struct dlb_judgement *j,
                        struct alike *out)
{
    uint32_t n_keys = plan->axes.n;
    out->rank = dlb_mem_array(j->n_cells, sizeof(*out->rank));
    out->levels = dlb_mem_array((size_t)j->n_cells * n_keys, sizeof(*out->levels));
    fill_ranks(j, out->rank);
    dlb_factors_levels(plan, out->levels);
    const struct dlb_race_input input = {.n_cells = j->n_cells,
                                         .n_keys = n_keys,
                                         .rank = out->rank,
                                         .levels = out->levels,
                                         .tolerance = j->tolerance,
                                         .seed = plan->seed};
    dlb_race_init(&out->race, &input);
    record(j, &out->race);
    dlb_race_judge(&out->race);
}

static void free_alike(struct alike *alike)
{
    dlb_race_free(&alike->race);
    free(alike->rank);
    free(alike->levels);
}

static void say_decided(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                        size_t n_text)
{
    char which[40] = "this cell";
    if (j->recommended != j->best)
        (void)snprintf(which, sizeof(which), "cell %lld", (long long)j->recommended);
    (void)snprintf(text, n_text,
                   "Recommended: %s. By the model of all %u repetitions it loses less than %.3g%% "
                   "to the best with a probability of %.4g%%; no smaller cell has %.3g%%.",
                   which, race->n_blocks, j->tolerance * 100, floor(race->probability * 1000) / 10,
                   DLB_RACE_ALIKE * 100);
}

static void say_undecided(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                          size_t n_text)
{
    char candidates[200];
    if (race->n_looked == 0) {
        (void)snprintf(text, n_text,
                       "Not separable: nothing is known of the other cells' chances without %d "
                       "repetitions of each. Raise run.repeats, or let the cells race.",
                       DLB_RACE_FIRST_LOOK);
        return;
    }
    dlb_say_candidates(race, j, candidates, sizeof(candidates));
    (void)snprintf(text, n_text,
                   "Not separable: cells that may lose less than %.3g%% to the best, with their "
                   "probability: %s. A decision would take about %.0f repetitions.",
                   j->tolerance * 100, candidates,
                   fmax(dlb_race_blocks(race->scatter, j->tolerance), race->n_blocks + 1));
}

static void describe(const struct dlb_plan *plan, const struct dlb_race *race,
                     struct dlb_judgement *j)
{
    size_t n = sizeof(j->text), at = dlb_say_best(j, j->text, n);
    if (at == 0)
        return;
    if (!race)
        (void)snprintf(j->text + at, n - at, "It is the only cell that could be compared.");
    else if (j->recommended >= 0)
        say_decided(race, j, j->text + at, n - at);
    else
        say_undecided(race, j, j->text + at, n - at);
    at = strlen(j->text);
    say_left_out(plan, j, j->text + at, n - at);
}

/* What the model says of the cells that took part. Without three blocks it says nothing, and any of
 * them may be the answer. */
static void take_model(const struct dlb_race *race, struct dlb_judgement *j)
{
    for (uint32_t i = 0; i < j->n_cells; i++)
        if (takes_part(&j->cells[i]))
            j->cells[i].modelled_loss_frac = race->cells[i].loss_frac.median;
    dlb_best_by_model(j);
    j->recommended = race->recommended;
    j->separable = j->recommended >= 0;
    if (j->separable) {
        j->probability = race->probability;
        j->loss_frac = race->loss_frac;
        return;
    }
    dlb_find_candidates(race, j);
    for (uint32_t i = 0; race->n_looked == 0 && i < j->n_cells; i++)
        if (takes_part(&j->cells[i]))
            dlb_add_to_set(j, i);
}

void dlb_recommend(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    const struct dlb_judged_cell *best = dlb_best_by_median(j);
    uint32_t n_compared = 0;
    j->recommended = -1;
    j->separable = best && dlb_is_judged(best);
    j->n_set = 0;
    if (best)
        dlb_rivals_fill(plan, j);
    for (uint32_t i = 0; i < j->n_cells; i++)
        n_compared += takes_part(&j->cells[i]);
    if (n_compared < 2) {
        j->recommended = j->separable ? j->best : -1;
        describe(plan, NULL, j);
        return;
    }
    struct alike alike;
    judge_alike(plan, j, &alike);
    take_model(&alike.race, j);
    describe(plan, &alike.race, j);
    free_alike(&alike);
}
