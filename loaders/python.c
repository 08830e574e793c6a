#include "loaders/python.h"

#include "core/base/process.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const start_method_names[] = {[DLB_START_DEFAULT] = "default",
                                                 [DLB_START_FORK] = "fork",
                                                 [DLB_START_FORKSERVER] = "forkserver",
                                                 [DLB_START_SPAWN] = "spawn",
                                                 NULL};

#define FIELD(field) .offset = offsetof(struct dlb_python_opts, field)
static const struct dlb_opt python_opts[] = {
    {.key = "interpreter",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_STRING,
     FIELD(interpreter),
     .def = "",
     .help = "The interpreter that has torch; empty: python3 of VIRTUAL_ENV, of CONDA_PREFIX, on "
             "PATH, or of the system, whichever first imports torch"},
    {.key = "dataset",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_STRING,
     FIELD(dataset),
     .def = "",
     .help = "Your own data set, for torch cells: \"train.py:make_dataset\" or "
             "\"package.module:Class\". Without dataset.path it is all the data. Empty: the one "
             "that PyTorch's users write for dataset.format"},
    {.key = "loader",
     .work = DLB_WORK_SAME, /* that it loads the same data is the user's claim */
     .stays = true,
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_STRING,
     FIELD(loader),
     .def = "",
     .help = "Your own loader, for torch cells: \"train.py:make_loader\" is called with the "
             "settings that it has parameters for, and returns what iterates over batches. Without "
             "dataset.path nothing else is needed"},
    {.key = "args",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_TABLE,
     FIELD(args),
     .def = "",
     .help = "Arguments of python.dataset or python.loader, by name: python.args.root = \"/data\""},
    {.key = "count",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_STRING,
     FIELD(count),
     .def = "",
     .help = "\"train.py:count\" says how many samples a batch has; empty: those that collate_fn "
             "was given, or of a python.loader dimension 0 of the first tensor"},
    {.key = "samples",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_INT,
     FIELD(shape.samples),
     .min = 0,
     .max = INT64_C(1) << 50,
     .def = "0",
     .unit = "samples",
     .help = "Samples of an epoch of dataset.format = \"python\"; 0: the interpreter is asked"},
    {.key = "sample_bytes",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_BYTES,
     FIELD(shape.sample_bytes),
     .min = 0,
     .max = INT64_C(1) << 40,
     .def = "0",
     .unit = "bytes",
     .help = "What a sample of dataset.format = \"python\" takes in a batch; 0: the interpreter is "
             "asked"},
    {.key = "iterable",
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_BOOL,
     FIELD(shape.iterable),
     .def = "false",
     .help = "With dataset.format = \"python\": an epoch may deliver more or fewer samples than "
             "python.samples, which is not checked"},
    {.key = "start_method",
     .shows_with = DLB_NEEDS_WORKERS,
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_CHOICE,
     FIELD(start_method),
     .def = "default",
     .choices = start_method_names,
     .help = "How PyTorch starts workers (multiprocessing_context); default is that of the "
             "interpreter"},
    {.key = "stamps",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_BOOL,
     FIELD(stamps),
     .def = "true",
     .help =
         "Time __getitem__, each transform and collate in the workers; what that costs is told"},
    {.key = "threads",
     .work = DLB_WORK_SAME,
     .needs = DLB_NEEDS_TORCH,
     .type = DLB_OPT_INT,
     FIELD(threads),
     .min = 0,
     .max = 4096,
     .def = "0",
     .unit = "threads",
     .help = "torch.set_num_threads in the training loop's process; 0 leaves torch's default"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_python_group = {.section = "python",
                                               .title = "Your own Python: loader.kind = \"torch\"",
                                               .opts = python_opts,
                                               .n_bytes = sizeof(struct dlb_python_opts)};

bool dlb_python_candidate(const char *given, uint32_t i, char path[PATH_MAX])
{
    char earlier[PATH_MAX];

    if (given[0])
        return i == 0 && dlb_find_program(given, path);
    for (uint32_t place = 0; place < DLB_N_PYTHON_PLACES; place++) {
        bool is_new = dlb_find_python(place, path);
        for (uint32_t before = 0; before < place && is_new; before++)
            is_new = !dlb_find_python(before, earlier) || strcmp(earlier, path) != 0;
        if (is_new && i-- == 0)
            return true;
    }
    return false;
}
