#include "formats/lmdb/answer.h"

#include "core/base/told.h"
#include "formats/headroom.h"
#include "formats/lmdb/lmdb.h"

#include <stdlib.h>

void dlb_lmdb_answer_free(struct dlb_lmdb_answer *answer)
{
    free(answer->keys);
    free(answer->end);
    free(answer->label);
    *answer = (struct dlb_lmdb_answer){.keys = NULL};
}

/* Each entry is of one kind, and takes room in the file. */
static bool facts_make_sense(const struct dlb_lmdb_facts *facts,
                             const struct dlb_lmdb_limits *limits)
{
    uint64_t n_most = limits->file_bytes / DLB_LMDB_ENTRY_BYTES;
    uint64_t n_entries = limits->n_entries < n_most ? limits->n_entries : n_most;
    uint64_t n_keys = facts->n_keys, file_bytes = limits->file_bytes;

    return n_keys <= n_entries && facts->n_about <= n_entries - n_keys &&
           facts->n_databases <= n_entries - n_keys - facts->n_about && facts->n_empty <= n_keys &&
           facts->n_key_bytes >= n_keys && facts->n_key_bytes / DLB_LMDB_MAX_KEY_BYTES <= n_keys &&
           facts->n_key_bytes <= file_bytes && facts->total_bytes <= file_bytes &&
           facts->most_bytes <= facts->total_bytes && dlb_told_bool(&facts->labelled) &&
           dlb_told_bool(&facts->described) && (facts->labelled || !facts->described) &&
           dlb_told_text(facts->database, sizeof facts->database);
}

/* Keys lie back to back, and liblmdb takes each. */
static bool ends_make_sense(const uint64_t *end, uint64_t n, uint64_t n_bytes)
{
    uint64_t before = 0;

    for (uint64_t i = 0; i < n; before = end[i++])
        if (end[i] <= before || end[i] - before > DLB_LMDB_MAX_KEY_BYTES || end[i] > n_bytes)
            return false;
    return before == n_bytes;
}

static int check_memory(const struct dlb_lmdb_facts *facts, const char *path, struct dlb_err *err)
{
    uint64_t n_bytes = facts->n_keys * (sizeof(uint64_t) + sizeof(uint32_t)) + facts->n_key_bytes;
    return dlb_headroom_check(n_bytes, path, "the list of its keys",
                              "read it in parts, with lmdb.prefix", err);
}

bool dlb_lmdb_pass(struct dlb_lmdb_answer *answer, const struct dlb_lmdb_limits *limits,
                   struct dlb_pipe *pipe, struct dlb_err *err)
{
    struct dlb_lmdb_facts *facts = &answer->facts;

    return dlb_pass(pipe, facts, sizeof *facts) && facts_make_sense(facts, limits) &&
           (pipe->tells || check_memory(facts, limits->path, err) == DLB_OK) &&
           dlb_pass_array(pipe, (void **)&answer->end, facts->n_keys, sizeof *answer->end) &&
           ends_make_sense(answer->end, facts->n_keys, facts->n_key_bytes) &&
           dlb_pass_array(pipe, (void **)&answer->keys, facts->n_key_bytes, 1) &&
           dlb_pass_array(pipe, (void **)&answer->label, facts->labelled ? facts->n_keys : 0,
                          sizeof *answer->label);
}
