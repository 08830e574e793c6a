#include "scenarios/judge/noise.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/noise.h"
#include "core/measure/tail.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/note.h"
#include "scenarios/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dlb_cell_result *run_of(const struct dlb_reps *reps, uint32_t i)
{
    return i < reps->n ? &reps->rep[i] : &reps->passed[i - reps->n];
}

/* Rates of all runs, or of the quiet ones; returns how many. */
static uint32_t rates_of(const struct dlb_reps *reps, bool quiet, double *rates)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n + reps->n_passed; i++) {
        const struct dlb_cell_result *rep = run_of(reps, i);
        double rate = dlb_cell_result_samples_per_s(rep);
        if (rep->status == DLB_REP_OK && isfinite(rate) &&
            !(quiet && dlb_disturbed(&rep->loop.strain)))
            rates[n++] = rate;
    }
    return n;
}

static json_t *estimate_json(const double *rates, uint32_t n)
{
    struct dlb_estimate e = dlb_estimate_median(rates, n);
    json_t *out = dlb_estimate_to_json(&e), *values = dlb_json_made(json_array());
    for (uint32_t i = 0; i < n; i++)
        dlb_json_append(values, json_real(rates[i]));
    dlb_json_put(out, "values", values);
    return out;
}

static json_t *names_of(uint32_t causes)
{
    json_t *out = dlb_json_made(json_array());
    for (int i = 0; i < DLB_N_DISTURBANCES; i++)
        if (causes & 1u << i)
            dlb_json_append(out, json_string(dlb_disturbance_names[i]));
    return out;
}

struct counts {
    uint32_t n_runs, n_disturbed, n_repeated, n_left; /* n_left: blocks without a quiet run */
    uint32_t causes;
};

static void count(const struct dlb_reps *reps, struct counts *out)
{
    for (uint32_t i = 0; i < reps->n + reps->n_passed; i++) {
        uint32_t causes = dlb_disturbed(&run_of(reps, i)->loop.strain);
        out->causes |= causes;
        out->n_disturbed += causes != 0;
        out->n_left += causes != 0 && i < reps->n;
    }
    out->n_runs += reps->n + reps->n_passed;
    out->n_repeated += reps->n_passed;
}

json_t *dlb_noise_cell_json(const struct dlb_reps *reps)
{
    struct counts counts = {0};
    double *rates = dlb_mem_array((size_t)reps->n + reps->n_passed, sizeof(*rates));
    count(reps, &counts);
    json_t *out = dlb_json_made(json_pack("{si, si, si, si, so}", "runs", (int)counts.n_runs,
                                          "disturbed", (int)counts.n_disturbed, "repeated",
                                          (int)counts.n_repeated, "still_disturbed",
                                          (int)counts.n_left, "causes", names_of(counts.causes)));
    uint32_t n = rates_of(reps, false, rates);
    dlb_json_put(out, "as_measured", estimate_json(rates, n));
    n = rates_of(reps, true, rates);
    dlb_json_put(out, "undisturbed", estimate_json(rates, n));
    free(rates);
    return out;
}

void dlb_noise_note(const struct dlb_results *results, json_t *notes)
{
    struct counts counts = {0};
    char by[120] = "";
    for (uint32_t i = 0; i < results->n_cells; i++)
        count(&results->cells[i], &counts);
    for (uint32_t i = 0; i < results->n_ceilings; i++)
        count(&results->ceilings[i], &counts);
    for (int i = 0; i < DLB_N_DISTURBANCES; i++)
        if (counts.causes & 1u << i) {
            size_t at = strlen(by);
            (void)snprintf(by + at, sizeof(by) - at, "%s%s", at ? ", " : "",
                           dlb_disturbance_names[i]);
        }
    if (counts.n_disturbed > 0)
        dlb_note(notes, DLB_NOTE_DISTURBED,
                 "others disturbed %u of %u runs (%s); %u were measured again, and %u repetitions "
                 "have no quiet run: noise.as_measured and noise.undisturbed of each cell have "
                 "both rates",
                 counts.n_disturbed, counts.n_runs, by, counts.n_repeated, counts.n_left);
}

/* Whether the cell is compared with the best. */
static bool is_compared(const struct dlb_judgement *j, uint32_t i)
{
    return i != j->best && dlb_is_judged(&j->cells[i]) && j->cells[i].rival;
}

/* Whether the cell loses less to the best than the noise lets one see. */
static bool is_tied(const struct dlb_judgement *j, uint32_t i)
{
    return dlb_judged_loss(&j->cells[i], &j->cells[j->best]) < j->noise_floor_frac;
}

json_t *dlb_noise_tied_json(const struct dlb_judgement *j)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; j->best >= 0 && i < j->n_cells; i++)
        if (is_compared(j, i) && is_tied(j, i))
            dlb_json_append(out, json_integer(i));
    return out;
}

