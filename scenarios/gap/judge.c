/* From what the repetitions of each rung told to the ladder. */
#include "scenarios/gap/gap.h"

#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_status(const json_t *doc, const char *status)
{
    return strcmp(dlb_json_text(doc, "status"), status) == 0;
}

/* Of the repetitions that measured: their seconds, by block, and the one in the middle. */
static bool gather(struct dlb_gap_judged *rung, uint64_t seed)
{
    const json_t *doc;
    size_t i;
    rung->values = calloc(json_array_size(rung->docs) + 1, sizeof(double));
    if (!rung->values)
        return false;
    json_array_foreach(rung->docs, i, doc) {
        double seconds = dlb_json_number(doc, "seconds");
        if (has_status(doc, "ok") && isfinite(seconds))
            rung->values[rung->n_values++] = seconds;
    }
    rung->seconds = dlb_estimate_median(rung->values, rung->n_values, seed);
    json_array_foreach(rung->docs, i, doc) {
        double seconds = dlb_json_number(doc, "seconds");
        if (has_status(doc, "ok") && seconds <= rung->seconds.median &&
            (!rung->shown || seconds > dlb_json_number(rung->shown, "seconds")))
            rung->shown = doc;
    }
    return true;
}

/* The first repetition that did not end well, if there is one; else one that ended otherwise. */
static const json_t *first_lost(const json_t *docs)
{
    const json_t *doc, *lost = NULL;
    size_t i;
    json_array_foreach(docs, i, doc) {
        if (has_status(doc, "failed"))
            return doc;
        if (!has_status(doc, "ok") && !lost)
            lost = doc;
    }
    return lost;
}

static void judge_status(struct dlb_gap_judged *rung, const struct dlb_plan_cell *planned,
                         const struct dlb_gap_judge_input *in)
{
    const json_t *lost = first_lost(rung->docs);
    bool failed = lost && has_status(lost, "failed");
    const char *why = dlb_json_text(lost, "reason");
    rung->status = DLB_GAP_NOT_MEASURED;
    if (planned->skipped) {
        rung->status = in->python->crashed ? DLB_GAP_FAILED : DLB_GAP_NOT_MEASURED;
        rung->error = in->python->crashed ? DLB_E_WORKER : DLB_OK;
        why = in->python->reason;
    } else if (failed) { /* a rung that failed once shows nothing: its other times may be wrong too
                          */
        rung->status = DLB_GAP_FAILED;
        rung->error = (enum dlb_status)dlb_json_u64(lost, "error", DLB_E_WORKER);
    } else if (rung->n_values > 0) {
        rung->status = DLB_GAP_OK;
        why = "";
    } else if (!lost || has_status(lost, "cancelled")) {
        why = in->results->interrupted ? "interrupted before it had a turn" : "had no turn yet";
    }
    (void)snprintf(rung->reason, sizeof(rung->reason), "%s", why);
}

/* All rungs deliver the same content: whoever does not has measured something else. */
static void judge_content(struct dlb_gap_judgement *j)
{
    const char *sum = NULL, *whose = NULL;
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        struct dlb_gap_judged *rung = &j->rung[i];
        const json_t *doc;
        size_t k;
        if (rung->status != DLB_GAP_OK)
            continue;
        json_array_foreach(rung->docs, k, doc) {
            const char *own = dlb_json_text(doc, "checksum");
            if (!own[0] || rung->status != DLB_GAP_OK)
                continue;
            if (sum && strcmp(sum, own) != 0) {
                rung->status = DLB_GAP_FAILED;
                rung->error = DLB_E_FORMAT;
                (void)snprintf(rung->reason, sizeof(rung->reason),
                               "delivered other content than %s (checksum %.20s, not %.20s)", whose,
                               own, sum);
            }
            whose = sum ? whose : rung->name;
            sum = sum ? sum : own;
        }
    }
}

const struct dlb_gap_judged *dlb_gap_measured(const struct dlb_gap_judgement *j, const char *name)
{
    for (uint32_t i = 0; i < j->n_rungs; i++)
        if (strcmp(j->rung[i].name, name) == 0 && j->rung[i].status == DLB_GAP_OK)
            return &j->rung[i];
    return NULL;
}

static double ratio(const struct dlb_gap_judged *rung, const struct dlb_gap_judged *to)
{
    return to ? rung->seconds.median / to->seconds.median : (double)NAN;
}

static void compare(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *before[2] = {NULL, NULL}; /* of C's, of PyTorch's */
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

int dlb_gap_judge(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *out,
                  struct dlb_err *err)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < in->plan->n_cells && i < DLB_GAP_MAX_RUNGS; i++) {
        struct dlb_gap_judged *rung = &out->rung[out->n_rungs++];
        rung->name = in->plan->cells[i].name;
        rung->torch = strncmp(rung->name, "torch-", strlen("torch-")) == 0;
        rung->docs = in->results->cells[i];
        if (!gather(rung, in->plan->seed)) {
            dlb_gap_judgement_free(out);
            return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                            "out of memory for the ladder");
        }
        judge_status(rung, &in->plan->cells[i], in);
    }
    judge_content(out);
    compare(out);
    dlb_gap_decompose(out);
    dlb_gap_words(in, out);
    return DLB_OK;
}

void dlb_gap_judgement_free(struct dlb_gap_judgement *judgement)
{
    for (uint32_t i = 0; i < judgement->n_rungs; i++)
        free(judgement->rung[i].values);
    memset(judgement, 0, sizeof(*judgement));
}
