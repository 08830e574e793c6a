#include "formats/convert/convert.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "formats/codec.h"
#include "formats/convert/apart.h"
#include "formats/convert/check.h"
#include "formats/convert/damage.h"
#include "formats/convert/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* FULL_BYTES: about what formats write beside samples (pages, indexes, blocks). */
#define MOST_KEY_BYTES (UINT64_C(1) << 30) /* of at least 32 million samples */
enum { REPORT_SAMPLES = 64, REPORT_BYTES = 4 << 20, FULL_BYTES = 128 << 10 };

/* All samples of a data set in its own order. */
struct cursor {
    const struct dlb_dataset *ds;
    void *reader;
    uint64_t index; /* map-style: the next one */
    uint32_t shard; /* iterable: the one that is read, or comes next */
    bool in_shard;
};

/* A hash of each sample that was read or written. */
struct sums {
    uint64_t *sum;
    uint64_t n, cap;
};

struct state {
    const struct dlb_convert *how;
    struct dlb_converted *out;
    const struct dlb_convert_target *target;
    struct dlb_convert_check check;
    struct dlb_convert_damage damage;
    struct sums have, got;
    uint64_t told_bytes; /* at the last report */
    bool fields;         /* some sample has several fields beside its label */
};

static int cursor_open(struct cursor *cursor, const struct dlb_dataset *ds, struct dlb_err *err)
{
    *cursor = (struct cursor){.ds = ds, .reader = dlb_mem_state(ds->format->reader->state_bytes)};
    if (!cursor->reader)
        return dlb_fail_memory(err, NULL, ds->format->reader->state_bytes);
    return ds->format->reader->open(cursor->reader, ds->state, err);
}

static void cursor_close(struct cursor *cursor)
{
    if (cursor->reader)
        cursor->ds->format->reader->close(cursor->reader);
    free(cursor->reader);
    cursor->reader = NULL;
}

/* DLB_END after the last one. After an error the next call continues after the sample, or the
 * shard, that could not be read. */
static int cursor_next(struct cursor *cursor, struct dlb_sample *sample, struct dlb_err *err)
{
    const struct dlb_reader *reader = cursor->ds->format->reader;
    const struct dlb_shape *shape = &cursor->ds->shape;
    const struct dlb_dest none = {0};

    *sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
    if (!shape->iterable)
        return cursor->index == shape->n_samples
                   ? DLB_END
                   : reader->read(cursor->reader, cursor->index++, none, sample, err);
    for (;;) {
        if (!cursor->in_shard && cursor->shard == shape->n_shards)
            return DLB_END;
        int rc = DLB_OK;
        if (!cursor->in_shard)
            rc = reader->shard_open(cursor->reader, cursor->shard, err);
        cursor->in_shard = true;
        if (rc == DLB_OK)
            rc = reader->next(cursor->reader, none, sample, err);
        if (rc == DLB_OK)
            return rc;
        cursor->shard++;
        cursor->in_shard = false;
        if (rc != DLB_END)
            return rc;
    }
}

static int sums_add(struct sums *sums, uint64_t sum, struct dlb_err *err)
{
    if (sums->n == sums->cap) {
        uint64_t cap = sums->cap ? sums->cap * 2 : 1024;
        uint64_t *grown = realloc(sums->sum, cap * sizeof *grown);
        if (!grown)
            return dlb_fail_memory(err, NULL, cap * sizeof *grown);
        sums->sum = grown;
        sums->cap = cap;
    }
    sums->sum[sums->n++] = sum;
    return DLB_OK;
}

static uint64_t field_sum(const struct dlb_field *field)
{
    return dlb_mix64(dlb_hash64(field->data, field->len_bytes, field->len_bytes));
}

/* Does not depend on the order of the fields, which formats need not keep. */
static uint64_t sample_sum(const struct dlb_sample *sample, uint32_t *n_fields, uint64_t *n_bytes)
{
    uint64_t sum = sample->labelled ? dlb_mix64(sample->label + DLB_GOLDEN) : 0;

    *n_fields = 0;
    *n_bytes = 0;
    for (uint32_t f = 0; f < sample->n_fields; f++) {
        *n_bytes += sample->field[f].len_bytes;
        if (dlb_field_is_label(sample, f))
            continue;
        sum += field_sum(&sample->field[f]);
        ++*n_fields;
    }
    return sum;
}

static bool cancelled(const struct dlb_convert *how)
{
    const atomic_bool *cancel = how->watch->cancel;
    return cancel && atomic_load_explicit(cancel, memory_order_relaxed);
}