void dlb_noise_of_cells(const struct dlb_judgement *j, struct dlb_noise *out)
{
    size_t n = 0;
    uint32_t n_each = 0;
    for (uint32_t i = 0; i < j->n_cells; i++)
        n += j->cells[i].n_values;
    struct dlb_noise_rep *reps = dlb_mem_array(n, sizeof(*reps));
    n = 0;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        const struct dlb_judged_cell *cell = &j->cells[i];
        if (!dlb_is_judged(cell) || cell->aside)
            continue;
        n_each = cell->n_values > n_each ? cell->n_values : n_each;
        for (uint32_t k = 0; k < cell->n_values; k++)
            if (cell->values[k] > 0)
                reps[n++] = (struct dlb_noise_rep){i, cell->block[k], cell->values[k]};
    }
    dlb_noise_of(reps, (uint32_t)n, n_each, out);
    free(reps);
}

/* Whether more blocks might decide what is undecided, on this machine. */
static bool time_would_tell(const struct dlb_race *race, const struct dlb_noise *noise,
                            double tolerance)
{
    if (race && race->stopped == DLB_RACE_NOISE)
        return false;
    double n =
        race ? race->n_blocks + race->blocks_more : dlb_race_blocks(noise->sd_frac, tolerance);
    return !(n > DLB_RACE_BLOCKS_MAX);
}

/* Cells that are compared with the best and lose less than this to it. */
static uint32_t count_rivals(const struct dlb_judgement *j, double less)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n_cells; i++)
        n += is_compared(j, i) && dlb_judged_loss(&j->cells[i], &j->cells[j->best]) < less;
    return n;
}

/* Cells that are within the floor of all, and whose own pairs with the best do not show it either:
 * a loss of DLB_NOISE_FLOOR_MAX is within their interval. */
static uint32_t count_hidden(const struct dlb_judgement *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n_cells; i++) {
        if (!is_compared(j, i) || !is_tied(j, i))
            continue;
        struct dlb_estimate loss = dlb_paired_loss(&j->cells[i], &j->cells[j->best]);
        n += !(loss.n >= DLB_SEPARABLE_MIN_N) || !(loss.high < DLB_NOISE_FLOOR_MAX);
    }
    return n;
}

/* The floor is of one pair. This is what the most distant of n equal cells stays below. */
static double floor_of_all(double floor_frac, double freedom, uint32_t n)
{
    double wider = dlb_t_beyond(0.05 / fmax(n, 1), fmax(freedom, 1)) / dlb_t_95(fmax(freedom, 1));
    return -expm1(log1p(-floor_frac) * wider);
}

/* Whether a comparison was held and is open. Before its first look a race knows nothing. */
static bool is_open(const struct dlb_plan *plan, const struct dlb_race *race,
                    const struct dlb_judgement *j)
{
    bool swept = plan->axes.n > 0 && !plan->base; /* storage compares its cells itself */
    return swept &&
           (race ? race->n_looked > 0 && race->stopped != DLB_RACE_DECIDED : !j->separable);
}

static bool is_too_busy(const struct dlb_race *race, const struct dlb_judgement *j,
                        const struct dlb_noise *noise)
{
    if (j->best < 0 || !(j->noise_floor_frac > j->tolerance))
        return false;
    bool time = time_would_tell(race, noise, j->tolerance);
    if ((race || !time) && j->noise_floor_frac > DLB_NOISE_FLOOR_MAX &&
        (race ? count_rivals(j, j->noise_floor_frac) : count_hidden(j)) > 0)
        return true;
    if (race && time)
        return false;
    uint32_t n = count_rivals(j, INFINITY);
    double far =
        race ? floor_of_all(j->noise_floor_frac, noise->n_freedom, n) : j->noise_floor_frac;
    return n > 0 && count_rivals(j, far) == n;
}

/* What would help, too. A race that ended for the noise ends there with any budget. */
static const char *or_what(const struct dlb_race *race)
{
    if (!race)
        return ", or raise run.repeats";
    return race->stopped == DLB_RACE_NOISE ? "" : ", or raise sweep.max_minutes";
}

void dlb_noise_judge(const struct dlb_plan *plan, const struct dlb_noise *noise,
                     struct dlb_judgement *j)
{
    const struct dlb_plan_race *held = dlb_plan_deciding(plan);
    const struct dlb_race *race = held ? &held->race : NULL;
    bool raced = race && isfinite(race->noise_floor_frac);
    j->noise_floor_frac = raced ? race->noise_floor_frac : noise->floor_frac;
    j->too_busy = is_open(plan, race, j) && is_too_busy(race, j, noise);
    if (!j->too_busy)
        return;
    j->recommended = -1;
    j->separable = false;
    j->n_set = 0;
    (void)snprintf(j->text, sizeof(j->text),
                   "This machine is too busy to tell: repetitions of one cell differ so much that "
                   "a loss under %.0f%% would not show, and of the other cells %u of %u are no "
                   "further from the best. Measure on a quiet machine%s.",
                   j->noise_floor_frac * 100, count_rivals(j, j->noise_floor_frac),
                   count_rivals(j, INFINITY), or_what(race));
}
