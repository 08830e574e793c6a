#include "formats/convert/back.h"

#include "formats/codec.h"
#include "formats/convert/cursor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int place_of(const char *const *names, const char *name)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* Without options: those that say what to read (hdf5.dataset, lmdb.prefix) are about the source. */
int dlb_convert_reopen(const struct dlb_convert_state *state, struct dlb_dataset *ds,
                       struct dlb_err *err)
{
    const struct dlb_convert *how = state->how;
    struct dlb_dataset_opts opts = {.format = place_of(dlb_format_names, how->to->name),
                                    .codec = place_of(dlb_codec_names, "raw")};
    struct dlb_transform_opts transform = {.size = 1};
    struct dlb_generate_opts gen = {.samples = 1, .sample_bytes = 1, .classes = 1};

    if ((size_t)snprintf(opts.path, sizeof opts.path, "%s", state->target->inside) >=
        sizeof opts.path)
        return dlb_fail(err, DLB_ERR_TARGET_NAME_UNFIT, how->to_path, DLB_NO_OFFSET,
                        "the path is too long: %d bytes at most, including the suffix that it has "
                        "while it is written",
                        DLB_OPT_STRING_CAP - 1);
    return dlb_dataset_open(ds, &opts, &transform, &gen, NULL, err);
}

/* Files of one stem are the fields of one sample: "class_000001/00000012.jpg" and ".json". */
static bool same_stem(const char *a, const char *b)
{
    const char *slash = strrchr(a, '/');
    const char *name = slash ? slash + 1 : a;
    size_t n = (size_t)(name - a) + strcspn(name, ".");

    return strncmp(a, b, n) == 0 && (b[n] == '.' || b[n] == '\0');
}

static bool is_split(const struct dlb_convert_state *state)
{
    return state->fields && state->how->to->file_per_field;
}

/* A share begins and ends between samples, not between the files of one. */
static uint64_t whole_samples(const struct dlb_dataset *ds, uint64_t number)
{
    const struct dlb_reader *reader = ds->format->reader;
    char before[PATH_MAX] = "", path[PATH_MAX] = "";

    for (; number > 0 && number < ds->shape.n_samples; number++) {
        reader->whereabouts(ds->state, number - 1, before, sizeof before);
        reader->whereabouts(ds->state, number, path, sizeof path);
        if (!same_stem(before, path))
            break;
    }
    return number;
}

/* A format with a file for each field reads the fields of a sample as consecutive samples. */
static int gather_sums(struct dlb_convert_state *state, struct dlb_convert_cursor *cursor,
                       uint64_t n_total, struct dlb_err *err)
{
    char *last = NULL;
    struct dlb_sample sample;
    uint32_t n_fields;
    uint64_t n_bytes, n_read = 0, sum_bytes = 0;
    int rc;

    while ((rc = dlb_convert_cursor_next(cursor, &sample, err)) == DLB_OK) {
        if (dlb_convert_is_cancelled(state->how)) {
            rc = dlb_convert_fail_cancelled(state->how, err);
            break;
        }
        if (cursor->before)
            continue;
        uint64_t sum = dlb_convert_sample_sum(&sample, &n_fields, &n_bytes);
        if (last && same_stem(last, sample.path)) {
            state->got.sum[state->got.n - 1] += dlb_convert_field_sum(&sample.field[0]);
        } else {
            rc = dlb_convert_sums_add(&state->got, sum, err);
            free(last);
            last = is_split(state) ? strdup(sample.path) : NULL;
            if (rc == DLB_OK && is_split(state) && !last)
                rc = dlb_fail_memory(err, sample.path, strlen(sample.path) + 1);
        }
        if (rc != DLB_OK)
            break;
        n_read++;
        sum_bytes += n_bytes;
        dlb_convert_report(state, DLB_CONVERT_CHECK, n_read, n_total, sum_bytes);
    }
    free(last);
    return rc == DLB_END ? DLB_OK : rc;
}

int dlb_convert_read_back(struct dlb_convert_state *state, const struct dlb_dataset *ds,
                          struct dlb_convert_range range, struct dlb_err *err)
{
    struct dlb_convert_cursor cursor;

    if (is_split(state))
        range = (struct dlb_convert_range){whole_samples(ds, range.first),
                                           whole_samples(ds, range.end)};
    state->told_bytes = 0;
    int rc = dlb_convert_cursor_open(&cursor, ds, range.first, range.end, err);
    if (rc == DLB_OK)
        rc = gather_sums(state, &cursor, range.end - range.first, err);
    dlb_convert_cursor_close(&cursor);
    return rc;
}

int dlb_convert_compare(struct dlb_convert_state *state, struct dlb_err *err)
{
    const char *path = state->how->to_path;
    uint64_t n = state->have.n, n_got = state->got.n;

    if (n != n_got)
        return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, path, DLB_NO_OFFSET,
                        "checking: %llu sample%s written, %llu read back; everything written was "
                        "removed",
                        (unsigned long long)n, n == 1 ? "" : "s", (unsigned long long)n_got);
    uint64_t n_other = dlb_convert_sums_differ(&state->have, &state->got);
    state->out->n_verified = n - n_other;
    if (n_other)
        return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, path, DLB_NO_OFFSET,
                        "checking: %llu of %llu samples differ from what was written; everything "
                        "written was removed",
                        (unsigned long long)n_other, (unsigned long long)n);
    return DLB_OK;
}