static int fail_cancelled(const struct dlb_convert *how, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_CANCELLED, how->to_path, DLB_NO_OFFSET,
                    "interrupted; everything written was removed");
}

static void report(struct state *state, enum dlb_convert_phase phase, uint64_t n_done,
                   uint64_t n_total, uint64_t n_bytes)
{
    if (n_done % REPORT_SAMPLES && n_done != n_total && n_bytes - state->told_bytes < REPORT_BYTES)
        return;
    state->told_bytes = n_bytes;
    state->how->watch->report(state->how->watch->ctx, phase, n_done, n_total, n_bytes);
}

/* Libraries may hide why a write failed, so look whether the disk has room for another sample. */
static bool is_full(const struct state *state)
{
    struct statvfs fs;
    double need = 2.0 * (double)state->how->from->shape.max_sample_bytes + FULL_BYTES;

    return statvfs(state->target->parent, &fs) == 0 &&
           (double)fs.f_bavail * (double)fs.f_frsize < need;
}

/* Gives a full disk the same message, whichever writer found it. */
static int writing_failed(const struct state *state, struct dlb_err *err)
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

static void note_damage(struct state *state, const struct dlb_sample *sample)
{
    struct dlb_err why;
    if (!dlb_convert_damaged(&state->damage, sample, &why))
        return;
    state->out->n_damaged++;
    state->how->watch->damaged(state->how->watch->ctx, &why);
}

static int copy_one(struct state *state, void *writer, const struct dlb_sample *sample,
                    struct dlb_err *err)
{
    uint32_t n_fields;
    uint64_t n_bytes;
    int rc = sums_add(&state->have, sample_sum(sample, &n_fields, &n_bytes), err);

    if (rc == DLB_OK && state->how->to->writer->add(writer, sample, err) != DLB_OK)
        rc = writing_failed(state, err);
    if (rc != DLB_OK)
        return rc;
    state->fields |= n_fields > 1;
    state->out->n_samples++;
    state->out->n_bytes += n_bytes;
    state->out->n_unlabelled += !sample->labelled;
    note_damage(state, sample);
    return DLB_OK;
}

/* Whether to continue after this error of the source. */
static bool skip(struct state *state, const struct dlb_err *err)
{
    const struct dlb_dataset *from = state->how->from;
    bool shard = from->shape.iterable;

    if (from->on_error != DLB_ON_ERROR_SKIP || err->status == DLB_E_NOMEM)
        return false;
    *(shard ? &state->out->n_cut_shards : &state->out->n_skipped) += 1;
    state->how->watch->skipped(state->how->watch->ctx, err, shard);
    return true;
}

/* Whether to leave out a sample that was read and lacks something. */
static bool leave_out(struct state *state, const struct dlb_err *err)
{
    if (state->how->from->on_error != DLB_ON_ERROR_SKIP)
        return false;
    state->out->n_skipped++;
    state->how->watch->skipped(state->how->watch->ctx, err, false);
    return true;
}

static int take_one(struct state *state, void *writer, const struct dlb_sample *sample,
                    uint32_t shard, struct dlb_err *err)
{
    bool alone;
    int rc = dlb_convert_check(&state->check, sample, shard, &alone, err);

    if (rc == DLB_OK)
        return copy_one(state, writer, sample, err);
    return alone && leave_out(state, err) ? DLB_OK : rc;
}

/* That every announced sample was read: the source's list of its samples may be wrong. */
static int check_number(const struct state *state, struct dlb_err *err)
{
    const struct dlb_converted *out = state->out;
    uint64_t n_read = out->n_samples + out->n_skipped, n = state->how->from->shape.n_samples;

    if (out->n_samples == 0)
        return dlb_fail(err, DLB_ERR_SOURCE_UNREADABLE, state->how->from_path, DLB_NO_OFFSET,
                        "none of its samples could be read");
    if (n_read == n || out->n_cut_shards)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_SOURCE_CHANGED, state->how->from_path, DLB_NO_OFFSET,
                    "%llu samples were read, and it announced %llu when it was opened: remove a "
                    "manifest that is wrong",
                    (unsigned long long)n_read, (unsigned long long)n);
}

