#include "formats/convert/share.h"

#include "core/base/mem.h"
#include "formats/convert/back.h"
#include "formats/convert/copy.h"
#include "formats/convert/cursor.h"
#include "formats/convert/kept.h"
#include "formats/convert/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool dlb_convert_is_shared(const struct dlb_format *to)
{
    return to->writer && to->writer->unit_samples;
}

/* The folder of a share, beside the data in the temporary folder and of another name than they. */
static char *aside_of(const struct dlb_convert_target *target, uint32_t rank)
{
    char *path = NULL;
    int n = asprintf(&path, "%s" DLB_PART_SHARE "%u", target->inside, rank);
    return dlb_mem_check(n >= 0 ? path : NULL);
}

static struct dlb_convert_range range_of(const struct dlb_convert *how,
                                         const struct dlb_convert_step *step, uint32_t rank)
{
    return dlb_convert_range(step->seen.n_samples, how->to->writer->unit_samples(how->to_opts),
                             rank, step->n_processes);
}

static struct dlb_convert_data data_of(const struct dlb_shape *shape)
{
    return (struct dlb_convert_data){shape->n_samples, shape->total_bytes, shape->id};
}

static int check_same(const struct dlb_shape *shape, const struct dlb_convert_step *step,
                      const char *path, struct dlb_err *err)
{
    struct dlb_convert_data have = data_of(shape);

    if (have.n_samples == step->seen.n_samples && have.n_bytes == step->seen.n_bytes &&
        have.id == step->seen.id)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_RANKS_DATA, path, DLB_NO_OFFSET,
                    "is not what rank 0 sees there: %llu samples and %llu bytes, instead of %llu "
                    "and %llu",
                    (unsigned long long)have.n_samples, (unsigned long long)have.n_bytes,
                    (unsigned long long)step->seen.n_samples,
                    (unsigned long long)step->seen.n_bytes);
}

/* A share's own watch: what it finds is kept for the process that joins the shares. */
struct collection {
    const struct dlb_convert_watch *watch;
    struct dlb_convert_kept *kept;
};

static void report(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    const struct dlb_convert_watch *watch = ((struct collection *)ctx)->watch;
    watch->report(watch->ctx, phase, n_done, n_total, n_bytes);
}

static void keep(struct dlb_convert_kept *kept, enum dlb_convert_kind kind,
                 const struct dlb_err *why)
{
    if (kept->n_of[kind] == DLB_CONVERT_NOTES)
        return;
    kept->n_of[kind]++;
    kept->note[kept->n_notes++] = (struct dlb_convert_note){kind, *why};
}

static void skipped(void *ctx, const struct dlb_err *why, bool shard)
{
    keep(((struct collection *)ctx)->kept, shard ? DLB_CONVERT_CUT : DLB_CONVERT_LEFT_OUT, why);
}

static void damaged(void *ctx, const struct dlb_err *why)
{
    keep(((struct collection *)ctx)->kept, DLB_CONVERT_DAMAGED, why);
}

static int save_written(struct dlb_convert_state *state, struct dlb_convert_kept *kept,
                        const char *aside, struct dlb_err *err)
{
    kept->check = state->check;
    kept->check.log = NULL;
    kept->check.keys = (struct dlb_keys){.slot = NULL};
    kept->cut = state->cut;
    kept->n_keys = state->check.n_logged;
    kept->fields = state->fields;
    int rc = dlb_convert_kept_save(aside, kept, err);
    return rc == DLB_OK ? dlb_convert_kept_save_sums(aside, DLB_CONVERT_HAVE, &state->have, err)
                        : rc;
}

static int write_share(const struct dlb_convert *how, const struct dlb_convert_target *target,
                       const struct dlb_convert_step *step, uint32_t rank, const char *aside,
                       struct dlb_err *err)
{
    struct dlb_convert_kept *kept = dlb_mem_new(sizeof *kept);
    struct collection collection = {how->watch, kept};
    const struct dlb_convert_watch watch = {.report = report,
                                            .skipped = skipped,
                                            .damaged = damaged,
                                            .ctx = &collection,
                                            .cancel = how->watch->cancel};
    struct dlb_convert mine = *how;
    struct dlb_convert_state state;

    mine.watch = &watch;
    dlb_convert_state_init(&state, &mine, target, &kept->out);
    int rc = check_same(&how->from->shape, step, how->from_path, err);
    if (rc == DLB_OK && mkdir(aside, 0777) != 0)
        rc = dlb_fail_errno(err, aside, DLB_NO_OFFSET, "making the folder");
    FILE *keys = rc == DLB_OK ? dlb_convert_kept_keys(aside, true, err) : NULL;
    if (rc == DLB_OK && !keys)
        rc = (int)err->status;
    state.check.log = keys;
    if (rc == DLB_OK)
        rc = dlb_convert_copy(&state, range_of(how, step, rank), aside, err);
    if (keys && fclose(keys) != 0 && rc == DLB_OK)
        rc = dlb_fail_errno(err, aside, DLB_NO_OFFSET, "writing a list of keys");
    if (rc == DLB_OK)
        rc = save_written(&state, kept, aside, err);
    dlb_convert_state_free(&state);
    free(kept);
    return rc;
}

