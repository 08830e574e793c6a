#include "scenarios/judge/recommend.h"

#include "core/base/mem.h"
#include "core/base/units.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/rivals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct dlb_judged_cell *dlb_best_by_median(struct dlb_judgement *j)
{
    const struct dlb_judged_cell *best = NULL;
    j->best = -1;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (cell->aside || !dlb_is_measured(cell) ||
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

static bool smaller(const struct dlb_judged_cell *a, const struct dlb_judged_cell *b)
{
    if (a->n_workers != b->n_workers)
        return a->n_workers < b->n_workers;
    return a->slots_bytes < b->slots_bytes;
}

enum standing { WORSE, AS_GOOD, OPEN };

static enum standing compare(const struct dlb_judgement *j, const struct dlb_judged_cell *cell)
{
    struct dlb_estimate loss = dlb_paired_loss(cell, &j->cells[j->best], j->seed);
    if (loss.n < DLB_SEPARABLE_MIN_N)
        return OPEN;
    if (loss.high < j->tolerance)
        return AS_GOOD;
    return loss.low < j->tolerance ? OPEN : WORSE;
}

/* "3, 5 and 2 more" */
static const char *list_cells(const struct dlb_judgement *j, uint32_t n, char *text, size_t n_text)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        char one[40];
        int len = snprintf(one, sizeof(one), "%s%u", i ? ", " : "", j->set[i]);
        if (len < 0 || at + (size_t)len + 20 > n_text) {
            (void)snprintf(text + at, n_text - at, " and %u more", n - i);
            break;
        }
        memcpy(text + at, one, (size_t)len + 1);
        at += (size_t)len;
    }
    return text;
}

/* Of cells smaller than the best: how many there are, how many cannot be distinguished from it,
 * and how many there would have been. */
struct smaller {
    uint32_t n, n_as_good, n_open, n_unmeasured, n_unjudged;
};

