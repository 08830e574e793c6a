/* A Python that can import torch, and the script that it runs.
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

struct dlb_gap_python {
    bool found, crashed; /* crashed: none has it, and one of them died of it */
    char path[PATH_MAX]; /* of the interpreter */
    char torch[64];      /* its version */
    uint32_t n_threads;  /* that it computes with; 0: it does not tell */
    char reason[1024];   /* why there is none */
    json_t *tried;       /* [{python, status, reason, torch}], in their order; owned */
    char script[PATH_MAX];
    const char *words[4];
    struct dlb_plan_program program; /* what runs a PyTorch rung */
};

/* Writes the script to `folder` and asks, each in a process of its own and for a limited time, the
 * interpreter that was given ("" for none), python3 on the path and the system's. None that has
 * torch is no error; DLB_E_CONFIG where the given one is no program. */
int dlb_gap_python_find(struct dlb_gap_python *out, const char *given, const char *folder,
                        const atomic_bool *cancel, struct dlb_err *err);

/* Takes the script away. */
void dlb_gap_python_close(struct dlb_gap_python *python);

#endif