static int read_share(const struct dlb_convert *how, const struct dlb_convert_target *target,
                      const struct dlb_convert_step *step, uint32_t rank, const char *aside,
                      struct dlb_err *err)
{
    struct dlb_converted ignored = {0};
    struct dlb_convert_state state;
    struct dlb_dataset ds;

    dlb_convert_state_init(&state, how, target, &ignored);
    state.fields = step->fields;
    int rc = dlb_convert_reopen(&state, &ds, err);
    if (rc == DLB_OK) {
        rc = check_same(&ds.shape, step, target->inside, err);
        if (rc == DLB_OK)
            rc = dlb_convert_read_back(&state, &ds, range_of(how, step, rank), err);
        dlb_dataset_close(&ds);
    }
    if (rc == DLB_OK)
        rc = dlb_convert_kept_save_sums(aside, DLB_CONVERT_GOT, &state.got, err);
    dlb_convert_state_free(&state);
    return rc;
}

int dlb_convert_share(const struct dlb_convert *how, const struct dlb_convert_step *step,
                      uint32_t rank, struct dlb_err *err)
{
    struct dlb_convert_target target;
    int rc = dlb_convert_target_visit(&target, how->to_path, step->part, step->id, err);

    if (rc == DLB_OK) {
        char *aside = aside_of(&target, rank);
        rc = step->phase == DLB_CONVERT_WRITE ? write_share(how, &target, step, rank, aside, err)
                                              : read_share(how, &target, step, rank, aside, err);
        free(aside);
    }
    dlb_convert_target_close(&target);
    return rc;
}

static void add_counts(struct dlb_converted *out, const struct dlb_converted *share)
{
    out->n_samples += share->n_samples;
    out->n_bytes += share->n_bytes;
    out->n_unlabelled += share->n_unlabelled;
    out->n_skipped += share->n_skipped;
    out->n_cut_shards += share->n_cut_shards;
    if (share->n_damaged == DLB_NOT_COUNTED || out->n_damaged == DLB_NOT_COUNTED)
        out->n_damaged = DLB_NOT_COUNTED;
    else
        out->n_damaged += share->n_damaged;
}

/* A shard that several shares have parts of is cut for all behind the damage, and counts once. */
static void take_cut(struct dlb_convert_state *state, const struct dlb_convert_cut *cut)
{
    const struct dlb_convert_watch *watch = state->how->watch;

    if (cut->before && cut->before != state->cut.last) {
        state->out->n_cut_shards++;
        watch->skipped(watch->ctx, &cut->why, true);
    }
    if (cut->last)
        state->cut.last = cut->last;
}

static void take_notes(const struct dlb_convert_watch *watch, const struct dlb_convert_kept *kept)
{
    for (uint32_t i = 0; i < kept->n_notes; i++) {
        const struct dlb_convert_note *note = &kept->note[i];
        if (note->kind == DLB_CONVERT_DAMAGED)
            watch->damaged(watch->ctx, &note->why);
        else
            watch->skipped(watch->ctx, &note->why, note->kind == DLB_CONVERT_CUT);
    }
}

/* Reads the sample again, so that the message names it as where one process finds it. */
static int refuse_key(struct dlb_convert_state *state, const struct dlb_convert_seen *seen,
                      struct dlb_err *err)
{
    struct dlb_convert_cursor cursor;
    struct dlb_sample sample;
    bool alone;

    int rc = dlb_convert_cursor_open(&cursor, state->how->from, seen->index, seen->index + 1, err);
    while (rc == DLB_OK) {
        rc = dlb_convert_cursor_next(&cursor, &sample, err);
        if (rc == DLB_OK && !cursor.before)
            break;
    }
    if (rc == DLB_OK)
        rc = dlb_convert_check(&state->check, &sample, seen->shard, &alone, err);
    if (rc == DLB_OK || rc == DLB_END)
        rc = dlb_fail(err, DLB_ERR_SOURCE_CHANGED, state->how->from_path, DLB_NO_OFFSET,
                      "sample %llu is another one than when it was written",
                      (unsigned long long)seen->index);
    dlb_convert_cursor_close(&cursor);
    return rc;
}

