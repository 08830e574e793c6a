#include "scenarios/gap/judge.h"

#include "core/base/mem.h"
#include "core/measure/noise.h"
#include "scenarios/gap/cures.h"
#include "scenarios/gap/decompose.h"
#include "scenarios/gap/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The repetitions of one rung. */
static void read_results(struct dlb_gap_judged *rung, const struct dlb_results *results,
                         uint32_t cell)
{
    const struct dlb_reps *reps = &results->cells[cell];
    rung->n_results = reps->n;
    rung->result = dlb_mem_array(rung->n_results, sizeof(*rung->result));
    rung->block = dlb_mem_array(rung->n_results, sizeof(*rung->block));
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cell_result *rep = &reps->rep[i];
        json_t *doc = rep->document ? json_incref(rep->document) : dlb_cell_result_to_json(rep);
        dlb_rung_result_from_json(doc, &rung->result[i]);
        rung->block[i] = rep->block;
        json_decref(doc);
    }
}

static bool has_seconds(const struct dlb_rung_result *result)
{
    return result->status == DLB_RUNG_OK && isfinite(result->seconds);
}

/* The seconds of all repetitions that measured, their median, and the repetition in the middle. */
static void estimate(struct dlb_gap_judged *rung)
{
    rung->values = dlb_mem_array(rung->n_results, sizeof(double));
    for (uint32_t i = 0; i < rung->n_results; i++)
        if (has_seconds(&rung->result[i]))
            rung->values[rung->n_values++] = rung->result[i].seconds;
    rung->seconds = dlb_estimate_median(rung->values, rung->n_values);
    for (uint32_t i = 0; i < rung->n_results; i++) {
        const struct dlb_rung_result *result = &rung->result[i];
        if (has_seconds(result) && result->seconds <= rung->seconds.median &&
            (!rung->shown || result->seconds > rung->shown->seconds))
            rung->shown = result;
    }
}

/* The first repetition that failed; without one, the first that is not ok; else NULL. */
static const struct dlb_rung_result *first_lost(const struct dlb_gap_judged *rung)
{
    const struct dlb_rung_result *lost = NULL;
    for (uint32_t i = 0; i < rung->n_results; i++) {
        if (rung->result[i].status == DLB_RUNG_FAILED)
            return &rung->result[i];
        if (rung->result[i].status != DLB_RUNG_OK && !lost)
            lost = &rung->result[i];
    }
    return lost;
}

static void judge_status(struct dlb_gap_judged *rung, bool skipped,
                         const struct dlb_gap_python *python, bool interrupted)
{
    const struct dlb_rung_result *lost = first_lost(rung);
    const char *why = lost ? lost->reason : "";
    rung->status = DLB_GAP_NOT_MEASURED;
    if (skipped) {
        if (python->failure != DLB_GAP_PYTHON_ANSWERED)
            rung->status = DLB_GAP_FAILED;
        rung->code = python->failure == DLB_GAP_PYTHON_CRASHED ? DLB_ERR_PYTHON_CRASHED
                                                               : DLB_ERR_PROGRAM_HANGS;
        why = python->reason;
    } else if (lost && lost->status == DLB_RUNG_FAILED) {
        /* One failure loses the rung: its other times may be wrong, too. */
        rung->status = DLB_GAP_FAILED;
        rung->code = lost->code;
    } else if (rung->n_values > 0) {
        rung->status = DLB_GAP_OK;
        why = "";
    } else if (!lost || lost->status == DLB_RUNG_CANCELLED) {
        why = interrupted ? "interrupted before it was measured" : "not run yet";
    }
    (void)snprintf(rung->reason, sizeof(rung->reason), "%s", why);
}

/* All rungs must deliver the same content; one that differs has measured something else. */
static void judge_content(struct dlb_gap_judgement *j)
{
    const char *expected = NULL, *of = NULL;
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        struct dlb_gap_judged *rung = &j->rung[i];
        for (uint32_t k = 0; k < rung->n_results && rung->status == DLB_GAP_OK; k++) {
            const char *own = rung->result[k].checksum;
            if (!own[0])
                continue;
            if (expected && strcmp(expected, own) != 0) {
                rung->status = DLB_GAP_FAILED;
                rung->code = DLB_ERR_RUNG_CONTENT;
                (void)snprintf(rung->reason, sizeof(rung->reason),
                               "delivered other content than %s (checksum %s instead of %s)", of,
                               own, expected);
            }
            of = expected ? of : rung->name;
            expected = expected ? expected : own;
        }
    }
}