static int copy_all(struct state *state, void *writer, struct dlb_err *err)
{
    const struct dlb_convert *how = state->how;
    const uint64_t n_total = how->from->shape.n_samples;
    struct dlb_sample sample;
    struct cursor cursor;
    int rc = cursor_open(&cursor, how->from, err);

    while (rc == DLB_OK) {
        if (cancelled(state->how)) {
            rc = fail_cancelled(state->how, err);
            break;
        }
        rc = cursor_next(&cursor, &sample, err);
        if (rc == DLB_OK)
            rc = take_one(state, writer, &sample, cursor.shard, err);
        else if (rc != DLB_END && skip(state, err))
            rc = DLB_OK;
        report(state, DLB_CONVERT_WRITE, state->out->n_samples + state->out->n_skipped, n_total,
               state->out->n_bytes);
    }
    cursor_close(&cursor);
    return rc == DLB_END ? check_number(state, err) : rc;
}

static int write_all(struct state *state, struct dlb_err *err)
{
    const struct dlb_format *to = state->how->to;
    struct dlb_write how = {state->target->inside, state->how->to_opts, &state->how->from->shape};
    void *writer = dlb_mem_state(to->writer->state_bytes);

    if (!writer)
        return dlb_fail_memory(err, state->how->to_path, to->writer->state_bytes);
    int rc = to->writer->open(writer, &how, err);
    if (rc != DLB_OK)
        rc = writing_failed(state, err);
    if (rc == DLB_OK)
        rc = copy_all(state, writer, err);
    if (rc == DLB_OK && to->writer->finish(writer, err) != DLB_OK)
        rc = writing_failed(state, err);
    to->writer->close(writer);
    free(writer);
    if (rc == DLB_OK && dlb_convert_target_sync(state->target, err) != DLB_OK)
        rc = writing_failed(state, err);
    return rc;
}

static int place_of(const char *const *names, const char *name)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* Without options: those that say what to read (hdf5.dataset, lmdb.prefix) are about the source. */
static int reopen(struct state *state, struct dlb_dataset *ds, struct dlb_err *err)
{
    const struct dlb_convert *how = state->how;
    struct dlb_dataset_opts opts = {.format = place_of(dlb_format_names, how->to->name),
                                    .codec = place_of(dlb_codec_names, "raw")};
    struct dlb_generate_opts gen = {.samples = 1, .sample_bytes = 1, .classes = 1};

    if ((size_t)snprintf(opts.path, sizeof opts.path, "%s", state->target->inside) >=
        sizeof opts.path)
        return dlb_fail(err, DLB_ERR_TARGET_NAME_UNFIT, how->to_path, DLB_NO_OFFSET,
                        "the path is too long: %d bytes at most, including the suffix that it has "
                        "while it is written",
                        DLB_OPT_STRING_CAP - 1);
    return dlb_dataset_open(ds, &opts, &how->from->transform, &gen, NULL, err);
}

/* Files of one stem are the fields of one sample: "class_000001/00000012.jpg" and ".json". */
static bool same_stem(const char *a, const char *b)
{
    const char *slash = strrchr(a, '/');
    const char *name = slash ? slash + 1 : a;
    size_t n = (size_t)(name - a) + strcspn(name, ".");

    return strncmp(a, b, n) == 0 && (b[n] == '.' || b[n] == '\0');
}

/* A format with a file for each field reads the fields of a sample as consecutive samples. */
static int gather_sums(struct state *state, struct cursor *cursor, struct dlb_err *err)
{
    char *last = NULL;
    struct dlb_sample sample;
    uint32_t n_fields;
    uint64_t n_bytes, sum_bytes = 0;
    int rc;

    while ((rc = cursor_next(cursor, &sample, err)) == DLB_OK) {
        uint64_t sum = sample_sum(&sample, &n_fields, &n_bytes);
        sum_bytes += n_bytes;
        if (cancelled(state->how)) {
            rc = fail_cancelled(state->how, err);
            break;
        }
        bool split = state->fields && state->how->to->file_per_field;
        if (split && last && same_stem(last, sample.path)) {
            state->got.sum[state->got.n - 1] += field_sum(&sample.field[0]);
            continue;
        }
        rc = sums_add(&state->got, sum, err);
        if (rc == DLB_OK && split) {
            free(last);
            last = strdup(sample.path);
            if (!last)
                rc = dlb_fail_memory(err, sample.path, strlen(sample.path) + 1);
        }
        if (rc != DLB_OK)
            break;
        report(state, DLB_CONVERT_CHECK, state->got.n, state->have.n, sum_bytes);
    }
    free(last);
    return rc == DLB_END ? DLB_OK : rc;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The samples must be equal, in any order: some formats have an order of their own (files: by
 * class). */
static int compare(struct state *state, struct dlb_err *err)
{
    struct sums *have = &state->have, *got = &state->got;

    if (have->n != got->n)
        return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, state->how->to_path, DLB_NO_OFFSET,
                        "checking: %llu sample%s written, %llu read back; everything written was "
                        "removed",
                        (unsigned long long)have->n, have->n == 1 ? "" : "s",
                        (unsigned long long)got->n);
    state->out->n_verified = have->n;
    if (have->n == 0 || memcmp(have->sum, got->sum, have->n * sizeof *have->sum) == 0)
        return DLB_OK;
    qsort(have->sum, have->n, sizeof *have->sum, ascending);
    qsort(got->sum, got->n, sizeof *got->sum, ascending);
    uint64_t n_other = 0;
    for (uint64_t i = 0, k = 0; i < have->n; i++) {
        while (k < got->n && got->sum[k] < have->sum[i])
            k++;
        bool found = k < got->n && got->sum[k] == have->sum[i];
        k += found;
        n_other += !found;
    }
    state->out->n_verified = have->n - n_other;
    if (n_other)
        return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, state->how->to_path, DLB_NO_OFFSET,
                        "checking: %llu of %llu samples differ from what was written; everything "
                        "written was removed",
                        (unsigned long long)n_other, (unsigned long long)have->n);
    return DLB_OK;
}