static void say_recommended(const struct dlb_judgement *j, const struct smaller *below, char *text,
                            size_t n_text)
{
    const struct dlb_judged_cell *best = &j->cells[j->best];
    char cells[80], rate[32], bound[60];
    if (j->recommended < 0 && best->n_values < DLB_SEPARABLE_MIN_N) {
        (void)snprintf(text, n_text,
                       "Not separable: one repetition does not tell how much %s %s lose%s to it. "
                       "Raise run.repeats to 6 or more.",
                       below->n_open > 1 ? "the smaller cells" : "the smaller cell",
                       list_cells(j, below->n_open, cells, sizeof(cells)),
                       below->n_open > 1 ? "" : "s");
        return;
    }
    if (j->recommended < 0) {
        (void)snprintf(text, n_text,
                       "Not separable: %s %s may lose less than %.3g%% to it, and these "
                       "repetitions cannot tell. Raise run.repeats%s.",
                       below->n_open > 1 ? "the smaller cells" : "the smaller cell",
                       list_cells(j, below->n_open, cells, sizeof(cells)), j->tolerance * 100,
                       best->n_values < DLB_BOOTSTRAP_MIN_N ? " to 6 or more" : "");
        return;
    }
    if (j->recommended == j->best && below->n == 0) {
        (void)snprintf(text, n_text, "Recommended: this cell; none%s is smaller.",
                       below->n_unjudged > 0     ? " of the judged cells"
                       : below->n_unmeasured > 0 ? " of the measured cells"
                                                 : "");
        return;
    }
    if (j->recommended == j->best) {
        (void)snprintf(text, n_text,
                       "Recommended: this cell; no smaller cell is certain to come within "
                       "%.3g%% of it.",
                       j->tolerance * 100);
        return;
    }
    const struct dlb_judged_cell *cell = &j->cells[j->recommended];
    struct dlb_estimate loss = dlb_paired_loss(cell, best, j->seed);
    if (loss.interval == DLB_INTERVAL_BOOTSTRAP_95)
        (void)snprintf(bound, sizeof(bound), "at the upper end of its 95%% interval");
    else
        (void)snprintf(bound, sizeof(bound), "in each of %u repetitions", loss.n);
    (void)snprintf(text, n_text,
                   "Recommended: cell %lld, the smallest whose loss to the best is under "
                   "%.3g%% %s (%s samples/s).",
                   (long long)j->recommended, j->tolerance * 100, bound,
                   dlb_count_text(round(cell->rate.median), rate, sizeof(rate)));
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

/* The cells that the recommendation leaves out, and why. */
static void say_left_out(const struct dlb_plan *plan, const struct dlb_judgement *j,
                         const struct smaller *below, char *text, size_t n_text)
{
    const struct dlb_spec *best = plan->cells[j->best].spec;
    char keys[120];
    size_t at = 0;
    text[0] = '\0';
    if (below->n_unmeasured > 0)
        (void)snprintf(text, n_text, " %u smaller cell%s not measured.", below->n_unmeasured,
                       below->n_unmeasured == 1 ? " was" : "s were");
    at = strlen(text);
    dlb_say_unjudged(j, text + at, n_text - at);
    at = strlen(text);
    if (dlb_rivals_apart(&plan->axes, best, keys, sizeof(keys))[0])
        (void)snprintf(
            text + at, n_text - at,
            " Cells of another %s do other work%s: their rates are not compared, and "
            "the highest of all says nothing about the loader.",
            keys,
            strstr(keys, "loader.batch_size") ? " (a batch of any size takes device.step_ms)" : "");
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
                       best->rate.interval == DLB_INTERVAL_BOOTSTRAP_95 ? "95% interval"
                                                                        : "min-max",
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

static void describe(const struct dlb_plan *plan, struct dlb_judgement *j,
                     const struct smaller *below)
{
    size_t n = sizeof(j->text), at = dlb_say_best(j, j->text, n);
    if (at == 0)
        return;
    say_recommended(j, below, j->text + at, n - at);
    at = strlen(j->text);
    say_left_out(plan, j, below, j->text + at, n - at);
}

void dlb_add_to_set(struct dlb_judgement *j, uint32_t cell)
{
    j->set = dlb_mem_grow(j->set, j->n_set + 1, sizeof(*j->set));
    j->set[j->n_set++] = cell;
}

/* What one cell adds to the recommendation. */
static void weigh(const struct dlb_plan_cell *planned, struct dlb_judgement *j, uint32_t i,
                  struct smaller *below)
{
    const struct dlb_judged_cell *cell = &j->cells[i], *best = &j->cells[j->best];
    if (!dlb_is_measured(cell)) {
        below->n_unmeasured += !planned->skipped && cell->n_workers < best->n_workers;
        return;
    }
    if (!dlb_is_judged(cell)) {
        below->n_unjudged += smaller(cell, best);
        return;
    }
    below->n += smaller(cell, best);
    enum standing standing = cell == best ? AS_GOOD : compare(j, cell);
    below->n_as_good += standing == AS_GOOD && smaller(cell, best);
    if (standing == AS_GOOD && (j->recommended < 0 || smaller(cell, &j->cells[j->recommended])))
        j->recommended = i;
    if (standing == OPEN && smaller(cell, best)) {
        below->n_open++;
        dlb_add_to_set(j, i);
    }
}

void dlb_recommend(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    const struct dlb_judged_cell *best = dlb_best_by_median(j);
    struct smaller below = {0};
    j->recommended = -1;
    j->separable = best && dlb_is_judged(best);
    j->n_set = 0;
    if (best)
        dlb_rivals_fill(plan, j);
    for (uint32_t i = 0; j->separable && i < j->n_cells; i++)
        if (j->cells[i].rival)
            weigh(&plan->cells[i], j, i, &below);
    if (below.n_as_good == 0 && below.n_open > 0) {
        j->recommended = -1;
        j->separable = false;
        dlb_add_to_set(j, (uint32_t)j->best);
    } else {
        j->n_set = 0;
    }
    describe(plan, j, &below);
}
