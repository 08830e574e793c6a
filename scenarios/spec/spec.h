/* What one cell is asked to do: every section of the configuration, resolved and typed.
 *
 * Floor 4. Plain values, copied by assignment; any thread. A spec is made from a configuration (or
 * from the JSON that travels between processes), and from then on the program reads its fields. The
 * option tables say of each field what it is called, whether it has a meaning, and whether it
 * changes the work (core/base/opt.h). */
#ifndef DLB_SCENARIOS_SPEC_SPEC_H
#define DLB_SCENARIOS_SPEC_SPEC_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "formats/dataset.h"
#include "formats/generator.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"
#include "loaders/python.h"
#include "scenarios/spec/accelerators.h"
#include "scenarios/spec/sweep_opts.h"
#include "scenarios/spec/workload.h"

#include <jansson.h>
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
    int64_t epoch_samples;  /* of the epoch that rates are projected for; 0: the data set's */
    int64_t repeats;        /* fresh processes per cell; a race decides by itself */
    int64_t seed;           /* order of samples and cells, augmentation, step times */
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
    struct dlb_python_opts python;
    struct dlb_device_opts device;
    struct dlb_accelerators_opts accelerators;
    struct dlb_run_opts run;
    struct dlb_sweep_opts sweep;
    struct dlb_workload_opts workload;
    struct dlb_workload_steps workload_steps;
    struct dlb_storage_opts storage;
    _Alignas(16) unsigned char format_opts[DLB_FORMAT_OPTS_MAX_BYTES]; /* the chosen format's own
                                                                          section */
};

/* All option groups: those above, then each format's own. Ends with NULL. What dlb_config_new
 * takes. */
const struct dlb_opt_group *const *dlb_spec_groups(void);

/* Fills the spec and checks combinations of keys (plan() judges prefetch_factor with 0 workers). */
int dlb_spec_from_config(struct dlb_spec *spec, const struct dlb_config *cfg, struct dlb_err *err);

/* Like dlb_spec_from_config, from an object of dotted keys as dlb_spec_to_json makes it. Null
 * and absent keys mean defaults. `origin` names the source in errors. */
int dlb_spec_from_json(struct dlb_spec *spec, const json_t *flat, const char *origin,
                       struct dlb_err *err);

/* One object of dotted keys: every option of every section in the order of the tables, null
 * where it has no meaning in this spec (meaning.h), a table as its names. A cell's process is given
 * this object, and a result shows it for each cell. `iterable`: the kind of its data set. New
 * reference. */
json_t *dlb_spec_to_json(const struct dlb_spec *spec, bool iterable);

/* The part of the spec that a group's options are offsets in; NULL for the section of a format
 * other than its own. Borrowed. */
void *dlb_spec_section(struct dlb_spec *spec, const struct dlb_opt_group *group);
const void *dlb_spec_section_of(const struct dlb_spec *spec, const struct dlb_opt_group *group);

/* Sets the fields of `dataset` that follow from `loader` (located, direct). For code that changed
 * the loader's options. */
void dlb_spec_derive(struct dlb_spec *spec);

/* All options at their defaults. */
void dlb_spec_defaults(struct dlb_spec *spec);
/* The same, of a spec with this format (its place in dlb_formats) and its options. */
void dlb_spec_defaults_of_format(struct dlb_spec *spec, int format);

/* Whether both ask for the same: option by option. */
bool dlb_spec_equal(const struct dlb_spec *a, const struct dlb_spec *b);
/* The same of one section; two specs without it are equal. */
bool dlb_spec_section_equal(const struct dlb_opt_group *group, const struct dlb_spec *a,
                            const struct dlb_spec *b);

/* Whether both read the same data and make the same of them. */
bool dlb_spec_same_data(const struct dlb_spec *a, const struct dlb_spec *b);

/* The format's own options within the spec, or NULL when it has none. */
const void *dlb_spec_format_opts(const struct dlb_spec *spec);

/* What `gen` makes of it. Borrows the spec. */
struct dlb_gen dlb_spec_gen(const struct dlb_spec *spec);

static inline const struct dlb_format *dlb_spec_format(const struct dlb_spec *spec)
{
    return dlb_formats[spec->dataset.format];
}

/* The number of loaders in one process, each with loader.num_workers. */
static inline uint32_t dlb_spec_loaders(const struct dlb_spec *spec)
{
    return dlb_accelerators_loaders(&spec->accelerators);
}

/* Whether its workers are processes (loader.kind). */
bool dlb_spec_forks(const struct dlb_spec *spec);

/* Whether PyTorch loads (loader.kind = "torch"). */
bool dlb_spec_is_torch(const struct dlb_spec *spec);
/* Lets PyTorch load, for the emulated device: the one there is for its batches. */
void dlb_spec_make_torch(struct dlb_spec *spec);

/* Ranks that divide the data set among them, over all processes. */
static inline uint64_t dlb_spec_ranks(const struct dlb_spec *spec)
{
    return (uint64_t)spec->run.world * dlb_spec_loaders(spec);
}

#endif
