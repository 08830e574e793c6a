/* Writing data sets: parallel, resumable, whole or not at all.
 *
 * Floor 2. dlb_generate runs on the control thread and starts its own. The content of a sample
 * comes from the seed and its index alone. While it works, the target holds the marker
 * DLB_INCOMPLETE_MARK, which formats refuse to open; when all units are there, the manifest is
 * written, synced, and the marker removed. A killed gen is resumed by the same call. */
#ifndef DLB_FORMATS_GENERATE_H
#define DLB_FORMATS_GENERATE_H

#include "bench/base/err.h"
#include "bench/base/opt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_INCOMPLETE_MARK ".dlbench-incomplete"
#define DLB_MANIFEST_NAME ".dlbench-manifest.json"

struct dlb_format;
struct dlb_codec;

/* The `generate` section. */
struct dlb_generate_opts {
    int64_t samples;
    int64_t sample_bytes; /* mean; jpeg spreads around it as photographs do, raw is exact */
    int64_t seed;
    int64_t classes; /* labels: index mod classes, shuffled by the seed */
};
extern const struct dlb_opt_group dlb_generate_group;

/* A growable byte string; zeroed is empty; owned by its holder. */
struct dlb_bytes {
    uint8_t *data;
    size_t len_bytes, cap_bytes;
};
int dlb_bytes_append(struct dlb_bytes *bytes, const void *data, size_t n_bytes,
                     struct dlb_err *err);
void dlb_bytes_free(struct dlb_bytes *bytes);

/* One generation, shared read-only by its threads. */
struct dlb_gen {
    const struct dlb_generate_opts *opts;
    const struct dlb_format *format;
    const struct dlb_codec *codec;
    const void *format_opts; /* the format's own, or NULL */
    const char *path;
    bool rewrite; /* set by the driver: what lies there may be damaged (the machine went down), so
                     every unit is written anew */
};

/* One thread's scratch and its share of the progress. */
struct dlb_gen_worker {
    struct dlb_bytes sample;
    const atomic_bool
        *stop; /* gen_unit looks at it between samples and leaves with DLB_E_CANCELLED */
    _Atomic uint64_t n_samples; /* there now, whether written or found */
    _Atomic uint64_t n_written;
    _Atomic uint64_t n_bytes; /* written, files as they are on disk */
};

struct dlb_gen_progress {
    /* Called from the control thread several times a second; `ctx` is the caller's. Units are
     * samples. */
    void (*report)(void *ctx, uint64_t n_done, uint64_t n_total, uint64_t n_bytes);
    void *ctx;
    const atomic_bool *cancel; /* set by a signal handler: threads finish their unit and
                                  dlb_generate returns DLB_E_CANCELLED */
    /* Files of complete data are gone or damaged, and will be written anew. Optional. */
    void (*damaged)(void *ctx, uint64_t n_files, const char *first);
};

/* Label of a sample of generated data. */
uint32_t dlb_gen_label(const struct dlb_generate_opts *opts, uint64_t index);

/* What gen will write in all, about. */
uint64_t dlb_gen_total_bytes(const struct dlb_gen *gen);

/* DLB_E_CONFIG when path holds something that is not this data set; DLB_OK at once when it is
 * complete already
 * (*n_written = 0); files that are gone or of another length than they were are written anew.
 * n_threads 0: one per CPU. Progress may be NULL. */
int dlb_generate(const struct dlb_gen *gen, uint32_t n_threads,
                 const struct dlb_gen_progress *progress, uint64_t *n_written, struct dlb_err *err);

/* Whether `path` holds complete data of exactly these parameters, each file of its length. */
bool dlb_generate_is_complete(const struct dlb_gen *gen);

/* DLB_E_FORMAT, with what to do, when `path` has the incomplete mark; for formats' open. */
int dlb_generate_refuse_incomplete(const char *path, struct dlb_err *err);

#endif
