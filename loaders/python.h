/* Python: the options of cells whose batches an interpreter loads, and which interpreter that is.
 *
 * Floor 3. Control thread. */
#ifndef DLB_LOADERS_PYTHON_H
#define DLB_LOADERS_PYTHON_H

#include "core/base/opt.h"
#include "formats/python/python.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_start_method {
    DLB_START_DEFAULT, /* the one of this version of Python */
    DLB_START_FORK,
    DLB_START_FORKSERVER,
    DLB_START_SPAWN,
};

/* The `python` section. */
struct dlb_python_opts {
    char interpreter[DLB_OPT_STRING_CAP]; /* "": the first of dlb_python_candidate with torch */
    char dataset[DLB_OPT_STRING_CAP];     /* "train.py:make" or "package.module:Class" */
    char loader[DLB_OPT_STRING_CAP];      /* likewise: returns batches, from the cell's settings */
    char args[DLB_OPT_TABLE_CAP];         /* arguments of the two, by name */
    char count[DLB_OPT_STRING_CAP];       /* likewise: counts the samples of a batch */
    struct dlb_python_shape shape;        /* of data of format "python" */
    int start_method;                     /* enum dlb_start_method */
    bool stamps;                          /* time stamps around what Python does */
    int64_t threads;                      /* torch.set_num_threads; 0: torch's default */
};
extern const struct dlb_opt_group dlb_python_group;

/* The interpreters to try, in this order: only the given one, or, if that is "", python3 of
 * VIRTUAL_ENV, of CONDA_PREFIX, on PATH, and of the system. Each that is there comes once. False:
 * there is no i-th. */
bool dlb_python_candidate(const char *given, uint32_t i, char path[PATH_MAX]);

#endif