static int verify(struct state *state, struct dlb_err *err)
{
    struct dlb_dataset ds;
    struct cursor cursor;

    state->told_bytes = 0;
    int rc = reopen(state, &ds, err);
    if (rc != DLB_OK)
        return rc;
    rc = cursor_open(&cursor, &ds, err);
    if (rc == DLB_OK)
        rc = gather_sums(state, &cursor, err);
    cursor_close(&cursor);
    dlb_dataset_close(&ds);
    return rc == DLB_OK ? compare(state, err) : rc;
}

static int check_writer(const struct dlb_format *to, struct dlb_err *err)
{
    char have[80] = "";

    if (to->missing)
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "--format %s: %s", to->name,
                        to->missing);
    if (to->writer)
        return DLB_OK;
    for (size_t i = 0; dlb_formats[i]; i++) {
        size_t len = strlen(have);
        if (dlb_formats[i]->writer)
            (void)snprintf(have + len, sizeof have - len, "%s%s", len ? ", " : "",
                           dlb_formats[i]->name);
    }
    return dlb_fail(err, DLB_ERR_CONVERT_FORMAT_UNFIT, NULL, DLB_NO_OFFSET,
                    "--format %s: nothing can be converted to it; this build converts to: %s",
                    to->name, have);
}

/* Writes and checks the data, under the target's temporary name. */
static int work(const struct dlb_convert *how, const struct dlb_convert_target *target,
                struct dlb_converted *out, struct dlb_err *err)
{
    struct state state = {
        .how = how,
        .out = out,
        .target = target,
        .check = {.label_each = how->to->writer->label_each, .most_key_bytes = MOST_KEY_BYTES}};
    dlb_convert_damage_init(&state.damage);
    int rc = write_all(&state, err);

    if (rc == DLB_OK)
        rc = verify(&state, err);
    if (!state.damage.image && !state.damage.audio)
        out->n_damaged = DLB_NOT_COUNTED;
    dlb_convert_damage_free(&state.damage);
    out->n_forgotten_keys = state.check.n_forgotten;
    dlb_convert_check_free(&state.check);
    free(state.have.sum);
    free(state.got.sum);
    return rc;
}

int dlb_convert(const struct dlb_convert *how, struct dlb_converted *out, struct dlb_err *err)
{
    struct dlb_convert_target target = {.mark_fd = -1};

    *out = (struct dlb_converted){0};
    int rc = check_writer(how->to, err);
    if (rc == DLB_OK)
        rc = dlb_convert_target_open(&target, how->to_path, how->from_path, how->overwrite,
                                     how->watch->removed, how->watch->ctx, err);
    if (rc == DLB_OK && how->from->shape.library[0])
        rc = dlb_convert_apart(work, how, &target, out, err);
    else if (rc == DLB_OK)
        rc = work(how, &target, out, err);
    if (rc == DLB_E_CANCELLED || (rc == DLB_OK && cancelled(how)))
        rc = fail_cancelled(how, err);
    if (rc == DLB_OK)
        rc = dlb_convert_target_commit(&target, err);
    dlb_convert_target_close(&target);
    return rc;
}
