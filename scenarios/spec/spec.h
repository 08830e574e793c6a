/* What one cell is: every section of the configuration, resolved and typed.
 *
 * Floor 4. Plain values, copied by assignment; any thread. */
#ifndef DLB_SCENARIOS_SPEC_SPEC_H
#define DLB_SCENARIOS_SPEC_SPEC_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "formats/dataset.h"
#include "formats/generator.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"
#include "scenarios/spec/accelerators.h"
#include "scenarios/spec/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* What the page cache is to hold of the data before each repetition (`run.cache`). */
enum dlb_run_cache { DLB_RUN_AS_IS, DLB_RUN_WARM, DLB_RUN_COLD };
extern const char *const dlb_run_cache_names[]; /* ends with NULL */

/* The `run` section. */
struct dlb_run_opts {
    int64_t epochs;
    int64_t max_batches;    /* measured of each accelerator, over all epochs; 0: whole epochs */
    int64_t warmup_batches; /* first batches of a run that are not measured */
    int64_t repeats;        /* fresh processes per cell */
    int64_t seed;           /* order of samples and cells, augmentation, step times, bootstrap */
    int64_t rank,
        world;     /* which share of the data this process loads, as DistributedSampler splits it */
    bool checksum; /* hash every payload in the worker and compare with what the device received */
    int cache;     /* enum dlb_run_cache */
    bool drop_caches; /* before a cold run, those of the whole machine, metadata too */
};
extern const struct dlb_opt_group dlb_run_group;

#define DLB_FORMAT_OPTS_MAX_BYTES 4096

struct dlb_spec {
    struct dlb_dataset_opts dataset;
    struct dlb_generate_opts generate;
    struct dlb_transform_opts transform;
    struct dlb_loader_opts loader;
    struct dlb_device_opts device;
    struct dlb_accelerators_opts accelerators;
    struct dlb_run_opts run;
    struct dlb_workload_opts workload;
    struct dlb_storage_opts storage;
    _Alignas(16) unsigned char format_opts[DLB_FORMAT_OPTS_MAX_BYTES]; /* the chosen format's own
                                                                          section */
};

/* Every option group there is: those above, then each format's own. Ends with NULL. What
 * dlb_config_new takes. */
const struct dlb_opt_group *const *dlb_spec_groups(void);

/* Fills the spec and checks what no single key can show (prefetch_factor with 0 workers is judged
 * by plan(), not here). */
int dlb_spec_from_config(struct dlb_spec *spec, const struct dlb_config *cfg, struct dlb_err *err);

/* The format's own options within the spec, or NULL when it has none. */
const void *dlb_spec_format_opts(const struct dlb_spec *spec);

#endif
