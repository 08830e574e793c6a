/* Writing data sets: parallel, resumable, whole or not at all.
 *
 * Floor 2. dlb_generate runs on the control thread and starts its own. The content of a sample
 * comes from the seed and its index alone. While it works, the target holds the marker
 * DLB_INCOMPLETE_MARK, which formats refuse to open; when all units are there, the manifest is
 * written, synced, and the marker removed. A killed gen is resumed by the same call. */
#ifndef DLB_FORMATS_GENERATE_GENERATE_H
#define DLB_FORMATS_GENERATE_GENERATE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

/* DLB_E_CONFIG when path holds something that is not this data set; DLB_OK at once when it is
 * complete already
 * (*n_written = 0); files that are gone or of another length than they were are written anew.
 * n_threads 0: one per CPU. Progress may be NULL. */
int dlb_generate(const struct dlb_gen *gen, uint32_t n_threads,
                 const struct dlb_gen_progress *progress, uint64_t *n_written, struct dlb_err *err);

/* Whether `path` holds complete data of exactly these parameters, each file of its length. */
bool dlb_generate_is_complete(const struct dlb_gen *gen);

#endif
