#include "scenarios/run/kept.h"

#include "core/base/json.h"
#include "core/base/json_fields.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define IS "is"

static const char *const kinds[DLB_N_TASK_KINDS + 1] = {
    [DLB_TASK_WARM] = "warm",       [DLB_TASK_REFERENCE] = "reference", [DLB_TASK_CELL] = "cell",
    [DLB_TASK_CEILING] = "ceiling", [DLB_TASK_BASELINE] = "baseline",   [DLB_TASK_IN_C] = "in_c"};
static const char *const names[] = {[DLB_KEPT_NOTHING] = "",
                                    [DLB_KEPT_REPETITION] = "repetition",
                                    [DLB_KEPT_BLOCK] = "block",
                                    [DLB_KEPT_RESUMED] = "resumed"};
static const struct dlb_json_field spent_fields[] = {
    DLB_JSON_REAL(dlb_kept_spent, "elapsed_s", elapsed_s),
    DLB_JSON_REAL(dlb_kept_spent, "unjudged_s", unjudged_s),
    DLB_JSON_COUNT(dlb_kept_spent, "stolen_ticks", stolen_ticks),
    DLB_JSON_COUNT(dlb_kept_spent, "all_ticks", all_ticks), DLB_JSON_FIELDS_END};
static const struct dlb_json_field task_fields[] = {
    DLB_JSON_SMALL(dlb_task, "index", index), DLB_JSON_SMALL(dlb_task, "block", block),
    DLB_JSON_SMALL(dlb_task, "again", again), DLB_JSON_FIELDS_END};
static const struct dlb_json_field rep_fields[] = {DLB_JSON_HEX(dlb_kept_rep, "config", config),
                                                   DLB_JSON_REAL(dlb_kept_rep, "took_s", took_s),
                                                   DLB_JSON_FIELDS_END};

static enum dlb_kept_what what_is(const json_t *record)
{
    const char *is = dlb_json_text(record, IS);
    for (int what = DLB_KEPT_REPETITION; what <= DLB_KEPT_RESUMED; what++)
        if (strcmp(is, names[what]) == 0)
            return (enum dlb_kept_what)what;
    return DLB_KEPT_NOTHING;
}

static bool is_spent(const struct dlb_kept_spent *spent)
{
    return isfinite(spent->elapsed_s) && spent->elapsed_s >= 0 && isfinite(spent->unjudged_s) &&
           spent->unjudged_s >= 0 && spent->unjudged_s <= spent->elapsed_s;
}

/* False: the record is not whole. */
static bool read_rep(const json_t *record, struct dlb_kept_rep *out)
{
    const char *kind = dlb_json_text(record, "task");
    int k = 0;
    *out = (struct dlb_kept_rep){.took_s = 0};
    while (kinds[k] && strcmp(kinds[k], kind) != 0)
        k++;
    out->task.kind = (enum dlb_task_kind)k;
    dlb_json_fields_take(record, task_fields, &out->task);
    dlb_json_fields_take(record, rep_fields, out);
    dlb_json_fields_take(record, spent_fields, &out->spent);
    return kinds[k] && isfinite(out->took_s) && is_spent(&out->spent) &&
           json_is_object(json_object_get(record, "result"));
}

void dlb_kept_begin(struct dlb_kept *kept, struct dlb_journal *journal)
{
    *kept = (struct dlb_kept){.journal = journal, .taken = dlb_json_made(json_array())};
}

/* Drops the records of a block that did not end. */
static void drop_from(struct dlb_kept *kept, size_t n)
{
    while (json_array_size(kept->taken) > n) {
        size_t last = json_array_size(kept->taken) - 1;
        bool rep = what_is(json_array_get(kept->taken, last)) == DLB_KEPT_REPETITION;
        kept->n_taken -= rep;
        kept->n_unjudged += rep;
        (void)json_array_remove(kept->taken, last);
    }
}

static int refuse(const struct dlb_kept *kept, size_t i, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_JOURNAL_DAMAGED, kept->journal->path, DLB_NO_OFFSET,
                    "record %zu of the journal is not what dlbench writes", i);
}

int dlb_kept_open(struct dlb_kept *kept, struct dlb_journal *journal, const json_t *records,
                  struct dlb_err *err)
{
    size_t n_ended = 0; /* records up to the end of the last block */
    dlb_kept_begin(kept, journal);
    kept->resumes = true;
    for (size_t i = 1; i < json_array_size(records); i++) {
        json_t *record = json_array_get(records, i);
        enum dlb_kept_what what = what_is(record);
        struct dlb_kept_rep rep = {.took_s = 0};
        if (what == DLB_KEPT_NOTHING || (what == DLB_KEPT_REPETITION && !read_rep(record, &rep)))
            return refuse(kept, i, err);
        if (what == DLB_KEPT_RESUMED) {
            kept->n_resumed++;
            drop_from(kept, n_ended);
            dlb_json_fields_take(record, spent_fields, &rep.spent);
            if (!is_spent(&rep.spent))
                return refuse(kept, i, err);
        }
        if (what != DLB_KEPT_BLOCK)
            kept->spent = rep.spent;
        kept->n_taken += what == DLB_KEPT_REPETITION;
        dlb_json_append(kept->taken, json_incref(record));
        if (what == DLB_KEPT_BLOCK)
            n_ended = json_array_size(kept->taken);
    }
    drop_from(kept, n_ended);
    return DLB_OK;
}

