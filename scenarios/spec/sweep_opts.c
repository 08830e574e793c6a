#include "scenarios/spec/sweep_opts.h"

#include <stddef.h>

static const char *const confirm_names[] = {"auto", "torch", "none", NULL};

#define FIELD(field) .offset = offsetof(struct dlb_sweep_opts, field)
static const struct dlb_opt sweep_opts[] = {
    {.key = "max_minutes",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_FLOAT,
     FIELD(max_minutes),
     .min = 0,
     .max = 100000,
     .def = "10",
     .unit = "minutes",
     .help = "A sweep ends after this time, if it has not decided before; 0: no limit"},
    {.key = "tolerance",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_FLOAT,
     FIELD(tolerance),
     .min = 0,
     .max = 1,
     .def = "0.02",
     .help = "What the recommended cell may lose to the best, as a fraction, above 0 and below 1"},
    {.key = "exhaustive",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     FIELD(exhaustive),
     .def = "false",
     .help = "Measure each cell run.repeats times, instead of those that may still be the answer"},
    {.key = "confirm",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     FIELD(confirm),
     .def = "auto",
     .choices = confirm_names,
     .help =
         "Whether a race among PyTorch's own cells follows and gives the settings to paste: auto "
         "(where your interpreter can load the data with torch), torch (else the sweep fails), "
         "or none"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_sweep_group = {
    .section = "sweep",
    .title = "How a sweep is held; beside these keys, the lists of what is swept",
    .opts = sweep_opts,
    .n_bytes = sizeof(struct dlb_sweep_opts)};
