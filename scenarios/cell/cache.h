/* The page cache around one repetition: sets the requested state, and measures it.
 *
 * Floor 4. Control thread of the cell's process. Warming is not done here: that is a pass of its
 * own over the data (DLB_MODE_WARM), which comes before. */
#ifndef DLB_SCENARIOS_CELL_CACHE_H
#define DLB_SCENARIOS_CELL_CACHE_H

#include "core/host/backing.h"
#include "core/host/osacct.h"
#include "core/host/pagecache.h"
#include "formats/dataset.h"
#include "loaders/loader.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <stdatomic.h>

/* Zeroed: nothing was measured. */
struct dlb_cell_cache {
    int asked; /* enum dlb_run_cache */
    bool on_storage, direct, dropped, ended;
    bool held; /* files of the data were open when the machine's caches were dropped */
    struct dlb_residency before, after;
    struct dlb_backing backing;
    struct dlb_os_process process_before, process_after;
    uint64_t device_before_bytes, device_after_bytes;
    uint64_t delivered_bytes;
};

/* After the data set was opened, before its loader starts: evicts for a cold run, looks at what
 * is resident, and takes the counters' first readings. Fails if run.drop_caches is set and
 * refused, or if it is cancelled. */
int dlb_cell_cache_begin(struct dlb_cell_cache *cache, const struct dlb_spec *spec,
                         const struct dlb_dataset *dataset, const atomic_bool *cancel,
                         struct dlb_err *err);

/* After the loader's stop; `stats` are what its workers read. */
void dlb_cell_cache_end(struct dlb_cell_cache *cache, const struct dlb_dataset *dataset,
                        const struct dlb_loader_stats *stats);

/* The label that follows from the measurements. */
void dlb_cell_cache_result(const struct dlb_cell_cache *cache, struct dlb_cache_result *out);

#endif
