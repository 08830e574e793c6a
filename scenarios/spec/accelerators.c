#include "scenarios/spec/accelerators.h"

#include <stddef.h>

#define FIELD(field) .offset = offsetof(struct dlb_accelerators_opts, field)
static const struct dlb_opt accelerators_opts[] = {
    {.key = "count",
     .type = DLB_OPT_INT,
     FIELD(count),
     .min = 1,
     .max = DLB_MAX_ACCELERATORS,
     .def = "1",
     .unit = "accelerators",
     .help = "Accelerators that train at once, each on its share of the data; several are emulated "
             "ones, and need loader.pin_memory"},
    {.key = "barrier",
     .needs = DLB_NEEDS_STEPS_TOGETHER,
     .type = DLB_OPT_BOOL,
     FIELD(barrier),
     .def = "false",
     .help = "Data-parallel training: each step starts when all accelerators, of all ranks that a "
             "launcher started, have ended the one before"},
    {.key = "shared_workers",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_MANY_ACCELERATORS,
     .type = DLB_OPT_BOOL,
     FIELD(shared_workers),
     .def = "false",
     .help = "One pool of loader.num_workers for all accelerators, whose batches go to the next "
             "accelerator that asks; else each accelerator has as many of its own"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_accelerators_group = {
    .section = "accelerators",
    .title = "How many accelerators train at once, in one process",
    .opts = accelerators_opts,
    .n_bytes = sizeof(struct dlb_accelerators_opts)};
