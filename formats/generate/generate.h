/* Writing data sets: parallel, resumable, whole or not at all.
 *
 * Floor 2. dlb_generate runs on the control thread and starts threads of its own. The content of a
 * sample depends on the seed and its index alone. Until all units exist the target holds
 * DLB_INCOMPLETE_MARK (mark.h), and formats refuse to open it. Then the manifest is written and
 * synced, and the mark removed. The same call resumes a gen that was killed. */
#ifndef DLB_FORMATS_GENERATE_GENERATE_H
#define DLB_FORMATS_GENERATE_GENERATE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdatomic.h>
#include <stdint.h>

struct dlb_gen_progress {
    /* Called from the control thread several times a second; `ctx` is the caller's. Units are
     * samples. */
    void (*report)(void *ctx, uint64_t n_done, uint64_t n_total, uint64_t n_bytes);
    void *ctx;
    const atomic_bool *cancel; /* set by a signal handler: threads stop and dlb_generate returns
                                  DLB_E_CANCELLED */
    /* Files of a complete data set are missing or damaged, and will be written again. Optional. */
    void (*damaged)(void *ctx, uint64_t n_files, const char *first);
    /* Has other processes write units with this one (dlb_generate_share), before it writes those
     * that are still missing. `id`: of the folder, for their shares. *n_written: samples that they
     * wrote. NULL: there are none. */
    int (*together)(void *ctx, const struct dlb_gen *gen, const char *id, uint64_t *n_written,
                    struct dlb_err *err);
};

/* Of a data set that another process has begun and will end: every size-th unit from unit `rank`
 * on, synced to storage. Formats of one unit have nothing to share. DLB_ERR_RANKS_DATA if the
 * folder is not that process's. */
struct dlb_gen_share {
    uint32_t rank, size;
    const char *id; /* what that process was told of the folder */
};
int dlb_generate_share(const struct dlb_gen *gen, const struct dlb_gen_share *share,
                       const struct dlb_gen_progress *progress, uint64_t *n_written,
                       struct dlb_err *err);

/* DLB_E_CONFIG when gen->path holds something else than this data set. DLB_OK at once, with
 * *n_written = 0, when it is complete. Files that are missing or have another length are written
 * again. n_threads 0: one per CPU. `progress` may be NULL. */
int dlb_generate(const struct dlb_gen *gen, uint32_t n_threads,
                 const struct dlb_gen_progress *progress, uint64_t *n_written, struct dlb_err *err);

#endif
