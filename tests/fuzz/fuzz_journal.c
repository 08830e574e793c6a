/* A journal, which a kill, a power loss or somebody else may have changed. The first byte says what
 * the rest is: 't' a journal's text; 'r' an array of its records; 'd' damage to one that is whole:
 * pairs of a place and a byte, then where it is cut. Whatever was done to it, what is read is what
 * was written, up to some record. */
#include "core/base/journal.h"
#include "core/base/json.h"
#include "scenarios/run/kept.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { N_RECORDS = 4, MOST_BYTES = 2048 };

/* Of a result, as the runner writes it. */
static json_t *record_of(int i)
{
    return dlb_json_made(json_pack("{ss, ss, si, si, si, sf, sf, s{ss}}", "is", "repetition",
                                   "task", "cell", "index", i, "block", 0, "again", 0, "took_s",
                                   0.5, "elapsed_s", i + 0.25, "result", "status", "ok"));
}

static void check_text(const char *text, size_t n_bytes)
{
    struct dlb_journal_text out, again;
    struct dlb_err err;
    if (dlb_journal_parse(text, n_bytes, "journal", &out, &err) != DLB_OK) {
        if (err.code != DLB_ERR_JOURNAL_DAMAGED && err.code != DLB_ERR_JOURNAL_VERSION)
            DLB_BUG("another error");
        return;
    }
    if (out.n_bytes > n_bytes || json_array_size(out.records) == 0)
        DLB_BUG("a journal of nothing");
    if (dlb_journal_parse(text, out.n_bytes, "journal", &again, &err) != DLB_OK ||
        again.n_bytes != out.n_bytes || !json_equal(again.records, out.records))
        DLB_BUG("the whole records are not whole");
    json_decref(again.records);
    json_decref(out.records);
}

static void check_records(const char *text, size_t n_bytes)
{
    struct dlb_journal journal = {.fd = -1, .path = "journal"};
    json_t *records = json_loadb(text, n_bytes, 0, NULL);
    struct dlb_kept kept;
    struct dlb_kept_spent spent;
    struct dlb_err err;
    if (!json_is_array(records)) {
        json_decref(records);
        return;
    }
    int rc = dlb_kept_open(&kept, &journal, records, &err);
    for (size_t i = 0; rc == DLB_OK && dlb_kept_next(&kept) != DLB_KEPT_NOTHING; i++) {
        static struct dlb_cell_result result;
        struct dlb_kept_rep rep = {.task = {.kind = DLB_TASK_CELL}};
        if (i > json_array_size(records))
            DLB_BUG("more records than there are");
        if (dlb_kept_next(&kept) == DLB_KEPT_RESUMED)
            dlb_kept_take_resumed(&kept, &spent);
        else if (dlb_kept_next(&kept) == DLB_KEPT_BLOCK)
            rc = dlb_kept_take_block(&kept, 0, &err);
        else if ((rc = dlb_kept_take_rep(&kept, &rep, &result, &err)) == DLB_OK)
            dlb_cell_result_free(&result);
    }
    if (rc != DLB_OK && (rc != (int)err.status || err.what[0] == '\0'))
        DLB_BUG("an error without words");
    dlb_kept_close(&kept);
    json_decref(records);
}

static void check_damage(const uint8_t *data, size_t n_bytes)
{
    char text[MOST_BYTES];
    size_t n_text = 0, n_line;
    uint64_t hash = 0;
    struct dlb_journal_text out;
    struct dlb_err err;
    for (int i = 0; i < N_RECORDS; i++) {
        json_t *record = record_of(i);
        char *line = dlb_journal_line(record, &hash, &n_line);
        memcpy(text + n_text, line, n_line);
        n_text += n_line;
        free(line);
        json_decref(record);
    }
    for (; n_bytes >= 3; data += 3, n_bytes -= 3)
        text[(data[0] * 256u + data[1]) % n_text] = (char)data[2];
    if (n_bytes == 2)
        n_text = (data[0] * 256u + data[1]) % (n_text + 1);
    if (dlb_journal_parse(text, n_text, "journal", &out, &err) != DLB_OK)
        return;
    for (size_t i = 0; i < json_array_size(out.records); i++) {
        json_t *record = record_of((int)i);
        if (!json_equal(json_array_get(out.records, i), record))
            DLB_BUG("a record that was not written");
        json_decref(record);
    }
    json_decref(out.records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes == 0)
        return 0;
    if (data[0] == 't')
        check_text((const char *)data + 1, n_bytes - 1);
    else if (data[0] == 'r')
        check_records((const char *)data + 1, n_bytes - 1);
    else if (data[0] == 'd')
        check_damage(data + 1, n_bytes - 1);
    return 0;
}
