#include "scenarios/judge/candidates.h"

#include "core/base/mem.h"
#include "core/base/units.h"
#include "scenarios/judge/judged.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct dlb_judged_cell *dlb_best_by_median(struct dlb_judgement *j)
{
    const struct dlb_judged_cell *best = NULL;
    j->best = -1;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (cell->aside || !dlb_is_measured(cell) || !isfinite(cell->rate.median) ||
            (best && dlb_is_judged(best) && !dlb_is_judged(cell)))
            continue;
        if (!best || dlb_is_judged(cell) != dlb_is_judged(best) ||
            cell->rate.median > best->rate.median) {
            best = cell;
            j->best = i;
        }
    }
    return best;
}

void dlb_best_by_model(struct dlb_judgement *j)
{
    double least = INFINITY;
    (void)dlb_best_by_median(j);
    for (uint32_t i = 0; i < j->n_cells; i++) {
        double loss = j->cells[i].modelled_loss_frac;
        if (j->cells[i].aside || !dlb_is_judged(&j->cells[i]) || !(loss < least))
            continue;
        least = loss;
        j->best = i;
    }
}

void dlb_add_to_set(struct dlb_judgement *j, uint32_t cell)
{
    j->set = dlb_mem_grow(j->set, j->n_set + 1, sizeof(*j->set));
    j->set[j->n_set++] = cell;
}

void dlb_find_candidates(const struct dlb_race *race, struct dlb_judgement *j)
{
    const struct dlb_race_cell *raced = race->cells;
    for (uint32_t i = 0; race->n_looked > 0 && i < race->input.n_cells; i++) {
        if (j->cells[i].aside || !dlb_is_judged(&j->cells[i]) ||
            !(raced[i].probability >= DLB_CANDIDATE_MIN))
            continue;
        dlb_add_to_set(j, i);
        for (uint32_t k = j->n_set - 1;
             k > 0 && raced[j->set[k]].probability > raced[j->set[k - 1]].probability; k--) {
            uint32_t kept = j->set[k];
            j->set[k] = j->set[k - 1];
            j->set[k - 1] = kept;
        }
    }
}

size_t dlb_say_best(const struct dlb_judgement *j, char *text, size_t n_text)
{
    if (j->best < 0) {
        (void)snprintf(text, n_text, "No cell has a result, so none is recommended.");
        return 0;
    }
    const struct dlb_judged_cell *best = &j->cells[j->best];
    char spread[120] = "one repetition", which[40] = "", rate[32], low[32], high[32];
    if (best->rate.interval != DLB_INTERVAL_NONE)
        (void)snprintf(spread, sizeof(spread), "%s %s to %s of %u repetitions",
                       best->rate.interval == DLB_INTERVAL_SIGN_95 ? "95% interval" : "min-max",
                       dlb_count_text(round(best->rate.low), low, sizeof(low)),
                       dlb_count_text(round(best->rate.high), high, sizeof(high)), best->n_values);
    if (j->n_cells > 1)
        (void)snprintf(which, sizeof(which), "Best: cell %lld, ", (long long)j->best);
    bool alone = j->n_cells == 1 && dlb_is_judged(best);
    int at = snprintf(text, n_text, "%s%s samples/s (%s).%s", which,
                      dlb_count_text(round(best->rate.median), rate, sizeof(rate)), spread,
                      alone ? "" : " ");
    if (at < 0 || (size_t)at >= n_text || alone)
        return 0;
    if (dlb_is_judged(best))
        return (size_t)at;
    (void)snprintf(text + at, n_text - (size_t)at,
                   j->n_cells == 1 ? "Nothing is recommended: it is %s, so its rate says "
                                     "nothing of the loader."
                                   : "Nothing is recommended: it is %s and no other cell is "
                                     "judged either, so these rates say nothing of the "
                                     "loader.",
                   dlb_verdict_class_name(best->verdict.klass));
    return 0;
}

void dlb_say_unjudged(const struct dlb_judgement *j, char *text, size_t n_text)
{
    uint32_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < j->n_cells; i++)
        n += !j->cells[i].aside && dlb_is_measured(&j->cells[i]) && !dlb_is_judged(&j->cells[i]);
    if (n > 0)
        (void)snprintf(text, n_text, " %u cell%s left out as INCOMPLETE or HARNESS-BOUND.", n,
                       n == 1 ? " is" : "s are");
}

void dlb_say_candidates(const struct dlb_race *race, const struct dlb_judgement *j, char *text,
                        size_t n_text)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < j->n_set; i++) {
        double probability = race->cells[j->set[i]].probability;
        char one[48], odds[16] = "";
        if (isfinite(probability))
            (void)snprintf(odds, sizeof(odds), " (%.0f%%)", probability * 100);
        int n = snprintf(one, sizeof(one), "%s%u%s", i ? ", " : "", j->set[i], odds);
        if (n < 0 || at + (size_t)n + 20 > n_text) {
            (void)snprintf(text + at, n_text - at, " and %u more", j->n_set - i);
            break;
        }
        memcpy(text + at, one, (size_t)n + 1);
        at += (size_t)n;
    }
}