void dlb_kept_close(struct dlb_kept *kept)
{
    json_decref(kept->taken);
    kept->taken = NULL;
}

enum dlb_kept_what dlb_kept_next(const struct dlb_kept *kept)
{
    return what_is(json_array_get(kept->taken, kept->next));
}

static bool is_same_task(const struct dlb_task *a, const struct dlb_task *b)
{
    return a->kind == b->kind && a->index == b->index && a->block == b->block &&
           a->again == b->again;
}

static int diverges(const struct dlb_kept *kept, const struct dlb_task *wanted,
                    const struct dlb_kept_rep *found, struct dlb_err *err)
{
    const struct dlb_task *task = &found->task;
    return dlb_fail(err, DLB_ERR_JOURNAL_DIVERGES, kept->journal->path, DLB_NO_OFFSET,
                    "the journal goes on with %s %u in block %u, and this run with %s %u in block "
                    "%u%s: nothing was changed",
                    kinds[task->kind] ? kinds[task->kind] : "the end of a block", task->index,
                    task->block, kinds[wanted->kind], wanted->index, wanted->block,
                    is_same_task(task, wanted) ? ", with another configuration" : "");
}

int dlb_kept_take_rep(struct dlb_kept *kept, struct dlb_kept_rep *rep,
                      struct dlb_cell_result *result, struct dlb_err *err)
{
    const json_t *record = json_array_get(kept->taken, kept->next);
    struct dlb_kept_rep found = {.task = {.kind = DLB_N_TASK_KINDS}};
    if (what_is(record) != DLB_KEPT_REPETITION || !read_rep(record, &found) ||
        !is_same_task(&found.task, &rep->task) || found.config != rep->config)
        return diverges(kept, &rep->task, &found, err);
    int rc = dlb_cell_result_from_json(result, json_object_get(record, "result"), err);
    if (rc) {
        dlb_cell_result_free(result);
        return rc;
    }
    result->document = json_incref(json_object_get(record, "document"));
    rep->took_s = found.took_s;
    rep->spent = found.spent;
    kept->next++;
    return DLB_OK;
}

int dlb_kept_take_block(struct dlb_kept *kept, uint32_t block, struct dlb_err *err)
{
    const json_t *record = json_array_get(kept->taken, kept->next);
    if (what_is(record) != DLB_KEPT_BLOCK || dlb_json_u64(record, "block", UINT64_MAX) != block)
        return dlb_fail(err, DLB_ERR_JOURNAL_DIVERGES, kept->journal->path, DLB_NO_OFFSET,
                        "block %u ends later in the journal than in this run: nothing was changed",
                        block);
    kept->next++;
    return DLB_OK;
}

void dlb_kept_take_resumed(struct dlb_kept *kept, struct dlb_kept_spent *spent)
{
    dlb_json_fields_take(json_array_get(kept->taken, kept->next), spent_fields, spent);
    kept->next++;
}

/* New reference. */
static json_t *record_of(enum dlb_kept_what what)
{
    return dlb_json_made(json_pack("{ss}", IS, names[what]));
}

/* Steals the record. */
static int append(struct dlb_kept *kept, json_t *record, struct dlb_err *err)
{
    int rc = dlb_journal_append(kept->journal, record, err);
    json_decref(record);
    return rc;
}

int dlb_kept_add_rep(struct dlb_kept *kept, const struct dlb_kept_rep *rep,
                     const struct dlb_cell_result *result, struct dlb_err *err)
{
    json_t *record = record_of(DLB_KEPT_REPETITION);
    dlb_json_put(record, "task", json_string(kinds[rep->task.kind]));
    dlb_json_fields_put(record, task_fields, &rep->task);
    dlb_json_fields_put(record, rep_fields, rep);
    dlb_json_fields_put(record, spent_fields, &rep->spent);
    dlb_json_put(record, "result", dlb_cell_result_to_json(result));
    if (result->document)
        dlb_json_put(record, "document", json_incref(result->document));
    return append(kept, record, err);
}

int dlb_kept_add_block(struct dlb_kept *kept, uint32_t block, struct dlb_err *err)
{
    json_t *record = record_of(DLB_KEPT_BLOCK);
    dlb_json_put(record, "block", json_integer(block));
    return append(kept, record, err);
}

int dlb_kept_add_resumed(struct dlb_kept *kept, const struct dlb_kept_spent *spent,
                         struct dlb_err *err)
{
    json_t *record = record_of(DLB_KEPT_RESUMED);
    char at[32] = "";
    struct tm now;
    time_t seconds = time(NULL);
    if (gmtime_r(&seconds, &now))
        (void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &now);
    dlb_json_put(record, "at", dlb_json_made(json_string(at)));
    dlb_json_fields_put(record, spent_fields, spent);
    return append(kept, record, err);
}
