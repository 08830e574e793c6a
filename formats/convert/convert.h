/* Repacking a data set: every sample of one format written by another, then read back and compared.
 *
 * Floor 2. Control thread. Bytes are passed unchanged, whatever they are. What is written lies
 * under a temporary name beside its target until each sample has been found in it again; the target
 * is there whole or not at all. Does not print and never reads the clock. */
#ifndef DLB_FORMATS_CONVERT_CONVERT_H
#define DLB_FORMATS_CONVERT_CONVERT_H

#include "core/base/err.h"
#include "formats/dataset.h"
#include "formats/format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_convert_phase { DLB_CONVERT_WRITE, DLB_CONVERT_CHECK };

struct dlb_convert_watch {
    /* Now and then, in either phase; bytes are of payload, since the phase began. */
    void (*report)(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes);
    /* A sample of the source, or with `shard` the rest of one, that cannot be read and is left
     * out. */
    void (*skipped)(void *ctx, const struct dlb_err *why, bool shard);
    /* What an earlier, killed conversion left, and was removed. */
    void (*removed)(void *ctx, const char *path);
    void *ctx;
    const atomic_bool *cancel; /* may be NULL */
};

struct dlb_convert {
    const struct dlb_dataset *from; /* open; its codec only says what counts as a sample */
    const char *from_path;
    const struct dlb_format *to;
    const void *to_opts; /* the target format's own, or NULL */
    const char *to_path;
    bool overwrite; /* what is at to_path is replaced, once all went well */
    const struct dlb_convert_watch *watch;
};

struct dlb_converted {
    uint64_t n_samples, n_bytes; /* written; bytes of all fields */
    uint64_t n_verified;         /* found again, with the same bytes and label */
    uint64_t n_skipped, n_cut_shards;
};

/* DLB_E_CONFIG for a target that is there or overlaps the source, or a format that is not written;
 * DLB_E_FORMAT when what was written differs from the source; DLB_E_CANCELLED. Nothing is left
 * behind then. *out counts in any case, but nothing where a library's process
 * (formats/convert/apart.h) crashed or was interrupted. */
int dlb_convert(const struct dlb_convert *how, struct dlb_converted *out, struct dlb_err *err);

/* Whether field `f` only repeats the sample's label in decimal ("cls" of WebDataset): formats that
 * keep the label elsewhere need not write it, and those that keep it nowhere else do. */
bool dlb_field_is_label(const struct dlb_sample *sample, uint32_t f);

/* The only field that is not the label, for formats that hold one value of a sample (`format`, for
 * the message); NULL and DLB_E_CONFIG when there are others. */
const struct dlb_field *dlb_sample_value(const struct dlb_sample *sample, const char *format,
                                         struct dlb_err *err);

#endif
