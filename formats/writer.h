/* How samples of another format are written: what a format offers to `convert`.
 *
 * Floor 2. One thread, which owns the writer's state. Samples come one after the other. The path
 * does not exist before; the caller syncs what was written, reads it with the format's defaults to
 * check it, and renames it. */
#ifndef DLB_FORMATS_WRITER_H
#define DLB_FORMATS_WRITER_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_field;
struct dlb_sample;
struct dlb_shape;

/* Borrowed until close. */
struct dlb_write {
    const char *path;             /* of what is made: a file or a folder */
    const void *opts;             /* the format's own options, or NULL */
    const struct dlb_shape *from; /* of the data set that is converted */
    /* A folder of this writer's own, where other processes write to the same path at the same time,
     * which may exist: for what `join` needs of `finish`. NULL: this writer writes all samples. */
    const char *aside;
};

struct dlb_writer {
    size_t state_bytes; /* the core allocates it, zeroed, 64-byte aligned */
    bool label_each;    /* each sample has a label or none; else `add` gets a label with all samples
                           of a data set, or with none of them */

    int (*open)(void *wr, const struct dlb_write *how, struct dlb_err *err);
    int (*add)(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
    /* The last bytes, and closes the files. A format whose path is one file, and that reads nothing
     * behind its end, ends it with formats/generate/trailer.h; else `convert` cannot replace it. */
    int (*finish)(void *wr, struct dlb_err *err);
    void (*close)(void *wr); /* frees; called after any failure too */

    /* A format of several files, whose names and content depend on the numbers of their samples
     * (dlb_sample.index) alone, may be written by several processes: how many samples one file has
     * at most. NULL: by one. */
    uint64_t (*unit_samples)(const void *opts);
    /* Once all of them have finished: what only one process can write. `aside`: the folders of
     * all n. Optional. */
    int (*join)(const struct dlb_write *how, const char *const *aside, uint32_t n,
                struct dlb_err *err);
};

/* Whether field `f` only repeats the sample's label in decimal ("cls" of WebDataset). A format that
 * stores labels elsewhere need not write it. */
bool dlb_field_is_label(const struct dlb_sample *sample, uint32_t f);

/* The only field that is not the label, for formats that store one value of a sample. `format`: for
 * the message. NULL and DLB_E_CONFIG when there are several, or none. */
const struct dlb_field *dlb_sample_value(const struct dlb_sample *sample, const char *format,
                                         struct dlb_err *err);

#endif
