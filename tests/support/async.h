/* Data sets opened for asynchronous reads, and pipelines that make them. Header-only. */
#ifndef DLB_TESTS_ASYNC_H
#define DLB_TESTS_ASYNC_H

#include "loaders/uring.h"
#include "tests/support/dataset.h"
#include "tests/support/pipeline.h"

enum { N = 90, BYTES = 3000 };

static struct generation g;
static struct dlb_dataset ds;
static bool usable; /* the kernel has io_uring, and the build */

/* The product of kinds, and the depths that make windows of one, of some and of all of a batch. */
static const char *const kinds[] = {"inline", "threads", "processes"};
static const int64_t depths[] = {1, 3, 64};

static inline int setup(void **state)
{
    struct dlb_uring *ring;
    char why[160];

    (void)fflush(NULL);
    usable = dlb_uring_open(&ring, 4, why, sizeof why);
    if (usable)
        dlb_uring_close(ring);
    return folder_make(state);
}

static inline void make_files(const char *codec)
{
    generation_set(&g, "files", codec, folder_path("data"), N, BYTES);
    assert_int_equal(generation_run(&g, 2), DLB_OK);
}

/* Opened for asynchronous reads, as the program opens it. */
static inline int open_located(const char *format, const char *codec, bool direct,
                               void *format_opts, struct dlb_err *err)
{
    struct dlb_dataset_opts opts = {.format = dataset_place(dlb_format_names, format),
                                    .codec = dataset_place(dlb_codec_names, codec),
                                    .located = true,
                                    .direct = direct};
    struct dlb_transform_opts transform = {.crop = DLB_CROP_CENTER, .size = 32};

    (void)snprintf(opts.path, sizeof opts.path, "%s", folder_path("data"));
    return dlb_dataset_open(&ds, &opts, &transform, &g.opts, format_opts, err);
}

static inline void opens(const char *format, const char *codec, bool direct, void *format_opts)
{
    struct dlb_err err;
    char text[512];

    if (open_located(format, codec, direct, format_opts, &err) != DLB_OK)
        fail_msg("%s", dlb_err_text(&err, text, sizeof text));
}

static inline struct pipeline with(int io, const char *kind)
{
    bool workers = strcmp(kind, "inline") != 0;
    return (struct pipeline){.dataset = &ds,
                             .seed = 5,
                             .checksum = true,
                             .loader = {.kind = pipeline_kind(kind),
                                        .num_workers = workers ? 2 : 0,
                                        .batch_size = 16,
                                        .shuffle = true,
                                        .io = io}};
}

static inline void runs(struct pipeline *p)
{
    char text[512];

    pipeline_run(p);
    if (p->rc != DLB_OK)
        fail_msg("%s", dlb_err_text(&p->err, text, sizeof text));
    assert_int_equal(p->out->n_checksum_mismatches, 0);
}

#endif
