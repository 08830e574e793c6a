#include "scenarios/ranks/answers.h"

#include "core/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The i-th answer of n; false: the message has other contents. */
static bool find(const struct dlb_message *answers, uint32_t n, uint32_t i, const char **bytes,
                 size_t *n_bytes)
{
    uint64_t word = 0, at = ((uint64_t)n + 1) * sizeof(word);
    if (answers->n_bytes < at)
        return false;
    memcpy(&word, answers->bytes, sizeof(word));
    if (word != n)
        return false;
    for (uint32_t k = 0; k <= i; k++) {
        at += k > 0 ? word : 0;
        memcpy(&word, answers->bytes + (k + 1) * sizeof(word), sizeof(word));
        if (at > answers->n_bytes || word > answers->n_bytes - at)
            return false;
    }
    *bytes = answers->bytes + at;
    *n_bytes = (size_t)word;
    return true;
}

uint64_t dlb_answers_n_notes(const struct dlb_message *answers)
{
    uint64_t n = 0;
    if (answers->n_bytes >= sizeof(n))
        memcpy(&n, answers->bytes + answers->n_bytes - sizeof(n), sizeof(n));
    return n;
}

static json_t *document(const struct dlb_message *answers, uint32_t n, uint32_t i)
{
    const char *bytes = NULL;
    size_t n_bytes = 0;
    return find(answers, n, i, &bytes, &n_bytes) ? json_loadb(bytes, n_bytes, 0, NULL) : NULL;
}

json_t *dlb_answers_documents(const struct dlb_message *answers, uint32_t n)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < n; i++) {
        json_t *one = document(answers, n, i);
        dlb_json_append(out, one ? one : json_null());
    }
    return out;
}

int dlb_answers_take_bytes(const struct dlb_message *answers, uint32_t n, void *out, size_t n_bytes,
                           struct dlb_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *bytes = NULL;
        size_t n_there = 0;
        if (!find(answers, n, i, &bytes, &n_there) || n_there != n_bytes)
            return dlb_fail(err, DLB_ERR_FORMAT, NULL, DLB_NO_OFFSET,
                            "the answer of rank %u is of another size", i);
        memcpy((char *)out + i * n_bytes, bytes, n_bytes);
    }
    return DLB_OK;
}

/* When it had measured, from the common start. What it trains on for other ranks does not count. */
static double done_s(const struct dlb_meet *meet)
{
    uint64_t ended_ns = atomic_load(&meet->ended_ns);
    uint64_t done_ns = meet->measured_ns > 0 ? meet->measured_ns : ended_ns;
    bool whole = meet->started_ns > 0 && done_ns > meet->started_ns && ended_ns >= done_ns;
    return whole && meet->ended_well ? (double)(done_ns - meet->started_ns) / 1e9 : (double)NAN;
}

json_t *dlb_answer_of_cell(const struct dlb_link *link, const struct dlb_cell_result *result)
{
    const struct dlb_meet *meet = link->meet;
    return dlb_json_made(
        json_pack("{so, so, so, sb, sI, sI, sI}", "node", dlb_json_safe_text(link->node), "result",
                  dlb_cell_result_to_json(result), "done_s", dlb_json_real_or_null(done_s(meet)),
                  "together", (int)meet->together, "rounds", (json_int_t)meet->n_rounds, "wait_ns",
                  (json_int_t)meet->wait_ns, "own_input_ns", (json_int_t)meet->own_input_ns));
}

int dlb_answers_take_cells(const struct dlb_message *answers, uint32_t n,
                           struct dlb_rank_part *parts, struct dlb_err *err)
{
    int rc = DLB_OK;
    for (uint32_t i = 0; i < n; i++)
        dlb_cell_result_init(&parts[i].result);
    for (uint32_t i = 0; i < n && !rc; i++) {
        json_t *doc = document(answers, n, i);
        rc = dlb_cell_result_from_json(&parts[i].result, json_object_get(doc, "result"), err);
        dlb_json_take_text(doc, "node", parts[i].node, sizeof(parts[i].node));
        parts[i].done_s = dlb_json_number(doc, "done_s");
        parts[i].together = json_is_true(json_object_get(doc, "together"));
        parts[i].n_rounds = dlb_json_u64(doc, "rounds", 0);
        parts[i].wait_ns = dlb_json_number(doc, "wait_ns");
        parts[i].own_input_ns = dlb_json_number(doc, "own_input_ns");
        json_decref(doc);
    }
    return rc;
}
