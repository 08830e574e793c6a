/* Finds a Python interpreter that can import torch, and gives it the scripts that it runs.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_GAP_TORCH_PYTHON_H
#define DLB_SCENARIOS_GAP_TORCH_PYTHON_H

#include "core/base/err.h"
#include "scenarios/scenario.h"

#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_GAP_PYTHON_LIMIT_S 120 /* importing torch from a cold disk takes a minute */

/* What an interpreter did instead of answering. Of two that failed, the larger is told. */
enum dlb_gap_python_failure {
    DLB_GAP_PYTHON_ANSWERED, /* it has torch, or it says that it has none */
    DLB_GAP_PYTHON_HUNG,     /* it was killed, because it did not end */
    DLB_GAP_PYTHON_CRASHED,  /* it died when importing torch */
};

struct dlb_gap_python {
    bool found;
    enum dlb_gap_python_failure failure;
    char path[PATH_MAX]; /* of the interpreter */
    char torch[64];      /* its version */
    uint32_t n_threads;  /* that torch computes with; 0: not known */
    double row_s;        /* that its DataLoader takes for a row; NaN: not known */
    double import_s;     /* of torch; likewise */
    char reason[1024];   /* why none was found */
    char passed[1024];   /* those that crashed or hung before one was found; "" */
    json_t *tried;       /* [{python, status, reason, torch}], in the order tried; owned */
    char script[PATH_MAX];
    const char *words[4];
    struct dlb_plan_program program; /* what runs a PyTorch rung */
};

/* `n_features`: of the rows that its pace is measured with. Writes the scripts to `folder` and
 * tries interpreters, each in a process of its own: only the given one, or, if that is "", those of
 * dlb_find_python. dlb_child_run kills one that takes longer than limit_s (DLB_GAP_PYTHON_LIMIT_S,
 * but in tests). Finding none with torch is not an error; DLB_E_CONFIG when the given one is not a
 * program. */
int dlb_gap_python_find(struct dlb_gap_python *out, const char *given, int64_t n_features,
                        const char *folder, uint32_t limit_s, const atomic_bool *cancel,
                        struct dlb_err *err);

/* Removes the scripts. */
void dlb_gap_python_close(struct dlb_gap_python *python);

#endif
