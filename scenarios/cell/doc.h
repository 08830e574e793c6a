/* What a repetition measured, as JSON.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_CELL_DOC_H
#define DLB_SCENARIOS_CELL_DOC_H

#include "core/host/osacct.h"
#include "loaders/loader.h"
#include "loaders/train/consumer.h"
#include "scenarios/cell/cache.h"

#include <jansson.h>

struct dlb_cell_facts {
    const struct dlb_consumed *consumed;       /* NULL: it did not come to that */
    const struct dlb_loader_stats *stats;      /* likewise */
    const struct dlb_loader_opts *loader_opts; /* with stats */
    const struct dlb_memory *memory;           /* likewise */
    uint64_t n_batches;                        /* that the loop took, warm-up included */
    struct dlb_os_process before, after;       /* around the consumer's loop */
    struct dlb_os_machine machine_before, machine_after;
    uint64_t peak_pss_bytes, pinned_bytes;
    uint32_t n_idle_workers;              /* for want of shards */
    const struct dlb_cell_cache *cache;   /* NULL: it did not come to that */
    const char *device_kind, *device_why; /* NULL: no device was opened */
    char device_name[96];
    json_t *gpu, *numa, *nvml; /* of a real one: its facts, where batch memory lies, and what NVML
                                  saw of the run; else NULL */
};

/* Adds every field but status, reason and error to `doc`. False when memory is short. */
bool dlb_cell_doc_fill(json_t *doc, const struct dlb_cell_facts *facts);

#endif
