/* Fills a cell's result from the structs that its process has at the end.
 *
 * Floor 4, private to scenarios/cell. Control thread. */
#ifndef DLB_SCENARIOS_CELL_FILL_H
#define DLB_SCENARIOS_CELL_FILL_H

#include "core/host/osacct.h"
#include "core/host/strain.h"
#include "core/measure/traceml.h"
#include "loaders/loader.h"
#include "loaders/train/consumer.h"
#include "scenarios/cell/cache.h"
#include "scenarios/cell/cell_result.h"

struct dlb_cell_facts {
    const struct dlb_consumed *consumed;       /* NULL: the loop was not reached */
    const struct dlb_loader_stats *stats;      /* NULL: workers were not started, or did not end */
    const struct dlb_loader_opts *loader_opts; /* with stats */
    const struct dlb_memory *memory;           /* NULL: no loader was started */
    const struct dlb_cell_cache *cache;        /* NULL: the files were not examined */
    uint64_t n_batches;                        /* that the loop took, warm-up included */
    struct dlb_os_process before, after;       /* around the consumer's loop */
    struct dlb_os_strain strain_before, strain_after;
    uint64_t peak_pss_bytes, pinned_bytes;
    struct dlb_traceml_memory growth;     /* of private memory, over the loop */
    uint32_t n_idle_workers;              /* workers without a shard */
    const char *device_kind, *device_why; /* NULL: no device was opened */
    char device_name[96];
    json_t *python;            /* of another program that loads (dlb_loader.describe); else NULL */
    json_t *gpu, *numa, *nvml; /* of a real device: its facts, where batch memory lies, and what
                                  NVML saw of the run; else NULL */
    json_t *ran;               /* of a real device: what it did; else NULL */
};

/* Sets every part that was reached; status and reason are the caller's. */
void dlb_cell_fill(struct dlb_cell_result *result, const struct dlb_cell_facts *facts);

/* Owned by the caller. */
struct dlb_cell_hists *dlb_cell_fill_hists(const struct dlb_cell_facts *facts);

#endif