static int take_keys(struct dlb_convert_state *state, const struct dlb_convert_kept *kept,
                     const char *aside, struct dlb_err *err)
{
    struct dlb_convert_seen seen = {0};
    FILE *keys = dlb_convert_kept_keys(aside, false, err);
    int rc = keys ? DLB_OK : (int)err->status;

    for (uint64_t i = 0; rc == DLB_OK && i < kept->n_keys; i++) {
        errno = 0;
        if (fread(&seen, sizeof seen, 1, keys) != 1)
            rc = errno ? dlb_fail_errno(err, aside, DLB_NO_OFFSET, "reading a list of keys")
                       : dlb_fail(err, DLB_ERR_FORMAT, aside, DLB_NO_OFFSET,
                                  "its list of keys ends after %llu of %llu", (unsigned long long)i,
                                  (unsigned long long)kept->n_keys);
        else
            rc = dlb_convert_check_seen(&state->check, &kept->check, &seen, state->how->from_path,
                                        err);
    }
    if (keys)
        (void)fclose(keys);
    return rc == DLB_END ? refuse_key(state, &seen, err) : rc;
}

/* What one share found, behind those before it. */
static int take_share(struct dlb_convert_state *state, const char *aside, struct dlb_err *err)
{
    struct dlb_convert_kept *kept = dlb_mem_new(sizeof *kept);
    int rc = dlb_convert_kept_load(aside, kept, err);

    if (rc == DLB_OK) {
        add_counts(state->out, &kept->out);
        take_cut(state, &kept->cut);
        take_notes(state->how->watch, kept);
        state->fields |= kept->fields;
        rc = take_keys(state, kept, aside, err);
    }
    if (rc == DLB_OK)
        rc = dlb_convert_facet_join(&state->check.payload, &kept->check.payload, err);
    if (rc == DLB_OK && !state->check.label_each)
        rc = dlb_convert_facet_join(&state->check.label, &kept->check.label, err);
    if (rc == DLB_OK)
        rc = dlb_convert_kept_load_sums(aside, DLB_CONVERT_HAVE, &state->have, err);
    free(kept);
    return rc;
}

static int join(struct dlb_convert_state *state, char *const *aside, struct dlb_err *err)
{
    const struct dlb_convert *how = state->how;
    const struct dlb_writer *writer = how->to->writer;
    const struct dlb_write write = {state->target->inside, how->to_opts, &how->from->shape, NULL};
    int rc = DLB_OK;

    for (uint32_t i = 0; rc == DLB_OK && i < how->n_processes; i++)
        rc = take_share(state, aside[i], err);
    state->out->n_forgotten_keys = state->check.n_forgotten;
    if (rc == DLB_OK)
        rc = dlb_convert_check_number(how, state->out, err);
    if (rc == DLB_OK && writer->join)
        rc = writer->join(&write, (const char *const *)aside, how->n_processes, err);
    return rc;
}

static int read_back(struct dlb_convert_state *state, struct dlb_convert_step *step,
                     char *const *aside, struct dlb_err *err)
{
    const struct dlb_convert *how = state->how;
    struct dlb_dataset ds;
    int rc = dlb_convert_reopen(state, &ds, err);

    if (rc != DLB_OK)
        return rc;
    step->phase = DLB_CONVERT_CHECK;
    step->seen = data_of(&ds.shape);
    step->fields = state->fields;
    state->out->element = ds.shape.element;
    dlb_dataset_close(&ds);
    rc = how->together(how->watch->ctx, step, err);
    for (uint32_t i = 0; rc == DLB_OK && i < how->n_processes; i++)
        rc = dlb_convert_kept_load_sums(aside[i], DLB_CONVERT_GOT, &state->got, err);
    return rc == DLB_OK ? dlb_convert_compare(state, err) : rc;
}

int dlb_convert_together(const struct dlb_convert *how, const struct dlb_convert_target *target,
                         struct dlb_converted *out, struct dlb_err *err)
{
    struct dlb_convert_step step = {.phase = DLB_CONVERT_WRITE,
                                    .part = target->part,
                                    .id = target->id,
                                    .n_processes = how->n_processes,
                                    .seen = data_of(&how->from->shape)};
    char **aside = dlb_mem_array(how->n_processes, sizeof *aside);
    struct dlb_convert_state state;

    for (uint32_t i = 0; i < how->n_processes; i++)
        aside[i] = aside_of(target, i);
    dlb_convert_state_init(&state, how, target, out);
    int rc = how->together(how->watch->ctx, &step, err);
    if (rc == DLB_OK)
        rc = join(&state, aside, err);
    if (rc == DLB_OK)
        rc = read_back(&state, &step, aside, err);
    dlb_convert_state_free(&state);
    for (uint32_t i = 0; i < how->n_processes; i++)
        free(aside[i]);
    free(aside);
    return rc;
}
