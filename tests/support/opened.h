/* An opened data set of any format, with one reader of it. Header-only; include after
 * support/dataset.h. */
#ifndef DLB_TESTS_OPENED_H
#define DLB_TESTS_OPENED_H

#include "tests/support/dataset.h"

struct opened_set {
    struct dlb_dataset ds;
    void *reader;
    struct dlb_sample sample;
    struct dlb_err err;
};

static const struct dlb_generate_opts opened_gen = {
    .samples = 100, .sample_bytes = 1000, .seed = 7, .classes = 10};

/* `opts` is the format's own struct, or NULL. The reader's failure is the set's. */
static inline int opened_open(struct opened_set *set, const char *format, const char *codec,
                              const char *path, const void *opts)
{
    struct dlb_dataset_opts own = {.format = dataset_place(dlb_format_names, format),
                                   .codec = dataset_place(dlb_codec_names, codec)};
    struct dlb_transform_opts transform = {.size = 32};

    memset(set, 0, sizeof *set);
    (void)snprintf(own.path, sizeof own.path, "%s", path);
    int rc = dlb_dataset_open(&set->ds, &own, &transform, &opened_gen, opts, &set->err);
    if (rc != DLB_OK)
        return rc;
    size_t n_bytes = (set->ds.format->reader->state_bytes + 63) & ~(size_t)63;
    set->reader = aligned_alloc(64, n_bytes);
    assert_non_null(set->reader);
    memset(set->reader, 0, n_bytes);
    rc = set->ds.format->reader->open(set->reader, set->ds.state, &set->err);
    if (rc != DLB_OK) {
        dataset_reader_free(&set->ds, set->reader);
        dlb_dataset_close(&set->ds);
        set->reader = NULL;
    }
    return rc;
}

static inline void opened_must(struct opened_set *set, const char *format, const char *codec,
                               const char *path, const void *opts)
{
    if (opened_open(set, format, codec, path, opts) != DLB_OK) {
        char text[512];
        fail_msg("%s", dlb_err_text(&set->err, text, sizeof text));
    }
}

static inline void opened_close(struct opened_set *set)
{
    if (set->reader)
        dataset_reader_free(&set->ds, set->reader);
    dlb_dataset_close(&set->ds);
    set->reader = NULL;
}

static inline int opened_read_to(struct opened_set *set, uint64_t index, struct dlb_dest dest)
{
    set->sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
    return set->ds.format->reader->read(set->reader, index, dest, &set->sample, &set->err);
}

static inline int opened_read(struct opened_set *set, uint64_t index)
{
    return opened_read_to(set, index, (struct dlb_dest){0});
}

static inline int opened_shard(struct opened_set *set, uint32_t shard)
{
    return set->ds.format->reader->shard_open(set->reader, shard, &set->err);
}

static inline int opened_next(struct opened_set *set)
{
    set->sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
    return set->ds.format->reader->next(set->reader, (struct dlb_dest){0}, &set->sample, &set->err);
}

/* Opening fails so; closes what is open when it does not. */
static inline void opened_refused(const char *format, const char *path, const void *opts,
                                  int status, const char *in_path, const char *words)
{
    struct opened_set set;
    int rc = opened_open(&set, format, "raw", path, opts);

    if (rc == DLB_OK)
        opened_close(&set);
    if (rc != status || !strstr(set.err.path, in_path) || !strstr(set.err.what, words))
        fail_msg("status %d, \"%s\": \"%s\"; wanted %d, \"%s\": \"%s\"", rc, set.err.path,
                 set.err.what, status, in_path, words);
}

/* The same, by the code; `figure`: a number or name that the message has to give. */
static inline void opened_refused_as(const char *format, const char *path, const void *opts,
                                     enum dlb_code code, const char *in_path, const char *figure)
{
    struct opened_set set;
    int rc = opened_open(&set, format, "raw", path, opts);

    if (rc == DLB_OK)
        opened_close(&set);
    if (rc != (int)dlb_code_status(code) || set.err.code != code ||
        !strstr(set.err.path, in_path) || !strstr(set.err.what, figure))
        fail_msg("%s, \"%s\": \"%s\"; wanted %s, \"%s\": \"%s\"", dlb_code_name(set.err.code),
                 set.err.path, set.err.what, dlb_code_name(code), in_path, figure);
}

static inline void opened_is(const struct opened_set *set, const void *data, size_t n_bytes)
{
    assert_int_equal(set->sample.n_fields, 1);
    assert_int_equal(set->sample.field[0].len_bytes, n_bytes);
    assert_memory_equal(set->sample.field[0].data, data, n_bytes);
}

/* Sample `index` of what gen writes for opts. */
static inline void opened_is_made(const struct opened_set *set, const char *codec,
                                  const struct dlb_generate_opts *opts, uint64_t index)
{
    struct dlb_bytes bytes = {0};
    struct dlb_err err;
    assert_int_equal(dlb_codec_by_name(codec)->make(opts, index, &bytes, &err), DLB_OK);
    opened_is(set, bytes.data, bytes.len_bytes);
    dlb_bytes_free(&bytes);
}

#endif
