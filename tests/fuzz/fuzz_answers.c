/* What the ranks of a job answer, as it comes from other machines: as bytes, and as an array of
 * answers about a cell, which become one result. That is written and read again. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/ranks/answers.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RANKS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void take_any(const uint8_t *data, size_t n_bytes)
{
    struct dlb_message message = {.n_bytes = n_bytes, .bytes = dlb_mem_new(n_bytes + 1)};
    struct dlb_ranks_offset offsets[MAX_RANKS];
    struct dlb_err err;
    memcpy(message.bytes, data, n_bytes);
    for (uint32_t n = 1; n <= MAX_RANKS; n++) {
        json_t *all = dlb_answers_documents(&message, n);
        if (json_array_size(all) != n)
            DLB_BUG("another number of answers");
        json_decref(all);
        (void)dlb_answers_take_bytes(&message, n, offsets, sizeof(*offsets), &err);
    }
    free(message.bytes);
}

/* As a speaker hands them over. */
static struct dlb_message message_of(const json_t *answers)
{
    uint64_t n = json_array_size(answers), n_head = (n + 1) * sizeof(n);
    struct dlb_message out = {.n_bytes = n_head, .bytes = dlb_mem_new(n_head)};
    const json_t *one;
    size_t i;
    memcpy(out.bytes, &n, sizeof(n));
    json_array_foreach(answers, i, one) {
        char *text = dlb_mem_check(json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY));
        uint64_t length = strlen(text);
        out.bytes = dlb_mem_grow(out.bytes, out.n_bytes + length, 1);
        memcpy(out.bytes + (i + 1) * sizeof(n), &length, sizeof(length));
        memcpy(out.bytes + out.n_bytes, text, length);
        out.n_bytes += length;
        free(text);
    }
    return out;
}

static void take_cells(const json_t *answers)
{
    static struct dlb_cell_result merged, again;
    static struct dlb_rank_part parts[MAX_RANKS];
    struct dlb_message message = message_of(answers);
    uint32_t n = (uint32_t)json_array_size(answers);
    const struct dlb_hist none = {0};
    struct dlb_err err;
    if (dlb_answers_take_cells(&message, n, parts, &err) == DLB_OK) {
        dlb_ranks_merge(parts, n, &none, &merged);
        if (dlb_cell_result_n_ranks(&merged) != n)
            DLB_BUG("a rank is missing");
        json_t *written = dlb_cell_result_to_json(&merged);
        if (dlb_cell_result_from_json(&again, written, &err) != DLB_OK)
            DLB_BUG("a result that cannot be read back");
        json_decref(written);
        dlb_cell_result_free(&again);
        dlb_cell_result_free(&merged);
    }
    for (uint32_t i = 0; i < n; i++)
        dlb_cell_result_free(&parts[i].result);
    free(message.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    json_t *answers = json_loadb((const char *)data, n_bytes, JSON_DECODE_ANY, NULL);
    take_any(data, n_bytes);
    if (json_is_array(answers) && json_array_size(answers) > 0 &&
        json_array_size(answers) <= MAX_RANKS)
        take_cells(answers);
    json_decref(answers);
    return 0;
}
