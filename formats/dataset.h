/* An opened data set: format, state, shape and codec together, as loaders take it.
 *
 * Floor 2. Open and close on the control thread; read-only in between. */
#ifndef DLB_FORMATS_DATASET_H
#define DLB_FORMATS_DATASET_H

#include "formats/codec.h"
#include "formats/format.h"

enum dlb_on_error { DLB_ON_ERROR_FAIL, DLB_ON_ERROR_SKIP };

/* The `dataset` section. */
struct dlb_dataset_opts {
    int format; /* place in dlb_formats */
    int codec; /* place in dlb_codecs; ignored by a synthetic format, which has nothing to decode */
    char path[DLB_OPT_STRING_CAP];
    int access;   /* enum dlb_access; a format refuses those that it does not offer */
    int on_error; /* enum dlb_on_error: a sample that cannot be read or decoded ends the run, or is
                     skipped and counted */
    /* Not options, but derived from the loader's: */
    bool located;  /* the loader calls locate and assemble: "auto" is an access that has them */
    bool direct;   /* "auto" is DLB_ACCESS_DIRECT, and any other access is refused */
    bool in_order; /* what struct dlb_open says */
};
extern const struct dlb_opt_group dlb_dataset_group;

struct dlb_dataset {
    const struct dlb_format *format;
    const struct dlb_codec *codec;
    struct dlb_transform_opts transform;
    int on_error;
    int access; /* enum dlb_access: what "auto" stands for here */
    struct dlb_shape shape;
    uint64_t max_payload_bytes; /* of one sample in the batch, after the codec */
    struct dlb_augment augment; /* the device's part of the transform; NONE with where = "cpu" */
    void *state;                /* the format's; owned */
};

/* REMOTE_PATH if it is an address such as s3://bucket/key, and no such path exists here. */
int dlb_dataset_check_local(const char *path, struct dlb_err *err);

/* DLB_E_CONFIG unless the format offers the access. dlb_dataset_open asks it too. */
int dlb_dataset_check_access(const struct dlb_dataset_opts *opts, const struct dlb_format *format,
                             struct dlb_err *err);

/* DLB_E_MISSING when the build lacks format or codec; DLB_E_CONFIG for a combination that makes no
 * sense; else the format's own error. An empty data set is DLB_E_FORMAT. format_opts: the
 * format's own filled struct, or NULL. */
int dlb_dataset_open(struct dlb_dataset *ds, const struct dlb_dataset_opts *opts,
                     const struct dlb_transform_opts *transform,
                     const struct dlb_generate_opts *gen, const void *format_opts,
                     struct dlb_err *err);
void dlb_dataset_close(struct dlb_dataset *ds);

#endif