static double ratio(const struct dlb_gap_judged *rung, const struct dlb_gap_judged *to)
{
    return to ? rung->seconds.median / to->seconds.median : (double)NAN;
}

static void compare(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *before[2] = {NULL, NULL}; /* of the C rungs, of PyTorch's */
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        struct dlb_gap_judged *rung = &j->rung[i];
        rung->to_direct = rung->to_floor = rung->step_seconds = (double)NAN;
        if (rung->status != DLB_GAP_OK)
            continue;
        rung->to_direct = ratio(rung, dlb_gap_measured(j, rung->torch ? "torch-direct" : "direct"));
        rung->to_floor = ratio(rung, dlb_gap_measured(j, "floor"));
        if (before[rung->torch]) {
            rung->step_seconds = rung->seconds.median - before[rung->torch]->seconds.median;
            rung->step_from = before[rung->torch]->name;
        }
        before[rung->torch] = rung;
    }
}

/* Of all rungs that are compared: what they differ by in themselves. */
static double noise_floor(const struct dlb_gap_judgement *j)
{
    uint32_t n = 0, n_each = 0;
    struct dlb_noise noise;
    for (uint32_t i = 0; i < j->n_rungs; i++)
        n += j->rung[i].n_results;
    struct dlb_noise_rep *reps = dlb_mem_array(n, sizeof(*reps));
    n = 0;
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        const struct dlb_gap_judged *rung = &j->rung[i];
        if (rung->status != DLB_GAP_OK)
            continue;
        n_each = rung->n_values > n_each ? rung->n_values : n_each;
        for (uint32_t k = 0; k < rung->n_results; k++)
            if (has_seconds(&rung->result[k]) && rung->result[k].seconds > 0)
                reps[n++] = (struct dlb_noise_rep){i, rung->block[k], 1 / rung->result[k].seconds};
    }
    dlb_noise_of(reps, n, n_each, &noise);
    free(reps);
    return noise.floor_frac;
}

/* How long a training loop waited for a CPU because of other programs. Loops that share a process
 * with threads of their own are left out: they may have waited for these. */
static void find_busy(struct dlb_gap_judgement *j)
{
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        const struct dlb_gap_judged *rung = &j->rung[i];
        if (rung->status != DLB_GAP_OK || !rung->shown || rung->shown->os.n_threads != 1)
            continue;
        const struct dlb_rung_account *loop = &rung->shown->os.threads[0];
        if (loop->runqueue_wait_ns == DLB_NOT_MEASURED || loop->wall_ns == DLB_NOT_MEASURED)
            continue;
        double frac = (double)loop->runqueue_wait_ns / (double)loop->wall_ns;
        if (frac > j->busy_frac) {
            j->busy_frac = frac;
            j->busy_rung = rung;
        }
    }
}

void dlb_gap_judge(const struct dlb_plan *plan, const struct dlb_results *results,
                   const struct dlb_gap_setting *setting, struct dlb_gap_judgement *out)
{
    *out = (struct dlb_gap_judgement){.n_rungs = 0};
    for (uint32_t i = 0; i < plan->n_cells && i < DLB_GAP_MAX_RUNGS; i++) {
        struct dlb_gap_judged *rung = &out->rung[out->n_rungs++];
        rung->name = plan->cells[i].other.name;
        rung->torch = strncmp(rung->name, "torch-", strlen("torch-")) == 0;
        read_results(rung, results, i);
        estimate(rung);
        judge_status(rung, plan->cells[i].skipped, setting->python, results->interrupted);
    }
    judge_content(out);
    compare(out);
    out->noise_floor_frac = noise_floor(out);
    find_busy(out);
    dlb_gap_decompose(out);
    dlb_gap_find_cures(out);
    dlb_gap_words(setting, out);
}
