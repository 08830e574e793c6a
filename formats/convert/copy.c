#include "formats/convert/copy.h"

#include "core/base/mem.h"
#include "formats/convert/cursor.h"
#include "formats/convert/damage.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>

enum {
    FULL_BYTES = 128 << 10, /* about what formats write beside samples: pages, indexes, blocks */
    SIGN_SAMPLES = 64       /* of those before the range, after which a report tells of life */
};

/* Libraries may hide why a write failed, so look whether the disk has room for another sample. */
static bool is_full(const struct dlb_convert_state *state)
{
    struct statvfs fs;
    double need = 2.0 * (double)state->how->from->shape.max_sample_bytes + FULL_BYTES;

    return statvfs(state->target->parent, &fs) == 0 &&
           (double)fs.f_bavail * (double)fs.f_frsize < need;
}

/* Gives a full disk the same message, whichever writer found it. */
static int writing_failed(const struct dlb_convert_state *state, struct dlb_err *err)
{
    int code = err->sys_errno;

    if (err->status == DLB_E_IO && code != EDQUOT && code != EFBIG && is_full(state))
        code = ENOSPC;
    if (code != ENOSPC && code != EDQUOT)
        return (int)err->status;
    (void)dlb_fail(err, DLB_ERR_NO_SPACE, state->how->to_path, DLB_NO_OFFSET,
                   "%s after %llu samples; everything written was removed: make room, or choose "
                   "another place",
                   code == ENOSPC ? "the disk is full" : "the disk quota is used up",
                   (unsigned long long)state->out->n_samples);
    err->sys_errno = code;
    return DLB_E_IO;
}

struct copy {
    struct dlb_convert_state *state;
    struct dlb_convert_cursor cursor;
    struct dlb_convert_damage damage;
    void *writer;
};

static void note_damage(struct copy *copy, const struct dlb_sample *sample)
{
    const struct dlb_convert_watch *watch = copy->state->how->watch;
    struct dlb_err why;

    if (!dlb_convert_damaged(&copy->damage, sample, &why))
        return;
    copy->state->out->n_damaged++;
    watch->damaged(watch->ctx, &why);
}

static int copy_one(struct copy *copy, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_convert_state *state = copy->state;
    uint32_t n_fields;
    uint64_t n_bytes;
    uint64_t sum = dlb_convert_sample_sum(sample, &n_fields, &n_bytes);
    int rc = dlb_convert_sums_add(&state->have, sum, err);

    if (rc == DLB_OK && state->how->to->writer->add(copy->writer, sample, err) != DLB_OK)
        rc = writing_failed(state, err);
    if (rc != DLB_OK)
        return rc;
    state->fields |= n_fields > 1;
    state->out->n_samples++;
    state->out->n_bytes += n_bytes;
    state->out->n_unlabelled += !sample->labelled;
    note_damage(copy, sample);
    return DLB_OK;
}

/* Whether to continue after this error of the source. */
static bool skip(struct copy *copy, const struct dlb_err *err)
{
    struct dlb_convert_state *state = copy->state;
    const struct dlb_dataset *from = state->how->from;
    bool shard = from->shape.iterable;

    if (from->on_error != DLB_ON_ERROR_SKIP || err->status == DLB_E_NOMEM)
        return false;
    if (shard)
        state->cut.last = copy->cursor.shard; /* the next one's number */
    if (copy->cursor.before) {
        state->cut.before = copy->cursor.shard;
        state->cut.why = *err;
        return true;
    }
    *(shard ? &state->out->n_cut_shards : &state->out->n_skipped) += 1;
    state->how->watch->skipped(state->how->watch->ctx, err, shard);
    return true;
}

/* Whether to leave out a sample that was read and lacks something. */
static bool leave_out(struct dlb_convert_state *state, const struct dlb_err *err)
{
    if (state->how->from->on_error != DLB_ON_ERROR_SKIP)
        return false;
    state->out->n_skipped++;
    state->how->watch->skipped(state->how->watch->ctx, err, false);
    return true;
}

