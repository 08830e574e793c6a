/* Opens and reads data sets in tests, without a loader. Header-only; include after
 * support/folder.h. */
#ifndef DLB_TESTS_DATASET_H
#define DLB_TESTS_DATASET_H

#include "formats/dataset.h"
#include "formats/generate/generate.h"
#include "tests/support/folder.h"

static inline int dataset_place(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static inline int dataset_open_as(struct dlb_dataset *ds, const char *format, const char *codec,
                                  const char *path, int access, struct dlb_err *err)
{
    struct dlb_dataset_opts opts = {.format = dataset_place(dlb_format_names, format),
                                    .codec = dataset_place(dlb_codec_names, codec),
                                    .access = access};
    struct dlb_transform_opts transform = {.size = 32};
    struct dlb_generate_opts gen = {.samples = 100, .sample_bytes = 1000, .classes = 10};

    (void)snprintf(opts.path, sizeof opts.path, "%s", path);
    return dlb_dataset_open(ds, &opts, &transform, &gen, NULL, err);
}

static inline int dataset_open(struct dlb_dataset *ds, const char *format, const char *codec,
                               const char *path, struct dlb_err *err)
{
    return dataset_open_as(ds, format, codec, path, DLB_ACCESS_AUTO, err);
}

static inline void *dataset_reader(const struct dlb_dataset *ds)
{
    struct dlb_err err = {0};
    size_t n_bytes = (ds->format->reader->state_bytes + 63) & ~(size_t)63;
    void *reader = aligned_alloc(64, n_bytes);

    assert_non_null(reader);
    memset(reader, 0, n_bytes);
    assert_int_equal(ds->format->reader->open(reader, ds->state, &err), DLB_OK);
    return reader;
}

static inline void dataset_reader_free(const struct dlb_dataset *ds, void *reader)
{
    ds->format->reader->close(reader);
    free(reader);
}

struct generation {
    struct dlb_generate_opts opts;
    struct dlb_gen gen;
    uint64_t n_written;
    struct dlb_err err;
};

/* For dlb_generate(&g.gen, ...); the path is borrowed. */
static inline void generation_set(struct generation *g, const char *format, const char *codec,
                                  const char *path, int64_t samples, int64_t sample_bytes)
{
    *g = (struct generation){
        .opts = {.samples = samples, .sample_bytes = sample_bytes, .seed = 7, .classes = 5}};
    g->gen = (struct dlb_gen){.opts = &g->opts,
                              .format = dlb_format_by_name(format),
                              .codec = dlb_codec_by_name(codec),
                              .path = path};
    assert_non_null(g->gen.format);
    assert_non_null(g->gen.codec);
}

static inline int generation_run(struct generation *g, uint32_t n_threads)
{
    return dlb_generate(&g->gen, n_threads, NULL, &g->n_written, &g->err);
}

static inline bool is_built(const char *format, const char *codec)
{
    return !dlb_format_by_name(format)->missing && !dlb_codec_by_name(codec)->missing;
}

#endif
