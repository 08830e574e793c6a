/* Workloads: what a training reads and how long its step takes on which accelerator. A TOML file
 * like any configuration, with a [workload] of its own; those of configs/workloads are built in.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_SPEC_WORKLOAD_H
#define DLB_SCENARIOS_SPEC_WORKLOAD_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/opt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The `workload` section. */
struct dlb_workload_opts {
    char name[DLB_OPT_STRING_CAP], source[DLB_OPT_STRING_CAP];
    double gate;
    int accelerator; /* 0: none named; else 1 + place among the step times */
};
extern const struct dlb_opt_group dlb_workload_group;

/* The choices of workload.accelerator: "none", then the accelerators that workloads know. Ends
 * with NULL. */
extern const char *const dlb_workload_accelerators[];

/* `workload.step_ms`: a step's duration by accelerator; 0: not in the workload. */
struct dlb_workload_steps {
    double a100, h100, h200, b200, mi355;
};
extern const struct dlb_opt_group dlb_workload_steps_group;

enum dlb_baseline { DLB_BASELINE_NONE, DLB_BASELINE_FIO };

/* The `storage` section. */
struct dlb_storage_opts {
    int64_t max_accelerators;
    double max_minutes; /* 0: none */
    bool allow_small;
    int baseline; /* enum dlb_baseline */
};
extern const struct dlb_opt_group dlb_storage_group;

/* Reads a workload on top of what is set: one that is built in by its name, or a file (what has a
 * "/" or ends with ".toml"). DLB_E_CONFIG with the nearest name, or all of them. */
int dlb_workload_load(struct dlb_config *cfg, const char *name, struct dlb_err *err);

/* Turns workload.accelerator into device.step_ms, and device.profile where there is one of that
 * name, unless these were set. DLB_E_CONFIG where neither names a step's duration, with the
 * accelerators that the workload knows. */
int dlb_workload_apply(struct dlb_config *cfg, struct dlb_err *err);

#endif