static int take_one(struct copy *copy, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_convert_state *state = copy->state;
    bool alone;
    int rc = dlb_convert_check(&state->check, sample, copy->cursor.shard, &alone, err);

    if (rc == DLB_OK)
        return copy_one(copy, sample, err);
    return alone && leave_out(state, err) ? DLB_OK : rc;
}

int dlb_convert_check_number(const struct dlb_convert *how, const struct dlb_converted *out,
                             struct dlb_err *err)
{
    uint64_t n_read = out->n_samples + out->n_skipped, n = how->from->shape.n_samples;

    if (out->n_samples == 0)
        return dlb_fail(err, DLB_ERR_SOURCE_UNREADABLE, how->from_path, DLB_NO_OFFSET,
                        "none of its samples could be read");
    if (n_read == n || out->n_cut_shards)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_SOURCE_CHANGED, how->from_path, DLB_NO_OFFSET,
                    "%llu samples were read, and it announced %llu when it was opened: remove a "
                    "manifest that is wrong",
                    (unsigned long long)n_read, (unsigned long long)n);
}

static int copy_all(struct copy *copy, struct dlb_convert_range range, struct dlb_err *err)
{
    struct dlb_convert_state *state = copy->state;
    const struct dlb_converted *out = state->out;
    struct dlb_sample sample;
    int rc = dlb_convert_cursor_open(&copy->cursor, state->how->from, range.first, range.end, err);

    while (rc == DLB_OK) {
        if (dlb_convert_is_cancelled(state->how)) {
            rc = dlb_convert_fail_cancelled(state->how, err);
            break;
        }
        rc = dlb_convert_cursor_next(&copy->cursor, &sample, err);
        if (rc == DLB_OK && !copy->cursor.before)
            rc = take_one(copy, &sample, err);
        else if (rc != DLB_OK && rc != DLB_END && skip(copy, err))
            rc = DLB_OK;
        if (!copy->cursor.before || copy->cursor.at % SIGN_SAMPLES == 0)
            dlb_convert_report(state, DLB_CONVERT_WRITE, out->n_samples + out->n_skipped,
                               range.end - range.first, out->n_bytes);
    }
    dlb_convert_cursor_close(&copy->cursor);
    return rc == DLB_END ? DLB_OK : rc;
}

static int write_all(struct copy *copy, struct dlb_convert_range range, const char *aside,
                     struct dlb_err *err)
{
    struct dlb_convert_state *state = copy->state;
    const struct dlb_convert *how = state->how;
    const struct dlb_writer *writer = how->to->writer;
    struct dlb_write write = {state->target->inside, how->to_opts, &how->from->shape, aside};

    int rc = writer->open(copy->writer, &write, err);
    if (rc != DLB_OK)
        rc = writing_failed(state, err);
    if (rc == DLB_OK)
        rc = copy_all(copy, range, err);
    if (rc == DLB_OK && !aside)
        rc = dlb_convert_check_number(how, state->out, err);
    if (rc == DLB_OK && writer->finish(copy->writer, err) != DLB_OK)
        rc = writing_failed(state, err);
    writer->close(copy->writer);
    if (rc == DLB_OK && dlb_convert_target_sync(state->target, err) != DLB_OK)
        rc = writing_failed(state, err);
    return rc;
}

int dlb_convert_copy(struct dlb_convert_state *state, struct dlb_convert_range range,
                     const char *aside, struct dlb_err *err)
{
    const struct dlb_convert *how = state->how;
    struct copy copy = {.state = state, .writer = dlb_mem_state(how->to->writer->state_bytes)};

    if (!copy.writer)
        return dlb_fail_memory(err, how->to_path, how->to->writer->state_bytes);
    dlb_convert_damage_init(&copy.damage);
    if (!copy.damage.image && !copy.damage.audio)
        state->out->n_damaged = DLB_NOT_COUNTED;
    int rc = write_all(&copy, range, aside, err);
    dlb_convert_damage_free(&copy.damage);
    free(copy.writer);
    return rc;
}
