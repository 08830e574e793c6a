/* What the child process that lists an LMDB file's keys answers: a hostile file may have taken it
 * over. The first eight bytes say how many entries the file's root counts and how large the file
 * is; the rest is what comes through the pipe. What is believed can be used: every key lies within
 * the keys, and what it counts fits the file. */
#include "core/base/told.h"
#include "formats/lmdb/answer.h"
#include "formats/lmdb/lmdb.h"

#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MOST_BYTES = 32 * 1024 }; /* what a pipe holds, and more is not written to it */
#define MOST_FILE_BYTES (UINT32_C(1) << 24)

static void use(const struct dlb_lmdb_answer *answer, const struct dlb_lmdb_limits *limits)
{
    const struct dlb_lmdb_facts *facts = &answer->facts;
    uint8_t key[DLB_LMDB_MAX_KEY_BYTES];
    uint64_t start = 0;
    for (uint64_t i = 0; i < facts->n_keys; start = answer->end[i++]) {
        if (answer->end[i] <= start || answer->end[i] - start > sizeof(key) ||
            answer->end[i] > facts->n_key_bytes)
            DLB_BUG("a key outside of the keys");
        memcpy(key, answer->keys + start, answer->end[i] - start);
        if (facts->labelled != (answer->label != NULL))
            DLB_BUG("labels that are not there");
        if (answer->label)
            memcpy(key, &answer->label[i], sizeof(answer->label[i]));
    }
    if (facts->n_keys + facts->n_about + facts->n_databases > limits->n_entries ||
        facts->n_empty > facts->n_keys || facts->most_bytes > facts->total_bytes ||
        facts->total_bytes > limits->file_bytes)
        DLB_BUG("more than the file has");
    if (!dlb_told_text(facts->database, sizeof(facts->database)))
        DLB_BUG("a name without an end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_apart how = {.path = "fuzz.mdb"};
    struct dlb_lmdb_answer answer = {.keys = NULL};
    struct dlb_err err = {.status = DLB_OK};
    uint32_t limit[2];
    int ends[2];
    if (n_bytes < sizeof(limit) || n_bytes > MOST_BYTES || pipe(ends) != 0)
        return 0;
    memcpy(limit, data, sizeof(limit));
    const struct dlb_lmdb_limits limits = {"fuzz.mdb", limit[0], limit[1] % MOST_FILE_BYTES};
    size_t n_told = n_bytes - sizeof(limit);
    if (write(ends[1], data + sizeof(limit), n_told) != (ssize_t)n_told)
        DLB_BUG("a pipe that is full");
    (void)close(ends[1]);
    struct dlb_pipe pipe = {.fd = ends[0], .how = &how};
    if (dlb_lmdb_pass(&answer, &limits, &pipe, &err))
        use(&answer, &limits);
    dlb_lmdb_answer_free(&answer);
    (void)close(ends[0]);
    return 0;
}
