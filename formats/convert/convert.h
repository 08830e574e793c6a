/* Converts a data set: every sample of one format is written by another, read back and compared.
 *
 * Floor 2. Control thread. Samples' bytes are copied unchanged. The data are written under a
 * temporary name beside the target and renamed once each sample was read back, so the target exists
 * whole or not at all. Does not print and never reads the clock. */
#ifndef DLB_FORMATS_CONVERT_CONVERT_H
#define DLB_FORMATS_CONVERT_CONVERT_H

#include "core/base/err.h"
#include "formats/convert/leftover.h"
#include "formats/dataset.h"
#include "formats/format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_convert_phase { DLB_CONVERT_WRITE, DLB_CONVERT_CHECK };

struct dlb_convert_watch {
    /* Called from time to time in both phases; n_bytes: payload since the phase began. */
    void (*report)(void *ctx, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes);
    /* A sample of the source, or with `shard` the rest of a shard, cannot be read and is skipped.
     */
    void (*skipped)(void *ctx, const struct dlb_err *why, bool shard);
    /* A sample is written as it is, although an image or a clip in it is damaged. */
    void (*damaged)(void *ctx, const struct dlb_err *why);
    /* What a killed conversion left, or what this one replaced. May be NULL. */
    dlb_convert_left_fn *left;
    void *ctx;
    const atomic_bool *cancel; /* may be NULL */
};

/* What identifies a data set, as the first of several processes sees it. */
struct dlb_convert_data {
    uint64_t n_samples, n_bytes, id;
};

/* A step of a conversion by several processes. */
struct dlb_convert_step {
    enum dlb_convert_phase phase;
    const char *part, *id; /* the temporary folder, and what was drawn for it; borrowed */
    uint32_t n_processes;
    struct dlb_convert_data seen; /* the source, or when checking the target */
    bool fields;                  /* when checking: some sample has several fields */
};

struct dlb_convert {
    const struct dlb_dataset *from; /* open; its codec only decides which files are samples */
    const char *from_path;
    const struct dlb_format *to;
    const void *to_opts; /* the target format's own, or NULL */
    const char *to_path;
    bool overwrite; /* replaces to_path, once all succeeded */
    const struct dlb_convert_watch *watch;
    /* Has n_processes do dlb_convert_share, each with a rank of its own, and returns when all have
     * ended; ctx: the watch's. NULL: this process converts alone. */
    int (*together)(void *ctx, const struct dlb_convert_step *step, struct dlb_err *err);
    uint32_t n_processes;
};

struct dlb_converted {
    uint64_t n_samples, n_bytes; /* written; bytes of all fields */
    uint64_t n_verified;         /* read back with the same bytes and label */
    uint64_t n_unlabelled;       /* written without a label, because the source gives none */
    uint64_t n_skipped, n_cut_shards;
    uint64_t
        n_damaged;             /* written, with an image or a clip that is damaged
                                  (formats/convert/damage.h);        DLB_NOT_COUNTED: this build cannot tell */
    uint32_t element;          /* enum dlb_element of the target's samples, as it was read back */
    uint64_t n_forgotten_keys; /* not compared with later shards' keys: formats/convert/check.h */
};

/* DLB_E_CONFIG for a target that exists or overlaps the source, or a format without a writer;
 * DLB_E_FORMAT when samples lack what others have (formats/convert/check.h), or the data read back
 * differ from the source; DLB_E_CANCELLED. On failure
 * everything written is removed. *out is filled in any case, but stays zero when the child process
 * of a library (formats/convert/apart.h) crashed or was interrupted. */
int dlb_convert(const struct dlb_convert *how, struct dlb_converted *out, struct dlb_err *err);

/* Whether several processes can write this format together. */
bool dlb_convert_is_shared(const struct dlb_format *to);

/* One process's share of a step: a range of the source's samples, or of the target's. What it finds
 * is left in the temporary folder for dlb_convert, whose watch hears of it; `how`'s own watch hears
 * of progress alone. `how` has no open source when checking. DLB_ERR_RANKS_DATA, and nothing is
 * written, if this process sees another folder or another source. */
int dlb_convert_share(const struct dlb_convert *how, const struct dlb_convert_step *step,
                      uint32_t rank, struct dlb_err *err);

#endif
